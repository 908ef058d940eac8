import {
  formatTraceparent,
  parseTraceparent,
  type SpanAttributes,
  splitTrace,
  type Tracer,
} from '../../src/lib/tracing.ts';

/** A span at its start and at its end. */
export interface RecordedSpan {
  name: string;
  kind: 'server' | 'client';
  parent: string | null;
  traceparent: string;
  attributes: SpanAttributes;
  /** Null while it is open. */
  failed: boolean | null;
}

/** A tracer that records its spans. Spans without a parent start traces 1, 2, 3 … */
export function createRecordingTracer(): { tracer: Tracer; spans: RecordedSpan[] } {
  const spans: RecordedSpan[] = [];
  const tracer: Tracer = {
    begin(name, { kind, parent, attributes }) {
      const number = spans.length + 1;
      const hex = (digits: number) => number.toString(16).padStart(digits, '0');
      const { traceparent: from, tracestate } = splitTrace(parent ?? '');
      const traceId = parseTraceparent(from)?.traceId ?? hex(32);
      const traceparent = formatTraceparent(traceId, hex(16), 1);
      const span: RecordedSpan = { name, kind, parent, traceparent, attributes, failed: null };
      spans.push(span);
      return {
        traceparent,
        tracestate,
        end(more, failed) {
          Object.assign(span.attributes, more);
          span.failed = failed;
        },
      };
    },
  };
  return { tracer, spans };
}
