import { CACHE_BRIEFLY, type Representation, represent } from '../../http/representation.ts';
import { DAY_MS, toIso } from '../../lib/clock.ts';
import { PACKAGE } from '../../lib/package.ts';
import { escapeHtml } from '../../lib/text.ts';
import { SCOPES } from '../../model/key.ts';
import { MCP_DESCRIPTION, MCP_METADATA_PATH, MCP_PATH, MCP_VERSIONS } from '../../model/mcp.ts';
import { OPENAPI_PATH, PUBLIC_OPERATIONS } from '../../model/public-api.ts';
import {
  AGENTS_PATH,
  API_CATALOG_PATH,
  DOCS_PATH,
  LLMS_FULL_PATH,
  LLMS_PATH,
  MCP_CARD_PATH,
  MCP_CARD_PATHS,
  pageUrl,
  ROBOTS_PATH,
  SECURITY_PATH,
  SIGNAL_API_PATH,
  SIGNAL_OPENAPI_PATH,
  SITEMAP_MD_PATH,
  SITEMAP_XML_PATH,
  STATUS_PATH,
} from '../addresses.ts';
import {
  bySection,
  createLlms,
  createLlmsFull,
  type DocumentDeps,
  fixedDocument,
  lateDocument,
  MARKDOWN,
  type SiteDocument,
  TEXT,
} from './document.ts';

/** Every document of the site with a fixed address. */
export async function createDocuments(deps: DocumentDeps): Promise<SiteDocument[]> {
  const openapi = createOpenApi(deps);
  const catalog = createApiCatalog(deps);
  const full = createLlmsFull(deps);
  const sitemap = createSitemapMd(deps);
  const llms = createLlms(deps, { api: [openapi, catalog], optional: [sitemap, full] });
  return [
    openapi,
    llms,
    full,
    await createSitemapXml(deps),
    sitemap,
    createRobots(deps),
    catalog,
    createSecurityTxt(deps),
    ...createMcpDocuments(deps),
  ];
}

