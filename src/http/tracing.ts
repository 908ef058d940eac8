import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { joinTrace, type Span, type Tracer } from '../lib/tracing.ts';
import { UNMATCHED } from './request-log.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The request's own span; null where nothing is traced. */
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

/** What a request makes its changes with: their events, and what is delivered of them, belong to its trace. */
export function tracedParts<P extends { trace?: string | null }>(request: FastifyRequest, parts: P): P {
  if (request.span === null) return parts;
  return { ...parts, trace: joinTrace(request.span.traceparent, request.span.tracestate) };
}

/**
 * Parts whose `trace` is that of the request they are used in, whichever handler and use case use them: a face that hands on
 * nothing else cannot lose a trace. To be added after every other hook: what comes before may go on in another request's turn.
 */
export function followTrace<P extends { trace?: string | null }>(app: FastifyInstance, parts: P): P {
  const current = new AsyncLocalStorage<Span | null>();
  app.addHook('preHandler', ({ span }, _reply, done) => current.run(span, done));
  return Object.defineProperty({ ...parts }, 'trace', {
    enumerable: true,
    get() {
      const span = current.getStore() ?? null;
      return span === null ? null : joinTrace(span.traceparent, span.tracestate);
    },
  });
}

/** The caller's span, null where none is named. A `tracestate` that comes in parts is joined by Node, as it is to be. */
function parentOf({ traceparent, tracestate }: IncomingHttpHeaders): string | null {
  if (typeof traceparent !== 'string') return null;
  return joinTrace(traceparent.trim(), typeof tracestate === 'string' ? tracestate : null);
}
