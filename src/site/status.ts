import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import { sendAsIs } from '../http/problems.ts';
import { API_VERSION } from '../http/request-context.ts';
import { type Clock, toIso } from '../lib/clock.ts';
import {
  healthOperation,
  OPENAPI_PATH,
  PUBLIC_OPERATIONS,
  PUBLIC_TAG,
  type PublicOperation,
  statusOperation,
} from '../model/public-api.ts';
import {
  DOCS_PATH,
  LLMS_PATH,
  SIGNAL_API_PATH,
  SIGNAL_DOCS_PATH,
  SIGNAL_OPENAPI_PATH,
  SIGNAL_OPERATIONS_PATH,
  VERSIONING_PATH,
} from './addresses.ts';
import type { SiteIdentity } from './content/identity.ts';

const VERSIONING_POLICY =
  'The version is part of the path (/api/v1). Within v1 changes are backward-compatible; a breaking change is a new version, and the previous one stays supported for at least 12 months.';

interface StatusDeps {
  baseUrl: string;
  identity: SiteIdentity;
}

/** `GET /api/v1/status`: the service's identity, and links to everything about it. */
export function addStatus(app: FastifyInstance, { clock, ...deps }: StatusDeps & { clock: Clock }): void {
  const bodyAt = createTimedBody((time) => statusDocument(deps, time));
  addOperation(app, statusOperation, (_request, reply) => {
    sendAsIs(reply, 'application/json', bodyAt(clock.now()));
  });
}

/** The response at `time`, RFC 3339. */
export function statusDocument({ baseUrl, identity }: StatusDeps, time: string) {
  return {
    success: true,
    data: {
      service: identity.name,
      website: `${baseUrl}/`,
      description: identity.description,
      docs: `${baseUrl}${DOCS_PATH}`,
      openapi: `${baseUrl}${OPENAPI_PATH}`,
      llms: `${baseUrl}${LLMS_PATH}`,
      signalApi: {
        url: `${baseUrl}${SIGNAL_API_PATH}`,
        openapi: `${baseUrl}${SIGNAL_OPENAPI_PATH}`,
        operations: `${baseUrl}${SIGNAL_OPERATIONS_PATH}`,
        docs: `${baseUrl}${SIGNAL_DOCS_PATH}`,
      },
      contact: identity.email,
      apiVersion: API_VERSION,
      versioningPolicy: VERSIONING_POLICY,
      deprecationPolicy: `${baseUrl}${VERSIONING_PATH}`,
      endpoints: PUBLIC_OPERATIONS.map(({ path, description }) => ({ method: 'GET', path, description })),
      time,
    },
  };
}

/** `GET /api/health`: the liveness probe. */
export function addHealth(app: FastifyInstance, { baseUrl, clock }: { baseUrl: string; clock: Clock }): void {
  const bodyAt = createTimedBody((time) => healthDocument(baseUrl, time));
  addOperation(app, healthOperation, (_request, reply) => {
    sendAsIs(reply, 'application/json', bodyAt(clock.now()));
  });
}

/** The response at `time`, RFC 3339. */
export function healthDocument(baseUrl: string, time: string) {
  return { success: true, data: { status: 'ok', service: new URL(baseUrl).hostname, time } };
}

/** The prefix of the public API's plugin, with which the paths of its operations begin. */
const API_PREFIX = '/api';

/** Registers the route of an operation under /api. */
function addOperation(app: FastifyInstance, operation: PublicOperation, handler: RouteHandlerMethod): void {
  const { operationId, summary, description, response } = operation;
  app.get(
    operation.path.slice(API_PREFIX.length),
    { schema: { operationId, tags: [PUBLIC_TAG], summary, description, response: { 200: response } } },
    handler,
  );
}

const PLACE = '\u0000time\u0000';

/** The JSON of a document in which only the time changes: serialized once, with the time inserted per request. */
function createTimedBody(document: (time: string) => unknown): (ms: number) => string {
  const [head = '', tail = ''] = JSON.stringify(document(PLACE)).split(JSON.stringify(PLACE).slice(1, -1));

  // Under load, many responses share a millisecond, and formatting the time is the most expensive part of a response.
  let lastMs = Number.NaN;
  let body = '';
  return (ms) => {
    if (ms !== lastMs) {
      lastMs = ms;
      body = `${head}${toIso(ms)}${tail}`;
    }
    return body;
  };
}
