/** The fixed addresses of the site: what problem documents, the status document and the lists for agents link to. */
export const DOCS_PATH = '/developers';
export const VERSIONING_PATH = '/developers/versioning';
export const LLMS_PATH = '/llms.txt';
export const LLMS_FULL_PATH = '/llms-full.txt';
export const SITEMAP_XML_PATH = '/sitemap.xml';
export const SITEMAP_MD_PATH = '/sitemap.md';
export const ROBOTS_PATH = '/robots.txt';
export const API_CATALOG_PATH = '/.well-known/api-catalog';
export const SECURITY_PATH = '/.well-known/security.txt';
export const STATUS_PATH = '/api/v1/status';
/** Description of the signal-intelligence API. */
export const SIGNAL_OPENAPI_PATH = '/v1/openapi.json';

/** Where a page's markdown always is: `/pricing.md`; `/index.md` for `/`. */
export function markdownPath(pagePath: string): string {
  return pagePath === '/' ? '/index.md' : `${pagePath}.md`;
}

/** The absolute address of a page. */
export function pageUrl(baseUrl: string, pagePath: string): string {
  return `${baseUrl}${pagePath}`;
}
