import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { collectMethods, sendAllow } from '../http/face-gate.ts';
import { clientOf, createLimiter, rateLimited, setLimitHeaders } from '../http/limits.ts';
import type { Problem, Problems } from '../http/problems.ts';
import { CACHE_BRIEFLY } from '../http/representation.ts';
import { setApiHeaders } from '../http/request-context.ts';
import { isMalformed, pathOf } from '../http/request-path.ts';
import type { Clock } from '../lib/clock.ts';
import { withoutTrailingSlashes } from '../lib/text.ts';
import type { PageErrors } from './page-errors.ts';

/** The methods of all routes of the site. */
const SITE_METHODS = 'GET, HEAD, OPTIONS';

/** Responds to OPTIONS on a known path; also serves as the CORS preflight for any origin. */
function sendPreflight(reply: FastifyReply): FastifyReply {
  reply.header('access-control-allow-methods', SITE_METHODS);
  reply.header('access-control-allow-headers', '*');
  reply.header('access-control-max-age', '86400');
  return sendAllow(reply, SITE_METHODS);
}

const PAGE_METHODS = new Set(['GET', 'HEAD']);
const PAGE_EXPOSED = ['ETag', 'Link', 'X-Markdown-Tokens', 'X-Request-Id'].join(', ');

/**
 * Responds to requests of the site that match no route, before any body is read: 400 for a path that cannot be
 * decoded, 308 from a trailing slash to the path without it, 204 for OPTIONS, 405 for other methods, 404 for unknown
 * pages.
 */
export function addPageGate(app: FastifyInstance, errors: PageErrors): void {
  const routes = collectMethods(app);
  const exists = (path: string) => routes.allow(path) !== null;

  app.addHook('onRequest', (request, reply, done) => {
    reply.header('access-control-allow-origin', '*');
    reply.header('access-control-expose-headers', PAGE_EXPOSED);
    const rewritten = request.raw.url !== request.originalUrl;
    if (!request.is404 && !(rewritten && isMalformed(request.originalUrl))) return done();

    if (isMalformed(request.originalUrl)) {
      errors.badAddress(request, reply);
      return;
    }
    const path = pathOf(request.originalUrl);
    const bare = withoutTrailingSlashes(path) || '/';
    if (!exists(bare)) {
      errors.notFound(request, reply);
    } else if (request.method === 'OPTIONS') {
      sendPreflight(reply);
    } else if (!PAGE_METHODS.has(request.method)) {
      reply.header('allow', SITE_METHODS);
      errors.methodNotAllowed(request, reply);
    } else {
      // Redirects only to known paths, so that `//evil` cannot become the address of another host.
      const location = `${bare}${queryOf(request)}`;
      reply.headers({ location, 'cache-control': CACHE_BRIEFLY, 'content-length': '0' }).code(308).send();
    }
  });
  app.setNotFoundHandler((request, reply) => errors.notFound(request, reply));
}

function queryOf({ originalUrl }: FastifyRequest): string {
  const start = originalUrl.indexOf('?');
  return start === -1 ? '' : originalUrl.slice(start);
}

const API_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
const API_EXPOSED = [
  'X-API-Version',
  'X-Request-Id',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'Retry-After',
].join(', ');

interface PublicGateDeps {
  baseUrl: string;
  clock: Clock;
  problems: Problems;
  /** Requests per client and window. */
  limit: number;
}

/**
 * Checks every request under /api before its body is read, in the order limit (429), method (405), path (404), so
 * that refused requests count, too. `app` has the prefix `/api`; its not-found handler passes unknown paths through
 * here.
 */
export function addPublicGate(
  app: FastifyInstance,
  { baseUrl, clock, problems, limit }: PublicGateDeps,
): void {
  const methods = collectMethods(app);
  const limiter = createLimiter(app, clock, { keyOf: clientOf, limitOf: limit });

  app.addHook('onRequest', async (request, reply) => {
    setApiHeaders(reply);
    reply.header('access-control-allow-origin', '*');
    reply.header('access-control-expose-headers', API_EXPOSED);
    const taken = await limiter.take(request);
    setLimitHeaders(reply, taken);
    if (taken.retryAfterSeconds !== null) return problems.send(request, reply, rateLimited(taken));
    if (!API_METHODS.has(request.method)) {
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

/** The problem for an unsupported method. */
export function methodNotAllowed(method: string, baseUrl: string): Problem {
  return {
    code: 'METHOD_NOT_ALLOWED',
    detail: `${method} is not served under /api; only ${SITE_METHODS} are.`,
    extra: { hint: apiMap(baseUrl) },
  };
}

/** The problem for an unknown path. */
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
