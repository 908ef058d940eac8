import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createDispatcherTally } from '../../src/dispatcher/recorder.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

const read = async () => (await t.app.inject('/metrics')).body;
const figureOf = (text: string, series: string) =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1),
  );

/** The documented series, by name. */
const PROMISED = [
  'signalpost_http_requests_total',
  'signalpost_http_request_duration_seconds',
  'signalpost_http_requests_in_flight',
  'signalpost_http_requests_shed_total',
  'signalpost_signals_total',
  'signalpost_posts_encoded_total',
  'signalpost_encoder_queue_length',
  'signalpost_encoder_wait_seconds',
  'signalpost_encoder_duration_seconds',
  'signalpost_deliveries_total',
  'signalpost_delivery_attempts_total',
  'signalpost_delivery_attempt_duration_seconds',
  'signalpost_deliveries_waiting',
  'signalpost_delivery_oldest_due_seconds',
  'signalpost_deliveries_in_flight',
  'signalpost_deliveries_uncommitted',
  'signalpost_endpoints_throttled',
  'signalpost_endpoints_paused',
  'signalpost_dispatcher_stuck',
  'signalpost_dead_letters',
  'signalpost_store_commit_duration_seconds',
  'signalpost_store_commit_operations',
  'signalpost_store_commit_under_way_seconds',
  'signalpost_store_queue_length',
  'signalpost_store_refused_total',
  'signalpost_store_wal_bytes',
  'signalpost_store_database_bytes',
  'signalpost_store_free_bytes',
  'signalpost_mail_waiting',
  'signalpost_sources_late',
  'signalpost_sources_failing',
  'signalpost_build_info',
  'process_resident_memory_bytes',
  'nodejs_eventloop_lag_p99_seconds',
];

test('every documented metric is exported, with its type, in the Prometheus text format', async () => {
  const answer = await t.app.inject('/metrics');
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(answer.headers['cache-control']).toBe('no-store');
  for (const name of PROMISED) expect(answer.body).toMatch(new RegExp(`^# TYPE ${name} \\w+$`, 'm'));
  const lines = answer.body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  for (const line of lines) expect(line).toMatch(/^[a-z0-9_]+(\{[^}]*\})? (-?[\d.e+-]+|Nan|[+-]Inf)$/);
});

test('requests are counted by route, method and status, with their duration', async () => {
  await t.app.inject({ method: 'POST', url: '/v1/signals', payload: aPost(), headers: t.auth });
  await t.app.inject({ url: '/v1/signals?limit=1', headers: t.auth });
  await t.app.inject({ url: '/v1/signals/sig_unknown', headers: t.auth });
  const text = await read();
  const series = (name: string, route: string, method: string, status: number) =>
    figureOf(text, `${name}{route="${route}",method="${method}",status="${status}"}`);
  const total = 'signalpost_http_requests_total';
  expect(series(total, '/v1/signals', 'POST', 201)).toBe(1);
  expect(series(total, '/v1/signals', 'GET', 200)).toBe(1);
  expect(series(total, '/v1/signals/:id', 'GET', 404)).toBe(1);
  expect(series('signalpost_http_request_duration_seconds_count', '/v1/signals', 'GET', 200)).toBe(1);
  expect(text).toContain(
    'signalpost_http_request_duration_seconds_bucket{route="/v1/signals",method="GET",status="200",le="+Inf"} 1',
  );
});

test('callers cannot create series: all unknown URLs are one, and no label contains an ID', async () => {
  for (const path of ['/a', '/b', '/v1/x', '/v1/y/z', '/api/a', '/api/b?c=d']) await t.app.inject(path);
  const text = await read();
  const routes = new Set([...text.matchAll(/route="([^"]*)"/g)].map(([, route]) => route));
  expect([...routes]).toEqual(['unmatched']);
  expect(text).not.toContain(t.tenant.id);
});

test('stored work is counted: pending deliveries, commits, completed requests', async () => {
  const hook = { url: 'https://receiver.example.com/hook' };
  await t.app.inject({ method: 'POST', url: '/v1/webhooks', payload: hook, headers: t.auth });
  await t.app.inject({ method: 'POST', url: '/v1/signals', payload: aPost(), headers: t.auth });
  t.clock.advance(90_000);
  const text = await read();
  expect(figureOf(text, 'signalpost_deliveries_waiting{state="pending"}')).toBe(1);
  expect(figureOf(text, 'signalpost_delivery_oldest_due_seconds{state="pending"}')).toBe(90);
  expect(figureOf(text, 'signalpost_delivery_oldest_due_seconds{state="held"}')).toBe(0);
  expect(figureOf(text, 'signalpost_store_commit_operations_count')).toBeGreaterThan(0);
  expect(figureOf(text, 'signalpost_store_queue_length')).toBe(0);
});

test('deliveries that end without an attempt are counted, too: too large, and expired', async () => {
  const tally = createDispatcherTally();
  tally.countRejected();
  const busy = await buildTestApp({
    dispatcherPulse: () => ({ tally, inFlight: 0, uncommitted: 0, throttled: async () => 0, stuck: null }),
    expiredCount: () => 3,
  });
  onTestFinished(() => busy.app.close());
  const { body } = await busy.app.inject('/metrics');
  expect(figureOf(body, 'signalpost_deliveries_total{outcome="rejected"}')).toBe(1);
  expect(figureOf(body, 'signalpost_deliveries_total{outcome="expired"}')).toBe(3);
});

test('signals are counted by class and by how the post was submitted', async () => {
  const send = (url: string, payload: object) =>
    t.app.inject({ method: 'POST', url, payload, headers: t.auth });
  await send('/v1/signals', aPost({ external_id: '1' }));
  await send('/v1/signals', aPost({ external_id: '1' }));
  const cold = { text: 'Nice weather on site, lads.', platform: { name: 'reddit' } };
  await send('/v1/signals/batch', {
    signals: [cold, aPost({ external_id: '2', text: 'We need a new CRM now.' })],
  });
  const text = await read();
  const count = (classification: string, via: string) =>
    figureOf(text, `signalpost_signals_total{via="${via}",classification="${classification}"}`);
  expect(count('hot', 'post')).toBe(1);
  expect(count('cold', 'batch')).toBe(1);
  expect(count('hot', 'batch') + count('warm', 'batch')).toBe(1);
  expect(count('hot', 'source')).toBe(0);
});
