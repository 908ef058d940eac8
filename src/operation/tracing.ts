import { readFileSync } from 'node:fs';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { connect as connectTcp, type Socket, type TcpNetConnectOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import {
  type Context,
  createTraceState,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import type { TracingConfig } from '../config.ts';
import type { Clock } from '../lib/clock.ts';
import { limitReceived } from '../lib/network.ts';
import { PACKAGE } from '../lib/package.ts';
import { formatTraceparent, parseTraceparent, type Span, splitTrace, type Tracer } from '../lib/tracing.ts';
import { createHandshakes, TLS_LIMITS } from '../webhooks/handshakes.ts';

/** Exports spans to a collector. */
export interface Tracing {
  tracer: Tracer;
  /** Sends the remaining spans, for a few seconds at most. */
  close(): Promise<void>;
}

const LAST_EXPORT_MS = 3_000;
/** The exporter keeps each chunk of a response of 4 MB: chunks of one byte took 1.8 GB. Collectors respond with a few bytes. */
const MAX_RESPONSE_BYTES = 65_536;

/**
 * Sends spans by OTLP/HTTP, configured by the usual variables (OTEL_EXPORTER_OTLP_…, which the exporter reads
 * itself). Loaded only if one of them is set: a server without tracing loads nothing of OpenTelemetry.
 */
export function startTracing(config: TracingConfig, log: Pick<Logger, 'warn'>, clock: Clock): Tracing {
  const warn = (message: string) => log.warn({ detail: message }, 'traces cannot be exported');
  const silent = () => undefined;
  const logger = { error: warn, warn: silent, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true });
  const { name, version } = PACKAGE;
  const exporter = new OTLPTraceExporter({ httpAgentOptions: (protocol) => createAgent(protocol, clock) });
  const provider = new TracerProvider({
    sampler: samplerOf(config),
    // The operator's OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': name, 'service.version': version }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer(name, version);
  return {
    tracer: {
      begin(spanName, { kind, parent, attributes }) {
        const options = { kind: kind === 'server' ? SpanKind.SERVER : SpanKind.CLIENT, attributes };
        return toSpan(tracer.startSpan(spanName, options, contextOf(parent)));
      },
    },
    async close() {
      const late = new Promise<void>((resolve) => setTimeout(resolve, LAST_EXPORT_MS).unref());
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
    },
  };
}

/** As the exporter's own agent, but with limited responses and TLS handshakes. It reads the files that the environment variables name. */
function createAgent(protocol: string, clock: Clock): HttpAgent {
  const limited = (socket: Socket) => {
    limitReceived(socket, MAX_RESPONSE_BYTES, 'The collector sends too much.');
    return socket;
  };
  if (protocol === 'http:') {
    return new (class extends HttpAgent {
      override createConnection(options: TcpNetConnectOpts): Duplex {
        return limited(connectTcp(options));
      }
    })({ keepAlive: true });
  }
  const handshakeOf = createHandshakes(clock);
  return new (class extends HttpsAgent {
    override createConnection(options: ConnectionOptions & TcpNetConnectOpts): Duplex {
      const stream = handshakeOf(connectTcp(options), 'collector');
      const secured = connectTls({ ...options, ...TLS_LIMITS, socket: stream });
      stream.serve(secured);
      return limited(secured);
    }
  })({
    keepAlive: true,
    ca: fileNamedBy('CERTIFICATE'),
    cert: fileNamedBy('CLIENT_CERTIFICATE'),
    key: fileNamedBy('CLIENT_KEY'),
  });
}

function fileNamedBy(variable: string): Buffer | undefined {
  const names = ['OTEL_EXPORTER_OTLP_TRACES_', 'OTEL_EXPORTER_OTLP_'];
  const file = names.map((name) => process.env[name + variable]?.trim()).find(Boolean);
  try {
    return file === undefined ? undefined : readFileSync(file);
  } catch {
    diag.error(`The file named by OTEL_EXPORTER_OTLP_${variable} cannot be read.`);
    return undefined;
  }
}

function contextOf(text: string | null): Context {
  if (text === null) return ROOT_CONTEXT;
  const { traceparent, tracestate } = splitTrace(text);
  const parent = parseTraceparent(traceparent);
  if (parent === null) return ROOT_CONTEXT;
  const { flags: traceFlags, ...ids } = parent;
  // Longer than 512 characters: dropped; otherwise the valid members are kept.
  const state = tracestate !== null && { traceState: createTraceState(tracestate) };
  return trace.setSpanContext(ROOT_CONTEXT, { ...ids, traceFlags, ...state, isRemote: true });
}

function toSpan(span: ReturnType<ReturnType<TracerProvider['getTracer']>['startSpan']>): Span {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  return {
    traceparent: formatTraceparent(traceId, spanId, traceFlags),
    tracestate: traceState?.serialize() || null,
    end(attributes, failed) {
      span.setAttributes(attributes);
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

/** As named in OTEL_TRACES_SAMPLER (OpenTelemetry, "Environment Variable Specification"). */
function samplerOf({ sampler, ratio }: TracingConfig): Sampler {
  const root = sampler.endsWith('always_off')
    ? new AlwaysOffSampler()
    : sampler.endsWith('traceidratio')
      ? new TraceIdRatioBasedSampler(ratio)
      : new AlwaysOnSampler();
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}
