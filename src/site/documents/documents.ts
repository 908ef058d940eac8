import { OPENAPI_PATH } from '../../model/public-api.ts';
import { createApiCatalog } from './api-catalog.ts';
import { lateDocument, type SiteDocument } from './document.ts';
import { createLlms, createLlmsFull } from './llms.ts';
import { createMcpDocuments } from './mcp.ts';
import type { DocumentParts } from './parts.ts';
import { createRobots } from './robots.ts';
import { createSecurityTxt } from './security-txt.ts';
import { createSitemapMd, createSitemapXml } from './sitemaps.ts';

/** Every document of the site at its fixed address. */
export async function createDocuments(parts: DocumentParts): Promise<SiteDocument[]> {
  const openapi = createOpenApi(parts);
  const catalog = createApiCatalog(parts);
  const full = createLlmsFull(parts);
  const sitemap = createSitemapMd(parts);
  const llms = createLlms(parts, { api: [openapi, catalog], optional: [sitemap, full] });
  return [
    openapi,
    llms,
    full,
    await createSitemapXml(parts),
    sitemap,
    createRobots(parts),
    catalog,
    createSecurityTxt(parts),
    ...createMcpDocuments(parts),
  ];
}

function createOpenApi({ publicApi, madeAt }: DocumentParts): SiteDocument {
  const about = {
    path: OPENAPI_PATH,
    title: 'OpenAPI description',
    description: 'The public API, as OpenAPI 3.0.',
  };
  return lateDocument(about, () => ({
    contentType: 'application/json',
    body: `${JSON.stringify(publicApi(), null, 2)}\n`,
    lastModified: madeAt,
  }));
}
