import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Span, Tracer } from '../lib/tracing.ts';
import { UNMATCHED } from './request-tally.ts';

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
    const { traceparent } = request.headers;
    const route = request.routeOptions.config.url ?? UNMATCHED;
    request.span = tracer.begin(`${request.method} ${route}`, {
      kind: 'server',
      parent: typeof traceparent === 'string' ? traceparent : null,
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
  return request.span === null ? parts : { ...parts, trace: request.span.traceparent };
}
