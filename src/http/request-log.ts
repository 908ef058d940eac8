import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { pathOf } from './request-path.ts';

const MAX_LOGGED_PATH = 200;

/**
 * One line for each answered request. It names the route's pattern, not the address: ids are for the caller's own
 * books, and an address may hold a one-time token. Headers, query and bodies are never logged.
 */
export function addRequestLog(app: FastifyInstance, { logger }: { logger: Logger }): void {
  // `routeOptions` builds an object at each access; a path that is its own pattern needs none.
  const staticPaths = new Set<string>();
  app.addHook('onRoute', ({ url }) => {
    if (!/[:*]/.test(url)) staticPaths.add(url);
  });
  app.addHook('onResponse', (request, reply, done) => {
    const caller = request.caller;
    logger.info(
      {
        request_id: request.id,
        method: request.method,
        route: staticPaths.has(request.url) ? request.url : routeOf(request),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        ...(caller === null ? undefined : { key_id: caller.key.id, tenant_id: caller.tenant.id }),
      },
      'request',
    );
    done();
  });
}

/** The pattern of the route that was matched, else the start of the path that matched none. */
export function routeOf(request: FastifyRequest): string {
  return request.routeOptions.config.url ?? pathOf(request.originalUrl).slice(0, MAX_LOGGED_PATH);
}
