import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { createDistribution, type Distribution } from '../lib/distribution.ts';
import { joinTrace, type Span, type Tracer } from '../lib/tracing.ts';
import { pathOf } from './request-path.ts';

const MAX_LOGGED_SEGMENT = 40;

/**
 * Logs one line per request, and counts it. The line has the pattern of the route instead of the path, which may
 * contain IDs or a one-time token. Headers, query and bodies are never logged.
 */
export function addRequestLog(
  app: FastifyInstance,
  { logger, tally }: { logger: Logger; tally: RequestTally },
): void {
  // `routeOptions` builds an object on each access; a path that equals its pattern needs none.
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

/** The pattern of the matched route; otherwise the first segment of the path. */
export function routeOf(request: FastifyRequest): string {
  return request.routeOptions.config.url ?? unroutedName(request);
}

/** Later segments may be an ID or a one-time token: a wrong method or a trailing slash matches no pattern. */
function unroutedName(request: FastifyRequest): string {
  const path = pathOf(request.originalUrl);
  const end = path.indexOf('/', 1);
  const segment = end === -1 ? path : `${path.slice(0, end)}/…`;
  return segment.length <= MAX_LOGGED_SEGMENT ? segment : `${segment.slice(0, MAX_LOGGED_SEGMENT)}…`;
}

/** Requests of one route, method and status. */
interface RequestSeries {
  /** The pattern of the route, never a path: callers can request any number of paths. */
  route: string;
  method: string;
  status: number;
  /** Seconds from the head of the request to the end of the response. */
  seconds: Distribution;
}

/** Counts completed requests. */
export interface RequestTally {
  count(route: string, method: string, status: number, ms: number): void;
  series(): RequestSeries[];
}

/** Requests without a route are one series per method and status. */
const UNMATCHED = 'unmatched';

const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Nested maps: a combined key would have to be concatenated for each request. */
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
 * Creates a span per request, within the caller's trace if there is one. It has the pattern of the route instead of
 * the path, like the log.
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

/** The dependencies of a request's changes: their events and deliveries belong to its trace. */
export function tracedDeps<P extends { trace?: string | null }>(request: FastifyRequest, deps: P): P {
  if (request.span === null) return deps;
  return { ...deps, trace: joinTrace(request.span.traceparent, request.span.tracestate) };
}

/**
 * Dependencies whose `trace` is that of the current request, in every handler and use case: a face that uses no
 * others cannot lose a trace. Register it after every other hook: earlier ones may continue in another request's
 * async context.
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

/** The caller's span, or null. Node joins several `tracestate` headers, as required. */
function parentOf({ traceparent, tracestate }: IncomingHttpHeaders): string | null {
  if (typeof traceparent !== 'string') return null;
  return joinTrace(traceparent.trim(), typeof tracestate === 'string' ? tracestate : null);
}
