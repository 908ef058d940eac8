import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { pathOf } from './request-path.ts';
import { type RequestTally, UNMATCHED } from './request-tally.ts';

const MAX_LOGGED_SEGMENT = 40;

/**
 * One line for each answered request, which is counted too. It names the route's pattern, not the address: ids are for the
 * caller's own books, and an address may hold a one-time token. Headers, query and bodies are never logged.
 */
export function addRequestLog(
  app: FastifyInstance,
  { logger, tally }: { logger: Logger; tally: RequestTally },
): void {
  // `routeOptions` builds an object at each access; a path that is its own pattern needs none.
  const staticPaths = new Set<string>();
  app.addHook('onRoute', ({ url }) => {
    if (!/[:*]/.test(url)) staticPaths.add(url);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { method } = request;
    const { statusCode } = reply;
    const { waitedMs } = request;
    const elapsedTime = reply.elapsedTime - waitedMs;
    const pattern = staticPaths.has(request.url) ? request.url : request.routeOptions.config.url;
    tally.count(pattern ?? UNMATCHED, method, statusCode, elapsedTime);
    if (logger.isLevelEnabled('info')) {
      const { caller } = request;
      const line = {
        request_id: request.id,
        method,
        route: pattern ?? unroutedName(request),
        status: statusCode,
        ms: Math.round(elapsedTime * 10) / 10,
        ...(waitedMs > 0 && { waited_ms: Math.round(waitedMs) }),
        ...(caller !== null && { key_id: caller.key.id, tenant_id: caller.tenant.id }),
      };
      logger.info(line, 'request');
    }
    done();
  });
}

/** The pattern of the route that was matched, else the first segment of the path that matched none. */
export function routeOf(request: FastifyRequest): string {
  return request.routeOptions.config.url ?? unroutedName(request);
}

/** What follows may be an id or a one-time token: an unknown method, or a slash at its end, leads to no pattern. */
function unroutedName(request: FastifyRequest): string {
  const path = pathOf(request.originalUrl);
  const end = path.indexOf('/', 1);
  const segment = end === -1 ? path : `${path.slice(0, end)}/…`;
  return segment.length <= MAX_LOGGED_SEGMENT ? segment : `${segment.slice(0, MAX_LOGGED_SEGMENT)}…`;
}
