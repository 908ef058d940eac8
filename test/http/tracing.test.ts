import { expect, onTestFinished, test } from 'vitest';
import { aPost, buildTestApp } from '../support/app.ts';
import { createRecordingTracer } from '../support/tracer.ts';

const CALLER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const aPostAt = (place: string) =>
  aPost({
    platform: { name: 'forum', post_url: `https://forum.example/${place}` },
    text: `Who knows ${place}?`,
  });

test("a request is a span of its caller's trace, and what it causes goes on in it", async () => {
  const { tracer, spans } = createRecordingTracer();
  const t = await buildTestApp({ tracer, env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
  onTestFinished(() => t.app.close());
  const post = (url: string, payload: object, headers: object = {}) =>
    t.app.inject({ method: 'POST', url, payload, headers: { ...t.auth, ...headers } });
  await post('/v1/webhooks', { url: 'http://127.0.0.1:9/' });
  await post('/v1/signals', aPostAt('1'), { traceparent: CALLER, tracestate: 'vendor=1' });
  await post('/v1/signals', aPostAt('2'), { 'idempotency-key': 'two' });
  await t.app.inject('/v1/leads/led_a?secret=1');

  expect(spans.slice(1)).toMatchObject([
    { name: 'POST /v1/signals', kind: 'server', parent: `${CALLER} vendor=1`, failed: false },
    { name: 'POST /v1/signals', parent: null, attributes: { 'http.response.status_code': 201 } },
    { name: 'GET /v1/leads/:id', attributes: { 'http.response.status_code': 401 } },
  ]);
  expect(JSON.stringify(spans)).not.toContain('secret');
  const { data } = (await t.app.inject({ url: '/v1/deliveries', headers: t.auth })).json();
  const traces = await t.store.tracesOf(data.map(({ id }: { id: string }) => id));
  expect(new Set(traces.map(([, trace]) => trace))).toEqual(
    new Set([`${spans[1]?.traceparent} vendor=1`, spans[2]?.traceparent]),
  );
});
