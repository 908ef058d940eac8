/** One piece of work within a trace. */
export interface Span {
  /** The `traceparent` header for outgoing requests (W3C Trace Context, section 3.2). */
  readonly traceparent: string;
  /** What the systems before it keep in the trace, passed on with it: a `tracestate` (section 3.3), null where there is none. */
  readonly tracestate: string | null;
  /** Ends it, once. */
  end(attributes: SpanAttributes, failed: boolean): void;
}

/** By the names of OpenTelemetry's semantic conventions; never what is secret or a person's. */
export type SpanAttributes = Record<string, string | number>;

/** Where spans are begun. */
export interface Tracer {
  /** `parent` is as {@link joinTrace} writes it, or null where a trace begins. */
  begin(
    name: string,
    about: { kind: 'server' | 'client'; parent: string | null; attributes: SpanAttributes },
  ): Span;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);

/** The parts of a `traceparent`, null where it is none: then a trace begins (W3C Trace Context, sections 3.2.2 and 4.2). */
export function parseTraceparent(text: unknown): { traceId: string; spanId: string; flags: number } | null {
  const [, version, traceId = '', spanId = '', flags = '', more] =
    (typeof text === 'string' && TRACEPARENT.exec(text.trim())) || [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null;
  if (traceId === NO_TRACE || spanId === NO_SPAN) return null;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & 1 };
}

export function formatTraceparent(traceId: string, spanId: string, flags: number): string {
  return `00-${traceId}-${spanId}-${flags & 1 ? '01' : '00'}`;
}

/** A `traceparent` with its `tracestate` as one text, as it is stored: the second after a space, where there is one. */
export function joinTrace(traceparent: string, tracestate: string | null): string {
  return tracestate === null ? traceparent : `${traceparent} ${tracestate}`;
}

/** The two of {@link joinTrace}. */
export function splitTrace(trace: string): { traceparent: string; tracestate: string | null } {
  const end = trace.indexOf(' ');
  if (end === -1) return { traceparent: trace, tracestate: null };
  return { traceparent: trace.slice(0, end), tracestate: trace.slice(end + 1) };
}
