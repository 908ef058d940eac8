/** A span of a trace. */
export interface Span {
  /** The `traceparent` header for outgoing requests (W3C Trace Context, section 3.2). */
  readonly traceparent: string;
  /** The `tracestate` (section 3.3) of upstream systems, which is passed on; null if there is none. */
  readonly tracestate: string | null;
  /** Ends the span. Call once. */
  end(attributes: SpanAttributes, failed: boolean): void;
}

/** Attributes named by OpenTelemetry's semantic conventions; never secrets or personal data. */
export type SpanAttributes = Record<string, string | number>;

/** Starts spans. */
export interface Tracer {
  /** `parent` has the format of {@link joinTrace}; null starts a new trace. */
  begin(
    name: string,
    about: { kind: 'server' | 'client'; parent: string | null; attributes: SpanAttributes },
  ): Span;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);

/**
 * Parses a `traceparent`; null if it is invalid, which starts a new trace (W3C Trace Context, sections 3.2.2
 * and 4.2).
 */
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

/** A `traceparent` and its `tracestate`, if any, separated by a space, as one text for storage. */
export function joinTrace(traceparent: string, tracestate: string | null): string {
  return tracestate === null ? traceparent : `${traceparent} ${tracestate}`;
}

/** Reverses {@link joinTrace}. */
export function splitTrace(trace: string): { traceparent: string; tracestate: string | null } {
  const end = trace.indexOf(' ');
  if (end === -1) return { traceparent: trace, tracestate: null };
  return { traceparent: trace.slice(0, end), tracestate: trace.slice(end + 1) };
}
