import { toIso } from '../../lib/clock.ts';
import { escapeHtml } from '../../lib/html.ts';
import { OPENAPI_PATH } from '../../model/public-api.ts';
import {
  LLMS_FULL_PATH,
  LLMS_PATH,
  pageUrl,
  SIGNAL_API_PATH,
  SITEMAP_MD_PATH,
  SITEMAP_XML_PATH,
  STATUS_PATH,
} from '../addresses.ts';
import { fixedDocument, MARKDOWN, type SiteDocument } from './document.ts';
import type { DocumentParts } from './parts.ts';
import { bySection } from './sections.ts';

/** `/sitemap.xml`: the address of every page. */
export function createSitemapXml({ baseUrl, content, madeAt }: DocumentParts): SiteDocument {
  const entries = content.pages.map(
    ({ path, lastModified }) =>
      `<url><loc>${escapeHtml(pageUrl(baseUrl, path))}</loc><lastmod>${toIso(lastModified)}</lastmod></url>`,
  );
  return fixedDocument({
    path: SITEMAP_XML_PATH,
    title: 'Sitemap (XML)',
    description: 'The address of every page, for search engines.',
    contentType: 'application/xml; charset=utf-8',
    body: `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="${SITEMAP}">${entries.join('')}</urlset>`,
    lastModified: madeAt,
  });
}

const SITEMAP = 'http://www.sitemaps.org/schemas/sitemap/0.9';

/** `/sitemap.md`: the same pages with what they are about. */
export function createSitemapMd({ baseUrl, content, madeAt }: DocumentParts): SiteDocument {
  const sections = bySection(content).map(({ section, pages }) => {
    const lines = pages.map(
      ({ path, title, description }) => `- [${title}](${pageUrl(baseUrl, path)}): ${description}`,
    );
    return `## ${section}\n\n${lines.join('\n')}`;
  });
  const programs = [
    `- [llms.txt](${baseUrl}${LLMS_PATH}): index for agents, with the length of each page`,
    `- [llms-full.txt](${baseUrl}${LLMS_FULL_PATH}): all pages in one file`,
    `- [OpenAPI description](${baseUrl}${OPENAPI_PATH}): the public API`,
    `- [Signal API](${baseUrl}${SIGNAL_API_PATH}): where the API that takes posts and delivers signals is described`,
    `- [Status](${baseUrl}${STATUS_PATH}): who the service is, as JSON`,
  ];
  const body = [
    `# Sitemap of ${content.identity.name}`,
    'Each page is also markdown: ask for `text/markdown`, or add `.md` to its address.',
    ...sections,
    `## For programs\n\n${programs.join('\n')}`,
  ];
  return fixedDocument({
    path: SITEMAP_MD_PATH,
    title: 'Sitemap',
    description: 'Every page with what it is about.',
    contentType: MARKDOWN,
    body: `${body.join('\n\n')}\n`,
    lastModified: madeAt,
  });
}
