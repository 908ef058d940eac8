/** How requests and deliveries are traced. */
export interface TracingConfig {
  sampler: SamplerName;
  /** Of the traces that begin here, in [0, 1]; of the `traceidratio` samplers. */
  ratio: number;
}

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
type SamplerName = (typeof SAMPLERS)[number];

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'];

/** What the settings are read with, each of which takes down its own faults. */
interface Reader {
  text(name: string): string | null;
  url(name: string, protocols: string[]): string | null;
  oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T;
}

/**
 * The usual variables of OpenTelemetry, as far as this program reads them itself; null where nothing is to be traced. Where
 * no endpoint is set nothing is, unlike the specification's default of localhost:4318.
 */
export function readTracing(read: Reader, faults: string[]): TracingConfig | null {
  const endpoints = ENDPOINTS.map((name) => read.url(name, ['http:', 'https:']));
  const off = read.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true';
  if (off || endpoints.every((endpoint) => endpoint === null)) return null;
  if (read.oneOf('OTEL_TRACES_EXPORTER', ['otlp', 'none'], 'otlp') === 'none') return null;
  for (const name of PROTOCOLS) read.oneOf(name, ['http/protobuf'], 'http/protobuf');
  const sampler = read.oneOf('OTEL_TRACES_SAMPLER', SAMPLERS, 'parentbased_always_on');
  const ratio = Number(read.text('OTEL_TRACES_SAMPLER_ARG') ?? 1);
  if (!(ratio >= 0 && ratio <= 1)) faults.push('OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1.');
  return { sampler, ratio };
}
