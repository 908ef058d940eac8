import { API_VERSION } from '../../http/versions.ts';
import { PUBLIC_OPERATIONS, type PublicOperation } from '../../model/public-api.ts';
import { DOCS_PATH, LLMS_PATH, VERSIONING_PATH } from '../addresses.ts';

const TIME = '2026-01-01T09:30:00.000Z';
const REQUEST_ID = 'req_1m7z9zj3wceqck2wzmktf747g';

/** An answer as the operation gives it, of an invented business. */
export function successExample({ operationId }: PublicOperation, baseUrl: string): unknown {
  const service = new URL(baseUrl).hostname;
  if (operationId === 'getHealth') return { success: true, data: { status: 'ok', service, time: TIME } };
  return {
    success: true,
    data: {
      service: 'Example Electrical',
      website: `${baseUrl}/`,
      description: 'Electricians for homes and small firms.',
      docs: `${baseUrl}${DOCS_PATH}`,
      openapi: `${baseUrl}/openapi.json`,
      llms: `${baseUrl}${LLMS_PATH}`,
      signalApi: {
        url: `${baseUrl}/v1`,
        openapi: `${baseUrl}/v1/openapi.json`,
        operations: `${baseUrl}/v1/operations`,
        docs: `${baseUrl}${DOCS_PATH}/signal-api`,
      },
      contact: 'hello@example.com',
      apiVersion: API_VERSION,
      versioningPolicy: 'The version stands in the path; within v1 changes are backward-compatible.',
      deprecationPolicy: `${baseUrl}${VERSIONING_PATH}`,
      endpoints: PUBLIC_OPERATIONS.map(({ path, description }) => ({ method: 'GET', path, description })),
      time: TIME,
    },
  };
}

const PROBLEMS = {
  NOT_FOUND: {
    anchor: 'not-found',
    title: 'Not Found',
    status: 404,
    instance: '/api/bookings',
    detail: 'Unknown API path: /api/bookings',
  },
  METHOD_NOT_ALLOWED: {
    anchor: 'method-not-allowed',
    title: 'Method Not Allowed',
    status: 405,
    instance: '/api/health',
    detail: 'POST is not served under /api; only GET, HEAD, OPTIONS are.',
  },
  RATE_LIMITED: {
    anchor: 'rate-limited',
    title: 'Too Many Requests',
    status: 429,
    instance: '/api/health',
    detail: 'The limit of 60 requests per 60 seconds is exceeded.',
  },
} as const;

/** The problem document that belongs to a code of the public API. */
export function problemExample(code: keyof typeof PROBLEMS, baseUrl: string): unknown {
  const { anchor, title, status, instance, detail } = PROBLEMS[code];
  const hint =
    code === 'RATE_LIMITED'
      ? 'Wait 17 seconds (Retry-After), then try again.'
      : `See the OpenAPI description at ${baseUrl}/openapi.json`;
  return {
    type: `${baseUrl}${DOCS_PATH}/errors#${anchor}`,
    title,
    status,
    code,
    detail,
    hint,
    instance,
    request_id: REQUEST_ID,
  };
}
