import { afterEach, beforeEach, expect, test } from 'vitest';
import type { z } from 'zod';
import { eventResourceSchema } from '../../src/model/event-resource.ts';
import { webhookInputSchema } from '../../src/model/webhook.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { anEndpoint } from '../support/store.ts';

const DAY_MS = 24 * 3_600_000;

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
});
afterEach(() => t.app.close());

async function call(method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object) {
  const answer = await t.app.inject({ method, url, headers: t.auth, ...(payload ? { payload } : {}) });
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: answer.body === '' ? null : answer.json(),
  };
}

async function addEndpoint(settings: object = {}): Promise<string> {
  t.clock.advance(1);
  const { body } = await call('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/hook', ...settings });
  t.clock.advance(1);
  return body.data.id;
}

async function observe(text = aPost().text) {
  t.clock.advance(1_000);
  const { body } = await call('POST', '/v1/signals', aPost({ text, platform: { name: 'reddit' } }));
  return body.data.signals[0];
}

async function events(query = '') {
  const { body } = await call('GET', `/v1/events${query}`);
  return body.data.map((event: unknown) => eventResourceSchema.parse(event));
}

type Shown = z.infer<typeof eventResourceSchema>;

/** Events with the same timestamp are in no particular order. */
async function hotAndDetected(): Promise<{ hot: Shown; detected: Shown }> {
  const all: Shown[] = await events();
  const hot = all.find((event) => event.type === 'signal.new_hot');
  const detected = all.find((event) => event.type === 'signal.detected');
  if (hot === undefined || detected === undefined) throw new Error('an event is missing');
  return { hot, detected };
}

test('each event shows per endpoint whether it was delivered, and if not, why', async () => {
  const all = await addEndpoint({ event_types: ['signal.detected', 'signal.new_hot'] });
  const picky = await addEndpoint({ classifications: ['cold'] });
  const paused = await addEndpoint();
  await call('POST', `/v1/webhooks/${paused}/pause`);
  const signal = await observe();
  const later = await addEndpoint();

  const { hot, detected } = await hotAndDetected();
  expect(detected).toMatchObject({
    type: 'signal.detected',
    timestamp: signal.timestamp,
    subject_id: signal.signal_id,
    data: { signal_id: signal.signal_id },
  });
  const outcome = (event: { deliveries: { endpoint_id: string }[] }, id: string) =>
    event.deliveries.find((delivery) => delivery.endpoint_id === id);
  expect(outcome(detected, all)).toEqual({
    endpoint_id: all,
    delivery_id: expect.stringMatching(/^dlv_/),
    status: 'pending',
    reason: 'first_attempt_due',
  });
  const skipped = { delivery_id: null, status: 'skipped' };
  expect(outcome(detected, picky)).toEqual({ endpoint_id: picky, ...skipped, reason: 'classification' });
  expect(outcome(detected, paused)).toMatchObject({ status: 'held', reason: 'endpoint_paused' });
  expect(outcome(detected, later)).toEqual({
    endpoint_id: later,
    ...skipped,
    reason: 'endpoint_created_later',
  });
  expect(hot).toMatchObject({ type: 'signal.new_hot', data: { lead_name: '', score: 'hot' } });
  expect(outcome(hot, all)).toMatchObject({ status: 'pending' });
  expect(outcome(hot, picky)).toEqual({ endpoint_id: picky, ...skipped, reason: 'event_type' });
});

test('pending deliveries of a deleted endpoint are shown as discarded, and skipped ones stay', async () => {
  const id = await addEndpoint();
  await observe();
  await call('DELETE', `/v1/webhooks/${id}`);
  const { hot, detected } = await hotAndDetected();
  expect(detected.deliveries).toMatchObject([
    { endpoint_id: id, status: 'discarded', reason: 'endpoint_deleted' },
  ]);
  expect(hot.deliveries).toMatchObject([{ endpoint_id: id, status: 'skipped', reason: 'event_type' }]);
});

test('of more than a hundred endpoints that an event skips, the reason is stored once for all', async () => {
  const picky = await addEndpoint({ classifications: ['cold'] });
  const settings = webhookInputSchema.parse({
    url: 'https://receiver.example/',
    event_types: ['signal.new_hot'],
  });
  const others: string[] = [];
  for (let n = 0; n < 101; n++) {
    const endpoint = anEndpoint(t.tenant.id, { settings, createdAt: t.clock.now() });
    await t.store.createEndpoint(endpoint, null);
    others.push(endpoint.id);
  }
  await observe();
  const late = anEndpoint(t.tenant.id, { createdAt: t.clock.now() + 1 });
  await t.store.createEndpoint(late, null);
  const { hot, detected } = await hotAndDetected();
  const about = await t.store.listEventsAbout(t.tenant.id, detected.subject_id, 2);
  const stored = about.find(({ type }) => type === 'signal.detected');
  expect(stored?.skips).toEqual([
    { endpointId: '*', reason: 'event_type' },
    { endpointId: picky, reason: 'classification' },
  ]);
  const reasons = (event: Shown) =>
    Object.fromEntries(event.deliveries.map(({ endpoint_id, reason }) => [endpoint_id, reason]));
  expect(reasons(detected)).toEqual({
    ...Object.fromEntries(others.map((id) => [id, 'event_type'])),
    [picky]: 'classification',
    [late.id]: 'endpoint_created_later',
  });
  expect(reasons(hot)).toMatchObject({ [picky]: 'event_type', [late.id]: 'endpoint_created_later' });
  t.clock.advance(31 * DAY_MS);
  const [old] = await events('?type=signal.detected');
  expect(new Set(others.map((id) => reasons(old)[id]))).toEqual(new Set(['log_removed']));
});

