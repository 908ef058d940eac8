import type { FastifyInstance } from 'fastify';
import { sendAsIs } from '../http/problems.ts';
import { API_VERSION } from '../http/versions.ts';
import type { Clock } from '../lib/clock.ts';
import { OPENAPI_PATH, PUBLIC_OPERATIONS, statusOperation } from '../model/public-api.ts';
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
import { addOperation } from './operation.ts';
import { createTimedBody } from './timed-body.ts';

const VERSIONING_POLICY =
  'The version stands in the path (/api/v1). Within v1 changes are backward-compatible; a breaking change is a new version, and the previous one stays supported for at least 12 months.';

export interface StatusParts {
  baseUrl: string;
  identity: SiteIdentity;
}

/** `GET /api/v1/status`: who the service is and where everything about it stands. */
export function addStatus(app: FastifyInstance, { clock, ...parts }: StatusParts & { clock: Clock }): void {
  const bodyAt = createTimedBody((time) => statusDocument(parts, time));
  addOperation(app, statusOperation, (_request, reply) => {
    sendAsIs(reply, 'application/json', bodyAt(clock.now()));
  });
}

/** The answer at `time`, RFC 3339. */
export function statusDocument({ baseUrl, identity }: StatusParts, time: string) {
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
