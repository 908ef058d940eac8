import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Deprecation } from '../../http/deprecations.ts';
import { rateLimited } from '../../http/limits.ts';
import { type DescribedRoute, type Description, describeRoutes } from '../../http/openapi/describe-routes.ts';
import type { Examples, OperationObject } from '../../http/openapi/schemas.ts';
import type { Problem, Problems } from '../../http/problems.ts';
import type { ErrorCode } from '../../model/errors.ts';
import { healthOperation, PUBLIC_TAG, publicProblemSchema, statusOperation } from '../../model/public-api.ts';
import { DOCS_PATH } from '../addresses.ts';
import type { SiteIdentity } from '../content/identity.ts';
import { methodNotAllowed, unknownPath } from '../gates.ts';
import { healthDocument, statusDocument } from '../status.ts';

const VERSION = '3.0.3';
const UNKNOWN_PATH = '/api/{unknown}';

const DESCRIPTION = `Health of the service, its identity, and links to its documentation.

- Only GET, HEAD and OPTIONS are supported; nothing can be created or changed.
- No key is required. Each client (IPv4 address or IPv6 /64) can make 60 requests in 60 seconds over all of /api.
- Errors are problem documents (RFC 9457).
- The version is part of the path. Changes within v1 are backward compatible: responses may get new members.
- Suggested order of discovery: /llms.txt, then /api/v1/status, then the pages you need, as Markdown.`;

const MEANINGS = {
  NOT_FOUND: 'the path matches no operation',
  METHOD_NOT_ALLOWED: 'only GET, HEAD and OPTIONS are supported under /api',
  RATE_LIMITED: 'the rate limit is exceeded; retry after `Retry-After`',
};

/** Describes the public API's routes, which are registered on `app` from now on, as OpenAPI 3.0.3. */
export function describePublicApi(
  app: FastifyInstance,
  deps: ExampleDeps & { deprecations: readonly Deprecation[] },
): Promise<Description> {
  return describeRoutes(app, {
    head: documentHead(deps.baseUrl),
    components: { schemas: { Problem: z.toJSONSchema(publicProblemSchema, { target: 'openapi-3.0' }) } },
    unrouted: { [UNKNOWN_PATH]: { get: unknownOperation() } },
    complete(operation) {
      operation.security = [];
    },
    problemsOf,
    meanings: MEANINGS,
    deprecations: deps.deprecations,
    examples: () => publicExamples(deps),
  });
}

function documentHead(baseUrl: string) {
  return {
    openapi: VERSION,
    info: {
      title: 'Signalpost public site API',
      version: '1.0.0',
      description: DESCRIPTION,
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: baseUrl }],
    externalDocs: { description: 'Developers portal', url: `${baseUrl}${DOCS_PATH}` },
    tags: [{ name: PUBLIC_TAG, description: 'Availability and discovery. Read-only, no key required.' }],
    // OpenAPI 3.0 cannot describe webhooks; there are none.
    'x-webhooks': {},
  };
}

function problemsOf(_operation: OperationObject, { url }: DescribedRoute): ErrorCode[] {
  const refusals: ErrorCode[] = ['METHOD_NOT_ALLOWED', 'RATE_LIMITED'];
  return url === UNKNOWN_PATH ? ['NOT_FOUND', ...refusals] : refusals;
}

/** Not a route: the gate responds to every path that matches none. */
function unknownOperation(): OperationObject {
  return {
    operationId: 'getUnknown',
    tags: [PUBLIC_TAG],
    summary: 'Any other path',
    description: 'Every other path under /api returns 404 with a problem document that links here.',
    parameters: [
      {
        name: 'unknown',
        in: 'path',
        required: true,
        description: 'Rest of the path after /api/.',
        schema: { type: 'string' },
        example: 'bookings',
      },
    ],
    responses: {},
  };
}

const TIME = '2026-01-01T09:30:00.000Z';
const REQUEST_ID = 'req_1m7z9zj3wceqck2wzmktf747g';
const WAIT_SECONDS = 17;

interface ExampleDeps {
  baseUrl: string;
  identity: SiteIdentity;
  problems: Problems;
  publicRateLimit: number;
}

/** Example responses, produced by the code that produces the real ones. */
function publicExamples({ baseUrl, identity, problems, publicRateLimit }: ExampleDeps): Examples {
  const problem = (instance: string, shown: Problem): unknown =>
    JSON.parse(problems.render(shown, { requestId: REQUEST_ID, instance }).body);
  const limited = { limit: publicRateLimit, remaining: 0, retryAfterSeconds: WAIT_SECONDS };
  const taken = { ...limited, resetSeconds: 0, ttlMs: WAIT_SECONDS * 1000 };
  return {
    operations: {
      [healthOperation.operationId]: { answers: { 200: healthDocument(baseUrl, TIME) } },
      [statusOperation.operationId]: { answers: { 200: statusDocument({ baseUrl, identity }, TIME) } },
    },
    problems: {
      NOT_FOUND: problem('/api/bookings', unknownPath('/api/bookings', baseUrl)),
      METHOD_NOT_ALLOWED: problem('/api/health', methodNotAllowed('POST', baseUrl)),
      RATE_LIMITED: problem('/api/health', rateLimited(taken)),
    },
  };
}