test('the outcome of an event older than the logs is unknown', async () => {
  await observe();
  await addEndpoint();
  t.clock.advance(31 * DAY_MS);
  const [event] = await events();
  expect(event.deliveries).toMatchObject([{ status: 'skipped', reason: 'log_removed' }]);
});

test('events are filtered by type and time', async () => {
  const first = await observe();
  const second = await observe('Nice weather today.');
  const types = async (query: string) => (await events(query)).map((event: { type: string }) => event.type);
  expect(await types('')).toHaveLength(3);
  expect(await types('?type=signal.new_hot')).toEqual(['signal.new_hot']);
  expect(await types('?type=signal.new_hot,signal.detected')).toHaveLength(3);
  expect(await types('?type=deal.changed&type=digest.ready')).toEqual([]);
  expect(await types(`?from=${second.timestamp}`)).toEqual(['signal.detected']);
  expect(await types(`?to=${second.timestamp}&type=signal.detected`)).toEqual(['signal.detected']);
  expect(await types(`?to=${first.timestamp}`)).toEqual([]);
});

test('pages are bound to their filters and tenant', async () => {
  for (let i = 0; i < 3; i++) await observe(`Post ${i}`);
  const first = await call('GET', '/v1/events?limit=2');
  expect(first.body.pagination).toMatchObject({ has_more: true, limit: 2 });
  expect(first.headers.link).toContain('rel="next"');
  const cursor = `cursor=${first.body.pagination.next_cursor}`;
  await observe('Post 4');
  const second = await call('GET', `/v1/events?limit=2&${cursor}`);
  expect(second.body.pagination).toEqual({ next_cursor: null, has_more: false, limit: 2 });
  const seen = [...first.body.data, ...second.body.data].map((event: { id: string }) => event.id);
  expect(new Set(seen).size).toBe(3);
  expect((await call('GET', `/v1/events?type=signal.detected&${cursor}`)).body.code).toBe('INVALID_CURSOR');
  const { auth } = await t.addTenant();
  const foreign = await t.app.inject({ url: `/v1/events?limit=2&${cursor}`, headers: auth });
  expect(foreign.json().code).toBe('INVALID_CURSOR');
});

test.each([
  ['type=signal.lost', 'type'],
  ['from=yesterday', 'from'],
  ['limit=0', 'limit'],
  ['typ=signal.detected', 'typ'],
])('?%s is rejected', async (query, parameter) => {
  const { status, body } = await call('GET', `/v1/events?${query}`);
  expect([status, body.errors[0].parameter]).toEqual([400, parameter]);
});

test('with thousands of endpoints a page has fewer events, and the next one continues', async () => {
  const settings = webhookInputSchema.parse({
    url: 'http://127.0.0.1:9/hook',
    event_types: ['digest.ready'],
  });
  for (let n = 0; n < 1_001; n++) await t.store.createEndpoint(anEndpoint(t.tenant.id, { settings }), null);
  for (let n = 0; n < 12; n++) await observe(`Looking for a CRM, the ${n + 1}th time this week.`);
  for (const order of ['', '&order=stored']) {
    const ids: string[] = [];
    const sizes: number[] = [];
    for (let cursor = ''; sizes.length < 5; ) {
      const { body } = await call('GET', `/v1/events?type=signal.detected&limit=100${order}${cursor}`);
      for (const { id, deliveries } of body.data) {
        ids.push(id);
        expect(deliveries).toHaveLength(1_000);
      }
      sizes.push(body.data.length);
      cursor = `&cursor=${body.pagination.next_cursor}`;
      if (!body.pagination.has_more) break;
    }
    expect(sizes).toEqual([10, 2]);
    expect(new Set(ids).size).toBe(12);
  }
});

test("reading events requires webhooks:read and is limited to one's own tenant", async () => {
  await observe();
  const { auth: reader } = await t.addKey({ scopes: ['webhooks:read'] });
  const { auth: none } = await t.addKey({ scopes: ['signals:write'] });
  const { auth: other } = await t.addTenant();
  const get = (headers: Record<string, string>) => t.app.inject({ url: '/v1/events', headers });
  expect((await get(reader)).statusCode).toBe(200);
  expect((await get(none)).json()).toMatchObject({
    code: 'INSUFFICIENT_SCOPE',
    required_scope: 'webhooks:read',
  });
  expect((await get(other)).json().data).toEqual([]);
});
