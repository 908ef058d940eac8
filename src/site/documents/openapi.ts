import { DEPRECATIONS, type Deprecation } from '../../http/deprecations.ts';
import { API_VERSION } from '../../http/versions.ts';
import { PUBLIC_OPERATIONS, type PublicOperation, publicProblemSchema } from '../../model/public-api.ts';
import { DOCS_PATH } from '../addresses.ts';
import { problemExample, successExample } from './openapi-examples.ts';
import { createSchemaComponents, type SchemaComponents } from './openapi-schemas.ts';

const LIMIT_HEADERS = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'RateLimit-Policy'];
const EVERY_ANSWER = ['X-API-Version', 'X-Request-Id', ...LIMIT_HEADERS];
const TAG = 'Public site API';

/** The public API as OpenAPI 3.0.3; the same document for the same address. */
export function publicOpenApi(
  baseUrl: string,
  deprecations: readonly Deprecation[] = DEPRECATIONS,
): Record<string, unknown> {
  const components = createSchemaComponents();
  const parts = { components, baseUrl, deprecations };
  return {
    openapi: '3.0.3',
    info: {
      title: 'Signalpost public site API',
      version: '1.0.0',
      description: DESCRIPTION,
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: baseUrl }],
    externalDocs: { description: 'Developers portal', url: `${baseUrl}${DOCS_PATH}` },
    tags: [{ name: TAG, description: 'Availability and discovery. Read only, no key needed.' }],
    paths: {
      ...Object.fromEntries(
        PUBLIC_OPERATIONS.map((operation) => [operation.path, { get: describe(operation, parts) }]),
      ),
      '/api/{unknown}': { get: unknownPath() },
    },
    components: {
      schemas: components.schemas,
      headers: HEADERS,
      responses: {
        NotFound: problem(parts, 'NOT_FOUND', 'The path matches no operation'),
        MethodNotAllowed: problem(
          parts,
          'METHOD_NOT_ALLOWED',
          'A method other than GET, HEAD and OPTIONS, on any path under /api',
        ),
        RateLimited: problem(
          parts,
          'RATE_LIMITED',
          'The client made more requests in the window than the limit allows',
        ),
      },
    },
    'x-webhooks': {},
  };
}

const DESCRIPTION = `Whether the service is up, who it is, and where everything about it stands.

- Only GET, HEAD and OPTIONS are served, and nothing is ordered, created or changed.
- No key is needed. Each client (IPv4 address or IPv6 /64) may make 60 requests in 60 seconds over all of /api.
- Errors are problem documents (RFC 9457), always.
- The version stands in the path. Within v1 changes are backward-compatible: answers may gain members.
- Suggested order of discovery: /llms.txt, then /api/v1/status, then the pages you need, as markdown.`;

interface Parts {
  components: SchemaComponents;
  baseUrl: string;
  deprecations: readonly Deprecation[];
}

function describe(operation: PublicOperation, { components, baseUrl, deprecations }: Parts) {
  const deprecated = deprecations.some(({ method, path }) => method === 'GET' && path === operation.path);
  return {
    operationId: operation.operationId,
    tags: [TAG],
    summary: operation.summary,
    description: operation.description,
    ...(deprecated && { deprecated }),
    security: [],
    responses: {
      200: {
        description: 'Success',
        headers: headers(EVERY_ANSWER),
        content: {
          'application/json': {
            schema: components.refOf(operation.response),
            example: successExample(operation, baseUrl),
          },
        },
      },
      405: { $ref: '#/components/responses/MethodNotAllowed' },
      429: { $ref: '#/components/responses/RateLimited' },
    },
  };
}

function unknownPath() {
  return {
    operationId: 'getUnknown',
    tags: [TAG],
    summary: 'Any other path',
    description: 'Every other path under /api answers 404, with a problem document that points here.',
    security: [],
    parameters: [
      {
        name: 'unknown',
        in: 'path',
        required: true,
        description: 'Whatever stands after /api/',
        schema: { type: 'string' },
        example: 'bookings',
      },
    ],
    responses: {
      404: { $ref: '#/components/responses/NotFound' },
      405: { $ref: '#/components/responses/MethodNotAllowed' },
      429: { $ref: '#/components/responses/RateLimited' },
    },
  };
}

type ProblemCode = Parameters<typeof problemExample>[0];

function problem({ components, baseUrl }: Parts, code: ProblemCode, description: string) {
  const own = { NOT_FOUND: [], METHOD_NOT_ALLOWED: ['Allow'], RATE_LIMITED: ['Retry-After'] }[code];
  return {
    description,
    headers: headers([...EVERY_ANSWER, ...own]),
    content: {
      'application/problem+json': {
        schema: components.refOf(publicProblemSchema),
        example: problemExample(code, baseUrl),
      },
    },
  };
}

function headers(names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const text = (description: string, example: string) => ({ description, schema: { type: 'string' }, example });
const integer = (description: string, example: number) => ({
  description,
  schema: { type: 'integer', minimum: 0 },
  example,
});

const HEADERS = {
  'X-API-Version': text('Label of the version that answered', API_VERSION),
  'X-Request-Id': text(
    'Id of the request; yours, where you sent a sane one',
    'req_1m7z9zj3wceqck2wzmktf747g',
  ),
  'RateLimit-Limit': integer('Requests that a window allows', 60),
  'RateLimit-Remaining': integer('Requests left in the current window', 59),
  'RateLimit-Reset': integer('Unix epoch seconds when the window resets', 1767225660),
  'RateLimit-Policy': text('The policy, as <limit>;w=<seconds>', '60;w=60'),
  'Retry-After': integer('Seconds to wait before the next request', 17),
  Allow: text('The methods that are served', 'GET, HEAD, OPTIONS'),
};
