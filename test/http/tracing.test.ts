import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { ApiDeps } from '../../src/api/routes.ts';
import { routesOf } from '../../src/api/routes.ts';
import { addTracing } from '../../src/http/request-log.ts';
import { aPost, buildTestApp } from '../support/app.ts';
import { createRecordingTracer } from '../support/tracer.ts';

const CALLER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const aPostAt = (place: string) =>
  aPost({
    platform: { name: 'forum', post_url: `https://forum.example/${place}` },
    text: `Who knows ${place}?`,
  });

test("a request is a span of the caller's trace, and its effects continue the trace", async () => {
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

test('effects of PUT and PATCH continue the trace of the request', async () => {
  const { tracer, spans } = createRecordingTracer();
  const t = await buildTestApp({ tracer, env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
  onTestFinished(() => t.app.close());
  async function send(method: 'POST' | 'PUT' | 'PATCH', url: string, payload: object) {
    const answer = await t.app.inject({ method, url, payload, headers: t.auth });
    expect(answer.statusCode, answer.body).toBeLessThan(300);
    return { ...answer.json().data, trace: spans.at(-1)?.traceparent };
  }
  const types = ['pipeline.stage_changed', 'deal.changed', 'campaign.status_changed'];
  await send('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/', event_types: types });
  const lead = await send('POST', '/v1/leads', { email: 'ann@example.com' });
  const campaign = await send('POST', '/v1/campaigns', { name: 'Autumn' });
  const deal = { amount_minor: 100, currency: 'EUR', status: 'open', close_date: null };

  const moved = await send('PUT', `/v1/pipeline/${lead.id}/stage`, { stage: 'contacted' });
  const valued = await send('PUT', `/v1/pipeline/${lead.id}/deal`, deal);
  const started = await send('PATCH', `/v1/campaigns/${campaign.id}`, { status: 'active' });

  const { data } = (await t.app.inject({ url: '/v1/deliveries', headers: t.auth })).json();
  expect(data.map(({ event }: { event: string }) => event).toSorted()).toEqual(types.toSorted());
  const traces = await t.store.tracesOf(data.map(({ id }: { id: string }) => id));
  expect(new Set(traces.map(([, trace]) => trace))).toEqual(
    new Set([moved.trace, valued.trace, started.trace]),
  );
});

test('a handler of /v1 gets dependencies that carry its own trace, for every method', async () => {
  const { tracer, spans } = createRecordingTracer();
  const app = Fastify();
  onTestFinished(() => app.close());
  addTracing(app, tracer);
  app.decorateRequest('idempotency', null);
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  const seen: unknown[] = [];
  const routes = routesOf(app, { trace: null } as unknown as ApiDeps, 'Account');
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
  for (const method of methods) {
    routes.add(`${method} /thing`, {
      operationId: method,
      summary: method,
      scope: 'none',
      response: { 200: z.unknown() },
      answer: ({ deps, depsOf }) => {
        seen.push(deps.trace, depsOf('1').trace);
        return {};
      },
    });
  }
  for (const method of methods) await app.inject({ method, url: '/thing' });
  expect(seen).toEqual(spans.flatMap(({ traceparent }) => [traceparent, traceparent]));
});
