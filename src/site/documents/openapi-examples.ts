import { rateLimited } from '../../http/limits.ts';
import type { Examples } from '../../http/openapi/examples.ts';
import type { Problem, Problems } from '../../http/problems.ts';
import { healthOperation, statusOperation } from '../../model/public-api.ts';
import type { SiteIdentity } from '../content/identity.ts';
import { healthDocument } from '../health.ts';
import { methodNotAllowed, unknownPath } from '../public-gate.ts';
import { statusDocument } from '../status.ts';

const TIME = '2026-01-01T09:30:00.000Z';
const REQUEST_ID = 'req_1m7z9zj3wceqck2wzmktf747g';
const WAIT_SECONDS = 17;

export interface ExampleParts {
  baseUrl: string;
  identity: SiteIdentity;
  problems: Problems;
  publicRateLimit: number;
}

/** What this very service answers, made as its answers are. */
export function publicExamples({ baseUrl, identity, problems, publicRateLimit }: ExampleParts): Examples {
  const problem = (instance: string, told: Problem): unknown =>
    JSON.parse(problems.render(told, { requestId: REQUEST_ID, instance }).body);
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
