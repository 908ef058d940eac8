import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { createDistribution, type Distribution } from '../lib/distribution.ts';
import { pathOf } from './request-path.ts';

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

/** What was answered on one route, with one method and one status. */
interface RequestSeries {
  /** The route's pattern: never an address, of which there are as many as callers like. */
  route: string;
  method: string;
  status: number;
  /** Seconds from the request's head to the end of its answer. */
  seconds: Distribution;
}

/** Counts answered requests. */
export interface RequestTally {
  count(route: string, method: string, status: number, ms: number): void;
  series(): RequestSeries[];
}

/** What no route took is one series a method and status. */
export const UNMATCHED = 'unmatched';

const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Maps in maps, as a key made of all three would have to be put together for each request. */
export function createRequestTally(): RequestTally {
  const all: RequestSeries[] = [];
  const byRoute = new Map<string, Map<string, Map<number, Distribution>>>();

  function open(route: string, method: string, status: number): Distribution {
    const seconds = createDistribution(BOUNDS);
    const byMethod = byRoute.get(route) ?? new Map<string, Map<number, Distribution>>();
    const byStatus = byMethod.get(method) ?? new Map<number, Distribution>();
    byRoute.set(route, byMethod.set(method, byStatus.set(status, seconds)));
    all.push({ route, method, status, seconds });
    return seconds;
  }

  return {
    count(route, method, status, ms) {
      const seconds = byRoute.get(route)?.get(method)?.get(status) ?? open(route, method, status);
      seconds.add(ms / 1_000);
    },
    series: () => all,
  };
}
