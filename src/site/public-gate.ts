import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { clientOf, createLimiter, rateLimited, setLimitHeaders } from '../http/limits.ts';
import { collectMethods } from '../http/methods.ts';
import type { Problem, Problems } from '../http/problems.ts';
import { pathOf } from '../http/request-path.ts';
import { setApiHeaders } from '../http/versions.ts';
import type { Clock } from '../lib/clock.ts';
import { SITE_METHODS, sendPreflight } from './cors.ts';

const SERVED = new Set(['GET', 'HEAD', 'OPTIONS']);
const EXPOSED = [
  'X-API-Version',
  'X-Request-Id',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'Retry-After',
].join(', ');

export interface PublicGateParts {
  baseUrl: string;
  clock: Clock;
  problems: Problems;
  /** Requests per client and window. */
  limit: number;
}

/**
 * Checks every request under /api before its body is read, in the order limit (429), method (405), path (404), so that
 * what is refused counts too. `app` has the prefix `/api`; its not-found handler makes unknown paths pass here.
 */
export function addPublicGate(
  app: FastifyInstance,
  { baseUrl, clock, problems, limit }: PublicGateParts,
): void {
  const methods = collectMethods(app);
  const limiter = createLimiter(app, clock, { keyOf: clientOf, limitOf: limit });

  app.addHook('onRequest', async (request, reply) => {
    setApiHeaders(reply);
    reply.header('access-control-allow-origin', '*');
    reply.header('access-control-expose-headers', EXPOSED);
    const taken = await limiter.take(request);
    setLimitHeaders(reply, taken);
    if (taken.retryAfterSeconds !== null) return problems.send(request, reply, rateLimited(taken));
    if (!SERVED.has(request.method)) {
      reply.header('allow', SITE_METHODS);
      return problems.send(request, reply, methodNotAllowed(request.method, baseUrl));
    }
    return request.is404 ? answerUnknown(request, reply) : undefined;
  });

  function answerUnknown(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const path = pathOf(request.originalUrl);
    const isKnown = request.method === 'OPTIONS' && methods.allow(path) !== null;
    return isKnown ? sendPreflight(reply) : problems.send(request, reply, unknownPath(path, baseUrl));
  }

  app.setNotFoundHandler(answerUnknown);
}

/** What is said of a method that is not served. */
export function methodNotAllowed(method: string, baseUrl: string): Problem {
  return {
    code: 'METHOD_NOT_ALLOWED',
    detail: `${method} is not served under /api; only ${SITE_METHODS} are.`,
    extra: { hint: apiMap(baseUrl) },
  };
}

/** What is said of a path that no operation has. */
export function unknownPath(path: string, baseUrl: string): Problem {
  return {
    code: 'NOT_FOUND',
    detail: `Unknown API path: ${path}`,
    extra: { hint: apiMap(baseUrl) },
  };
}

function apiMap(baseUrl: string): string {
  return `See the OpenAPI description at ${baseUrl}/openapi.json`;
}
