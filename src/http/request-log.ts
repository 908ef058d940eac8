import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { createDistribution, type Distribution } from '../lib/distribution.ts';
import { joinTrace, type Span, type Tracer } from '../lib/tracing.ts';
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
const UNMATCHED = 'unmatched';

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

declare module 'fastify' {
  interface FastifyRequest {
    /** The request's span; null if it is not traced. */
    span: Span | null;
  }
}

/**
 * A span for each request, within the caller's trace where it names one. It tells the route's pattern and not the address,
 * as the log does.
 */
export function addTracing(app: FastifyInstance, tracer: Tracer | null): void {
  app.decorateRequest('span', null);
  if (tracer === null) return;
  app.addHook('onRequest', (request, _reply, done) => {
    const route = request.routeOptions.config.url ?? UNMATCHED;
    request.span = tracer.begin(`${request.method} ${route}`, {
      kind: 'server',
      parent: parentOf(request.headers),
      attributes: { 'http.request.method': request.method, 'http.route': route },
    });
    done();
  });
  app.addHook('onResponse', ({ span }, { statusCode }, done) => {
    span?.end({ 'http.response.status_code': statusCode }, statusCode >= 500);
    done();
  });
}

/** The dependencies with which a request makes changes: their events and deliveries belong to its trace. */
export function tracedDeps<P extends { trace?: string | null }>(request: FastifyRequest, deps: P): P {
  if (request.span === null) return deps;
  return { ...deps, trace: joinTrace(request.span.traceparent, request.span.tracestate) };
}

/**
 * Parts whose `trace` is that of the request they are used in, whichever handler and use case use them: a face that hands on
 * nothing else cannot lose a trace. To be added after every other hook: what comes before may go on in another request's turn.
 */
export function followTrace<P extends { trace?: string | null }>(app: FastifyInstance, deps: P): P {
  const current = new AsyncLocalStorage<Span | null>();
  app.addHook('preHandler', ({ span }, _reply, done) => current.run(span, done));
  return Object.defineProperty({ ...deps }, 'trace', {
    enumerable: true,
    get() {
      const span = current.getStore() ?? null;
      return span === null ? null : joinTrace(span.traceparent, span.tracestate);
    },
  });
}

/** The caller's span, or null. Node joins a `tracestate` in several headers, as required. */
function parentOf({ traceparent, tracestate }: IncomingHttpHeaders): string | null {
  if (typeof traceparent !== 'string') return null;
  return joinTrace(traceparent.trim(), typeof tracestate === 'string' ? tracestate : null);
}
