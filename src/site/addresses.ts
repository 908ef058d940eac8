/** The fixed addresses of the site that problem documents, the status document and the indexes for agents link to. */
export const DOCS_PATH = '/developers';
export const PRODUCT_PATH = '/product';
/** The dashboard's log-in page, which pages may link to. */
export const LOG_IN_PATH = '/dashboard/login';
export const VERSIONING_PATH = '/developers/versioning';
export const LLMS_PATH = '/llms.txt';
export const LLMS_FULL_PATH = '/llms-full.txt';
export const SITEMAP_XML_PATH = '/sitemap.xml';
export const SITEMAP_MD_PATH = '/sitemap.md';
export const ROBOTS_PATH = '/robots.txt';
export const API_CATALOG_PATH = '/.well-known/api-catalog';
export const SECURITY_PATH = '/.well-known/security.txt';
/** Browsers request it, whatever a page links to. */
export const FAVICON_PATH = '/favicon.ico';
export const STATUS_PATH = '/api/v1/status';
/** The signal-intelligence API: its index, list of operations, description and guide. */
export const SIGNAL_API_PATH = '/v1';
export const SIGNAL_OPERATIONS_PATH = '/v1/operations';
export const SIGNAL_OPENAPI_PATH = '/v1/openapi.json';
export const SIGNAL_DOCS_PATH = '/developers/signal-api';

/** For agents: how to get a key, connect, and follow new signals. */
export const AGENTS_PATH = '/developers/agents';
/** The MCP server card, and the path where some clients look for it. */
export const MCP_CARD_PATH = '/.well-known/mcp';
export const MCP_CARD_PATHS = [MCP_CARD_PATH, '/.well-known/mcp/server-card.json'] as const;

/** The fixed address of a page's markdown: `/pricing.md`; `/index.md` for `/`. */
export function markdownPath(pagePath: string): string {
  return pagePath === '/' ? '/index.md' : `${pagePath}.md`;
}

/** The absolute URL of a page. */
export function pageUrl(baseUrl: string, pagePath: string): string {
  return `${baseUrl}${pagePath}`;
}
