import { OPENAPI_PATH } from '../model/public-api.ts';
import {
  API_CATALOG_PATH,
  LLMS_PATH,
  markdownPath,
  pageUrl,
  SIGNAL_API_PATH,
  SIGNAL_OPENAPI_PATH,
} from './addresses.ts';

/**
 * What pages may load: pictures, the stylesheet and the script of this server, and nothing else. They have no inline
 * script or style, and send no form; their structured data is a data block, which no policy runs or stops.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "img-src 'self'",
  "script-src 'self'",
  "style-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** `Link` to what describes the whole site (RFC 8288; relations of RFC 8631, RFC 9727). */
export function siteLinks(baseUrl: string): string[] {
  return [
    `<${baseUrl}${LLMS_PATH}>; rel="describedby"; type="text/plain"`,
    `<${baseUrl}${OPENAPI_PATH}>; rel="service-desc"; type="application/json"`,
    `<${baseUrl}${SIGNAL_OPENAPI_PATH}>; rel="service-desc"; type="application/json"`,
    `<${baseUrl}${SIGNAL_API_PATH}>; rel="service-meta"; type="application/json"`,
    `<${baseUrl}${API_CATALOG_PATH}>; rel="api-catalog"`,
  ];
}

/** The same and the page's own: its address for all, and its markdown. */
export function pageLinks(baseUrl: string, path: string): string {
  return [
    `<${pageUrl(baseUrl, path)}>; rel="canonical"`,
    `<${baseUrl}${markdownPath(path)}>; rel="alternate"; type="text/markdown"`,
    ...siteLinks(baseUrl),
  ].join(', ');
}
