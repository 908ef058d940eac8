import { OPENAPI_PATH, PUBLIC_OPERATIONS } from '../../model/public-api.ts';
import { API_CATALOG_PATH, DOCS_PATH, SIGNAL_OPENAPI_PATH, STATUS_PATH } from '../addresses.ts';
import { fixedDocument, type SiteDocument } from './document.ts';
import type { DocumentParts } from './parts.ts';

/** RFC 9727, section 4: a linkset (RFC 9264) that says which kind it is. */
const LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';

/** `/.well-known/api-catalog`: the APIs there are, with description, documentation and status of each. */
export function createApiCatalog({ baseUrl, madeAt }: DocumentParts): SiteDocument {
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
