import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { TlsOptions } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { startTracing } from '../../src/operation/tracing.ts';
import { RECEIVERS, TEST_CA } from '../dispatcher/tls-fixture.ts';
import { ownCurveCertificates } from '../support/costly-certificates.ts';

afterEach(() => vi.unstubAllEnvs());

/** Records what is posted to it, over TLS if it has a certificate. */
async function startCollector(secure?: TlsOptions) {
  const posts: { url: string; type: string; body: Buffer }[] = [];
  const faults: string[] = [];
  const take: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const bytes = Buffer.concat(chunks);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
      posts.push({ url: request.url ?? '', type: request.headers['content-type'] ?? '', body });
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  };
  const server = secure === undefined ? createServer(take) : createTlsServer(secure, take);
  server.on('tlsClientError', ({ code }: NodeJS.ErrnoException) => faults.push(code ?? ''));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return {
    posts,
    faults,
    url: `${secure === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
  };
}

test('spans reach the collector named by the standard variables, under the service name they set', async () => {
  const { posts, url } = await startCollector();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SERVICE_NAME: 'signals-of-acme' };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const { tracing } = loadConfig(env);
  if (tracing === null) throw new Error('nothing would be traced');
  const { tracer, close } = startTracing(tracing, { warn: () => expect.fail('a warning') }, systemClock);

  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const parent = `00-${traceId}-b7ad6b7169203331-01`;
  const about = { kind: 'server', parent, attributes: { 'http.route': '/v1/signals' } } as const;
  const span = tracer.begin('POST /v1/signals', about);
  expect(span.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
  span.end({ 'http.response.status_code': 503 }, true);
  await close();

  expect(posts.map((post) => [post.url, post.type])).toEqual([['/v1/traces', 'application/x-protobuf']]);
  const [{ body } = expect.fail('nothing came')] = posts;
  expect(body.includes(Buffer.from(traceId, 'hex'))).toBe(true);
  for (const text of ['signals-of-acme', 'POST /v1/signals', 'http.response.status_code', 'service.version'])
    expect(body.includes(text)).toBe(true);
});

test('a collector that responds with more than any is left', async () => {
  const { promise: left, resolve } = Promise.withResolvers<string>();
  const server = createServer((request, response) => {
    request.resume();
    response.on('close', () => resolve('left')).write(Buffer.alloc(100_000));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', url);
  const { tracing } = loadConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
  const log = { warn: () => undefined };
  const { tracer, close } = startTracing(tracing ?? expect.fail('nothing'), log, systemClock);
  tracer.begin('GET /', { kind: 'server', parent: null, attributes: {} }).end({}, false);
  const stayed = close().then(() => pause(2_000, 'stayed'));
  expect(await Promise.race([left, stayed])).toBe('left');
});

describe('a collector over TLS', () => {
  /** Sends a span to a collector, and returns what it received. */
  async function sendTo(secure: TlsOptions) {
    const { url, ...received } = await startCollector(secure);
    const folder = await mkdtemp(join(tmpdir(), 'otlp-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'ca.pem'), TEST_CA);
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_CERTIFICATE: join(folder, 'ca.pem'),
    };
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const { tracing } = loadConfig(env);
    const log = { warn: () => undefined };
    const { tracer, close } = startTracing(tracing ?? expect.fail('nothing'), log, systemClock);
    tracer.begin('GET /', { kind: 'server', parent: null, attributes: {} }).end({}, false);
    await close();
    return received;
  }

  test.each(['TLSv1.2', 'TLSv1.3'] as const)('takes spans, with %s', async (maxVersion) => {
    const { posts, faults } = await sendTo({ ...RECEIVERS.valid, maxVersion });
    expect(faults).toEqual([]);
    expect(posts).toHaveLength(1);
  });

  test('is left before its keys on a curve of its own are read', async () => {
    const { posts, faults } = await sendTo({ ...ownCurveCertificates(1), maxVersion: 'TLSv1.2' });
    expect(posts).toEqual([]);
    // Otherwise, its certificates would be refused, with an alert.
    await expect.poll(() => faults[0]).toBe('ECONNRESET');
  });
});

test('a trace not sampled by its caller is not recorded here, and its flag is passed on', async () => {
  const { posts, url } = await startCollector();
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', url);
  const { tracing } = loadConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
  const { tracer, close } = startTracing(
    tracing ?? expect.fail('nothing'),
    { warn: () => undefined },
    systemClock,
  );
  const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';
  const span = tracer.begin('GET /', { kind: 'server', parent, attributes: {} });
  expect(span.traceparent).toMatch(/-00$/);
  span.end({}, false);
  await close();
  expect(posts).toEqual([]);
});

test.each([
  ['as it came', 'vendor=1,tenant@other=a b', 'vendor=1,tenant@other=a b'],
  ['without what is no member of it', 'vendor=1,Nonsense,UPPER=2, rest=3 ', 'vendor=1,rest=3'],
  [
    'not at all where it is longer than 512 characters',
    `a=${'1'.repeat(200)},b=${'2'.repeat(200)},c=${'3'.repeat(200)}`,
    null,
  ],
  ['not at all where nothing of it is valid', '=,\u0001', null],
])('a tracestate is passed on %s', async (_, tracestate, passed) => {
  const { tracing } = loadConfig(ENDPOINT);
  const { tracer, close } = startTracing(
    tracing ?? expect.fail('nothing'),
    { warn: () => undefined },
    systemClock,
  );
  // A trace not sampled by its caller is not exported, so that no collector is needed.
  const parent = `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00 ${tracestate}`;
  const span = tracer.begin('GET /', { kind: 'server', parent, attributes: {} });
  expect(span.tracestate).toBe(passed);
  span.end({}, false);
  await close();
});

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

test.each([
  ['no endpoint', {}],
  ['the SDK disabled', { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }],
  ['no exporter', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
])('with %s, nothing is traced', (_, env) => expect(loadConfig(env).tracing).toBeNull());

test.each([
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /OTEL_EXPORTER_OTLP_PROTOCOL: must be one of http\/protobuf/],
  [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, /OTEL_TRACES_SAMPLER: must be one of always_on/],
  [{ OTEL_TRACES_SAMPLER_ARG: '2' }, /OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1/],
])('%j is refused at startup', (env, message) =>
  expect(() => loadConfig({ ...ENDPOINT, ...env })).toThrow(message),
);