function createOpenApi({ publicApi, madeAt }: DocumentDeps): SiteDocument {
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

/** RFC 9727, section 4: a linkset (RFC 9264) with a profile. */
const LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';

/** `/.well-known/api-catalog`: the available APIs, with description, documentation and status. */
function createApiCatalog({ baseUrl, madeAt }: DocumentDeps): SiteDocument {
  const link = (path: string, type?: string) => ({ href: `${baseUrl}${path}`, ...(type && { type }) });
  const docs = [link(DOCS_PATH, 'text/html')];
  const signalApi = link('/v1');
  const operations = PUBLIC_OPERATIONS.map(({ path }) => link(path, 'application/json'));
  const linkset = [
    { anchor: `${baseUrl}${API_CATALOG_PATH}`, item: [...operations, signalApi] },
    ...operations.map(({ href }) => ({
      anchor: href,
      'service-desc': [link(OPENAPI_PATH, 'application/json')],
      'service-doc': docs,
      status: [link(STATUS_PATH, 'application/json')],
    })),
    {
      anchor: signalApi.href,
      'service-desc': [link(SIGNAL_OPENAPI_PATH, 'application/json')],
      'service-doc': docs,
      status: [link(STATUS_PATH, 'application/json')],
    },
  ];
  return fixedDocument({
    path: API_CATALOG_PATH,
    title: 'API catalog',
    description: 'The APIs there are, as a linkset (RFC 9727).',
    contentType: LINKSET,
    body: `${JSON.stringify({ linkset }, null, 2)}\n`,
    lastModified: madeAt,
    headers: { link: `<${baseUrl}${API_CATALOG_PATH}>; rel="api-catalog"` },
  });
}

/** `/sitemap.xml`: the addresses of all pages. */
function createSitemapXml({ baseUrl, content, madeAt }: DocumentDeps): SiteDocument {
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

/** `/sitemap.md`: the same pages with their descriptions. */
function createSitemapMd({ baseUrl, content, madeAt }: DocumentDeps): SiteDocument {
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

/**
 * `/robots.txt` (RFC 9309) with content signals (contentsignals.org), which state how the pages may be used. /v1 and
 * the dashboard contain nothing for crawlers; they respond with an error or a form.
 */
function createRobots({ baseUrl, content, madeAt }: DocumentDeps): SiteDocument {
  const { search, aiInput, aiTrain } = content.identity.contentSignals;
  const signals = [`search=${yesNo(search)}`, `ai-input=${yesNo(aiInput)}`, `ai-train=${yesNo(aiTrain)}`];
  const body = [
    'User-agent: *',
    `Content-Signal: ${signals.join(', ')}`,
    'Allow: /',
    'Allow: /v1/openapi.json',
    'Disallow: /v1/',
    'Disallow: /dashboard',
    '',
    `Sitemap: ${baseUrl}${SITEMAP_XML_PATH}`,
    '',
  ];
  return fixedDocument({
    path: ROBOTS_PATH,
    title: 'robots.txt',
    description: 'What crawlers may read, and what the pages may be used for.',
    contentType: TEXT,
    body: body.join('\n'),
    lastModified: madeAt,
  });
}

function yesNo(allowed: boolean): string {
  return allowed ? 'yes' : 'no';
}

/** Renewed weekly and valid for half a year: RFC 9116, section 2.5.5 requires less than a year. */
const RENEWED_EVERY_MS = 7 * DAY_MS;
const GOOD_FOR_MS = 180 * DAY_MS;

/**
 * `/.well-known/security.txt` (RFC 9116): where to report a vulnerability. Its expiry moves on while the server runs.
 */
function createSecurityTxt({ baseUrl, content }: DocumentDeps): SiteDocument {
  const { email, lang } = content.identity;
  let madeAt = Number.NaN;
  let current: Representation | null = null;

  const make = (since: number): Representation => {
    const lines = [
      `Contact: mailto:${email}`,
      `Expires: ${toIso(since + GOOD_FOR_MS)}`,
      `Preferred-Languages: ${lang}`,
      `Canonical: ${baseUrl}${SECURITY_PATH}`,
    ];
    return represent({
      body: `${lines.join('\n')}\n`,
      contentType: TEXT,
      cacheControl: CACHE_BRIEFLY,
      lastModified: since,
    });
  };

  return {
    path: SECURITY_PATH,
    title: 'security.txt',
    description: 'Whom to tell of a weakness.',
    isLate: false,
    steps: [],
    at(now) {
      // Aligned to calendar weeks, so that every node and every start produce the same bytes.
      const since = now - (now % RENEWED_EVERY_MS);
      if (current === null || since !== madeAt) {
        madeAt = since;
        current = make(since);
      }
      return current;
    },
  };
}

const JSON_TYPE = 'application/json';

/** How an agent that knows the site's address finds its MCP server, and what it needs to connect. */
function createMcpDocuments(deps: DocumentDeps): SiteDocument[] {
  return [...MCP_CARD_PATHS.map((path) => createCard(deps, path)), createMetadata(deps)];
}

/** An MCP Server Card (SEP-2127). It lists no tools: `tools/list` returns those available to the key. */
function createCard({ baseUrl, content, madeAt }: DocumentDeps, path: string): SiteDocument {
  const reversed = new URL(baseUrl).hostname.split('.').reverse().join('.');
  const card = {
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: `${reversed}/signalpost`,
    title: `${content.identity.name}: Signalpost`,
    description: MCP_DESCRIPTION,
    version: PACKAGE.version,
    websiteUrl: `${baseUrl}${AGENTS_PATH}`,
    remotes: [
      {
        type: 'streamable-http',
        url: `${baseUrl}${MCP_PATH}`,
        supportedProtocolVersions: MCP_VERSIONS,
        headers: [
          {
            name: 'Authorization',
            description: 'Bearer and an API key, sp_live_…',
            isRequired: true,
            isSecret: true,
          },
        ],
      },
    ],
  };
  return fixedDocument({
    path,
    title: 'MCP server card',
    description: 'Where agents connect, and with what (SEP-2127).',
    contentType: JSON_TYPE,
    body: `${JSON.stringify(card, null, 2)}\n`,
    lastModified: madeAt,
    ...(path !== MCP_CARD_PATH && { headers: { link: `<${baseUrl}${MCP_CARD_PATH}>; rel="canonical"` } }),
  });
}

/**
 * The metadata of the protected resource (RFC 9728, section 2): tokens are API keys, or issued by the listed servers.
 */
function createMetadata({ baseUrl, madeAt, authorizationServers }: DocumentDeps): SiteDocument {
  const metadata = {
    resource: `${baseUrl}${MCP_PATH}`,
    ...(authorizationServers.length > 0 && { authorization_servers: authorizationServers }),
    resource_name: 'Signalpost',
    resource_documentation: `${baseUrl}${AGENTS_PATH}`,
    bearer_methods_supported: ['header'],
    scopes_supported: SCOPES,
  };
  return fixedDocument({
    path: MCP_METADATA_PATH,
    title: 'Protected resource metadata',
    description: 'How requests to the MCP server are authorized (RFC 9728).',
    contentType: JSON_TYPE,
    body: `${JSON.stringify(metadata, null, 2)}\n`,
    lastModified: madeAt,
  });
}
