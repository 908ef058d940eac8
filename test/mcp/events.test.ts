import { randomBytes } from 'node:crypto';
import type { Client } from '@modelcontextprotocol/client';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { endSubscriptions } from '../../src/webhooks/subscriptions.ts';
import type { SendTest, TestRequest } from '../../src/webhooks/test-delivery.ts';
import { anOutcome } from '../store/contract/claiming.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { askMcp, connectMcp } from '../support/mcp.ts';

const SECRET = `whsec_${Buffer.alloc(24, 3).toString('base64')}`;
const OTHER_SECRET = `whsec_${Buffer.alloc(64, 4).toString('base64')}`;
const PERSON = { name: 'Ann Example', email: 'ann@acme.com' };
const URL_OF = (n = 1) => `https://127.0.0.1:8443/mcp-events/${n}`;
const HOUR_MS = 3_600_000;

let t: TestApp;
/** Challenges sent so far, and how the receiver responds to them. */
let challenges: TestRequest[];
let answerOf: (body: string) => { status: number; body: string };

const sendTest: SendTest = async (request) => {
  challenges.push(request);
  const { status, body } = answerOf(request.body);
  return {
    kind: 'sent',
    record: {
      ...{ id: 'att_1', attempt: 1, startedAt: 0, durationMs: 1, sent: null, timings: {} },
      response: { status, headers: {}, body },
      error: status < 300 ? null : { code: 'http_status', message: `${status}` },
    },
  };
};

beforeEach(async () => {
  challenges = [];
  answerOf = (body) => ({ status: 200, body: JSON.stringify({ challenge: JSON.parse(body).challenge }) });
  t = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' }, sendTest });
});
afterEach(() => t.app.close());

interface Polled {
  events: { eventId: string; name: string; data: { signal_id: string } }[];
  cursor: string;
  truncated: boolean;
  hasMore: boolean;
}

const call = askMcp<Record<string, never>>;
const connect = () => connectMcp(t.app, t.auth);
const request = (overrides: Record<string, unknown> = {}, delivery: Record<string, unknown> = {}) => ({
  name: 'signal.detected',
  arguments: {},
  delivery: { mode: 'webhook', url: URL_OF(), secret: SECRET, ...delivery },
  ...overrides,
});
const post = (overrides: Record<string, unknown> = {}) =>
  t.app.inject({ method: 'POST', url: '/v1/signals', headers: t.auth, payload: aPost(overrides) });
const deliveries = async () => {
  const filters = { status: null, endpointId: null, eventType: null, eventId: null, from: null, to: null };
  return (await t.store.listDeliveries(t.tenant.id, { ...filters, limit: 50, after: null })).rows;
};

test('both forms of the capability are advertised, and events are listed with their schemas', async () => {
  // The raw JSON: the official client drops unknown members.
  const raw = async (method: string, params: object, headers: Record<string, string> = {}) => {
    const payload = { jsonrpc: '2.0', id: 1, method, params };
    const answer = await t.app.inject({
      ...{ method: 'POST', url: '/mcp', payload },
      headers: { ...t.auth, accept: 'application/json', ...headers },
    });
    return answer.json().result.capabilities;
  };
  const clientInfo = { name: 'test', version: '1' };
  const meta = (name: string) => `io.modelcontextprotocol/${name}`;
  const old = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const _meta = {
    [meta('protocolVersion')]: '2026-07-28',
    [meta('clientCapabilities')]: {},
    [meta('clientInfo')]: clientInfo,
  };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' };
  for (const capabilities of [
    await raw('initialize', old),
    await raw('server/discover', { _meta }, headers),
  ]) {
    expect(capabilities).toMatchObject({ tools: {}, events: {}, extensions: { [meta('events')]: {} } });
  }
  const client = await connect();
  const { events } = (await call(client, 'events/list')) as unknown as {
    events: { name: string; delivery: string[]; inputSchema: object; payloadSchema: object }[];
  };
  expect(events.map(({ name }) => name)).toEqual([
    'signal.detected',
    'signal.new_hot',
    'lead.created',
    'pipeline.stage_changed',
    'digest.ready',
  ]);
  for (const { delivery, inputSchema, payloadSchema } of events) {
    expect(delivery).toEqual(['webhook', 'poll']);
    expect(inputSchema).toMatchObject({ type: 'object' });
    expect(payloadSchema).toMatchObject({ type: 'object' });
  }
});

describe('subscribing', () => {
  test('sends a challenge; a matching event is then delivered as in SEP-3415, with its own ID', async () => {
    const client = await connect();
    const made = await call(client, 'events/subscribe', request({ arguments: { min_score: 10 } }));
    expect(made).toMatchObject({
      id: expect.stringMatching(/^sub_[0-9a-f]{32}$/),
      cursor: null,
      truncated: false,
    });
    expect(Date.parse(made.refreshBefore ?? '')).toBe(t.clock.now() + HOUR_MS);
    expect(challenges).toHaveLength(1);
    expect(JSON.parse(challenges[0]?.body ?? '')).toEqual({
      type: 'verification',
      challenge: expect.any(String),
    });
    await post();
    const [delivery] = await deliveries();
    const log = await t.store.getDelivery(t.tenant.id, delivery?.id ?? '');
    const body = JSON.parse(log?.body ?? '');
    expect(Object.keys(body)).toEqual(['eventId', 'name', 'timestamp', 'data', 'cursor']);
    expect(body).toMatchObject({ eventId: delivery?.eventId, name: 'signal.detected', cursor: null });
    expect(body.data).toMatchObject({ signal_id: delivery?.subjectId, classification: expect.any(String) });
    expect(log?.body).not.toContain('"signature"');
  });

  test('an account causes at most sixty challenges per minute, to any URL', async () => {
    const client = await connect();
    const first = challenges.length;
    const outcomes: string[] = [];
    for (let n = 0; n < 65; n++) {
      const url = `https://receiver-${n}.example/hook`;
      const outcome = await call(client, 'events/subscribe', request({}, { url })).then(
        () => 'made',
        (error: Error) => error.message,
      );
      outcomes.push(outcome);
      if (outcome !== 'made') continue;
      const { name, arguments: args } = request();
      await call(client, 'events/unsubscribe', { name, arguments: args, delivery: { url } });
    }
    expect(challenges.length - first).toBeLessThanOrEqual(60);
    expect(outcomes.at(-1)).toContain('challenged too often');
    t.clock.advance(60_000);
    expect(await call(client, 'events/subscribe', request())).toMatchObject({ id: expect.any(String) });
  });

  test('again renews the same subscription without a challenge; a new secret is challenged', async () => {
    const client = await connect();
    const first = await call(client, 'events/subscribe', request({ arguments: { min_score: 1 } }));
    t.clock.advance(60_000);
    const again = await call(
      client,
      'events/subscribe',
      request({ arguments: { min_score: 1 }, ttlMs: 120_000 }),
    );
    expect(again).toMatchObject({ id: first.id, deliveryStatus: { active: true } });
    expect(Date.parse(again.refreshBefore ?? '')).toBe(t.clock.now() + 120_000);
    expect(challenges).toHaveLength(1);
    const args = request({ arguments: { min_score: 1 } }, { secret: OTHER_SECRET });
    expect(await call(client, 'events/subscribe', args)).toMatchObject({ id: first.id });
    expect(challenges).toHaveLength(2);
    await post();
    expect(await deliveries()).toHaveLength(1);
  });

  test.each([
    [{ ttlMs: 1 }, 60_000],
    [{ ttlMs: 30 * 24 * HOUR_MS }, 7 * 24 * HOUR_MS],
    [{ ttlMs: null }, 7 * 24 * HOUR_MS],
  ])('%o lasts %d ms', async (asked, lasts) => {
    const made = await call(await connect(), 'events/subscribe', request(asked));
    expect(Date.parse(made.refreshBefore ?? '')).toBe(t.clock.now() + lasts);
  });

  test.each<[string, object, object, number]>([
    ['an event that there is not', { name: 'no.such' }, {}, -32_011],
    ['arguments that there are not', { arguments: { colour: 'red' } }, {}, -32_602],
    ['a profile of nobody', { arguments: { icp_profile_id: 'icp_none' } }, {}, -32_602],
    ['a mode that is not served', {}, { mode: 'push' }, -32_014],
    ['a secret that is too short', {}, { secret: 'whsec_c2hvcnQ=' }, -32_602],
    ['a secret of another form', {}, { secret: randomBytes(32).toString('hex') }, -32_602],
    ['a private address', {}, { url: 'https://10.0.0.1/' }, -32_602],
    ['plain http to a public address', {}, { url: 'http://example.com/' }, -32_602],
    ['a mode of no text', {}, { mode: 7 }, -32_602],
  ])('refuses %s, and nothing is stored', async (_, overrides, delivery, code) => {
    const args = request(overrides as Record<string, unknown>, delivery as Record<string, unknown>);
    await expect(call(await connect(), 'events/subscribe', args)).rejects.toMatchObject({ code });
    expect(challenges).toEqual([]);
    await post();
    expect(await deliveries()).toEqual([]);
  });

  test.each([
    ['another challenge', { status: 200, body: '{"challenge":"x"}' }, 'challenge_failed'],
    ['no JSON', { status: 200, body: 'ok' }, 'challenge_failed'],
    ['an error', { status: 500, body: '' }, 'http_5xx'],
    ['a refusal', { status: 404, body: '' }, 'http_4xx'],
  ])('of a receiver that answers with %s fails, and nothing is stored', async (_, answer, reason) => {
    answerOf = () => answer;
    await expect(call(await connect(), 'events/subscribe', request())).rejects.toMatchObject({
      code: -32_015,
      data: { reason },
    });
    await post();
    expect(await deliveries()).toEqual([]);
  });

  test('is limited to 20 subscriptions per key', async () => {
    const client = await connect();
    for (let n = 0; n < 20; n++) await call(client, 'events/subscribe', request({}, { url: URL_OF(n) }));
    await expect(call(client, 'events/subscribe', request({}, { url: URL_OF(20) }))).rejects.toMatchObject({
      code: -32_013,
    });
    expect(await call(client, 'events/subscribe', request({}, { url: URL_OF(3) }))).toMatchObject({
      cursor: null,
    });
  });
});

describe('the end of a subscription', () => {
  /** Resolves once the others see its end, which does not wait for them. */
  const sweep = () => endSubscriptions(t);
  const isDelivered = async () => {
    const before = (await deliveries()).length;
    await post({ platform: { name: 'reddit', post_url: `https://reddit.com/${Math.random()}` } });
    return (await deliveries()).length > before;
  };

  test('is requested by unsubscribing; doing so again is not an error', async () => {
    const client = await connect();
    await call(client, 'events/subscribe', request());
    const { name, arguments: args } = request();
    for (let n = 0; n < 2; n++) {
      await call(client, 'events/unsubscribe', { name, arguments: args, delivery: { url: URL_OF() } });
    }
    expect(await isDelivered()).toBe(false);
    await call(client, 'events/subscribe', request());
    expect(challenges).toHaveLength(2);
    expect(await isDelivered()).toBe(true);
  });

  test('follows when it expires', async () => {
    await call(await connect(), 'events/subscribe', request({ ttlMs: 60_000 }));
    t.clock.advance(59_000);
    await sweep();
    expect(await isDelivered()).toBe(true);
    t.clock.advance(1_000);
    expect(await isDelivered()).toBe(false);
    await sweep();
    expect(await isDelivered()).toBe(false);
  });

  test('is final: subscribing again creates a new subscription, which is challenged', async () => {
    const client = await connect();
    await call(client, 'events/subscribe', request({ ttlMs: 60_000 }));
    t.clock.advance(60_000);
    expect(await call(client, 'events/subscribe', request())).not.toHaveProperty('deliveryStatus');
    expect(challenges).toHaveLength(2);

    expect(await isDelivered()).toBe(true);
    const [{ id = '', endpointId = '' } = {}] = await deliveries();
    const next = { status: 'discarded' } as const;
    await t.store.recordOutcome(anOutcome({ deliveryId: id, endpointId, next, streak: 'add', gone: true }));
    expect(await isDelivered()).toBe(false);
    expect(await call(client, 'events/subscribe', request())).not.toHaveProperty('deliveryStatus');
    expect(challenges).toHaveLength(3);
    expect(await isDelivered()).toBe(true);
  });

  test('follows with that of its key, and no other', async () => {
    const key = await t.addKey({ scopes: ['signals:read'] });
    await call(await connectMcp(t.app, key.auth), 'events/subscribe', request());
    await call(await connect(), 'events/subscribe', request({}, { url: URL_OF(2) }));
    await t.store.revokeKey(key.id, t.clock.now());
    await post();
    expect(await deliveries()).toHaveLength(1);
    await sweep();
    await post({ platform: { name: 'reddit', post_url: 'https://reddit.com/2' } });
    expect(await deliveries()).toHaveLength(2);
  });
});

test('a key that loses the scope of an event no longer receives it', async () => {
  const key = await t.addKey({ scopes: ['signals:read', 'leads:write'] });
  const client = await connectMcp(t.app, key.auth);
  await call(client, 'events/subscribe', request());
  await call(client, 'events/subscribe', request({ name: 'lead.created' }, { url: URL_OF(2) }));
  const change = { method: 'PATCH', url: `/v1/keys/${key.id}`, headers: t.auth } as const;
  await t.app.inject({ ...change, payload: { scopes: ['signals:write', 'leads:read'] } });
  await post();
  expect(await deliveries()).toHaveLength(1);
  await t.app.inject({ ...change, payload: { scopes: ['leads:read'] } });
  await post({ platform: { name: 'reddit', post_url: 'https://reddit.com/2' } });
  await t.app.inject({
    method: 'POST',
    url: '/v1/leads',
    headers: t.auth,
    payload: { email: 'jo@acme.com' },
  });
  const types = (await deliveries()).map(({ eventType }) => eventType);
  expect(types.sort()).toEqual(['lead.created', 'signal.detected']);
});

test('without the scope, an event looks unknown, and a key cannot end the subscription of another key', async () => {
  const { auth } = await t.addKey({ scopes: ['leads:read'] });
  const other = await connectMcp(t.app, auth);
  const { events } = (await call(other, 'events/list')) as unknown as { events: { name: string }[] };
  expect(events.map(({ name }) => name)).toEqual(['lead.created']);
  await expect(call(other, 'events/subscribe', request())).rejects.toMatchObject({ code: -32_011 });
  const { id } = await call(await connect(), 'events/subscribe', request());
  await call(other, 'events/unsubscribe', { id });
  await post();
  expect(await deliveries()).toHaveLength(1);
});

test("a tenant's subscriptions receive nothing of another tenant, and do not count as its endpoints", async () => {
  await call(await connect(), 'events/subscribe', request());
  const other = await t.addTenant();
  await t.app.inject({ method: 'POST', url: '/v1/signals', headers: other.auth, payload: aPost() });
  expect(await deliveries()).toEqual([]);
  const webhooks = await t.app.inject({ url: '/v1/webhooks', headers: t.auth });
  expect(webhooks.json().data).toEqual([]);
  const me = await t.app.inject({ url: '/v1/me', headers: t.auth });
  expect(me.json().data.usage.webhook_endpoints).toBe(0);
  await post();
  const events = await t.app.inject({ url: '/v1/events', headers: t.auth });
  expect(events.statusCode).toBe(200);
});

test('lead.created is sent once per lead, enriched or not', async () => {
  const client = await connect();
  await call(client, 'events/subscribe', request({ name: 'lead.created' }));
  const polled = () => call(client, 'events/poll', { name: 'lead.created', cursor });
  const { cursor } = await call(client, 'events/poll', { name: 'lead.created' });
  const lead = { method: 'POST', url: '/v1/leads', headers: t.auth } as const;
  await t.app.inject({ ...lead, payload: { email: 'jo@acme.com' } });
  await t.app.inject({ ...lead, payload: { email: 'jo@acme.com', title: 'CEO' } });
  await t.app.inject({ ...lead, payload: { email: 'bo@acme.com', enrich: false } });
  expect(await deliveries()).toHaveLength(2);
  expect(await polled()).toMatchObject({
    events: [
      { data: { current: { email: 'jo@acme.com' } } },
      { data: { current: { email: 'bo@acme.com' } } },
    ],
  });
});

test("events of leads are filtered by the lead's signals, delivered or polled", async () => {
  const [signal] = (await post()).json().data.signals;
  const { icp_profile_id, icp_score } = signal;
  const profile = { name: 'Other', phrases: ['zebra crossing'] };
  const made = await t.app.inject({ method: 'POST', url: '/v1/icps', headers: t.auth, payload: profile });
  const client = await connect();
  const fitting = { icp_profile_id, min_score: icp_score };
  const polls: { name: string; arguments: object; cursor: unknown }[] = [];
  const filters = [fitting, { min_score: icp_score + 1 }, { icp_profile_id: made.json().data.id }];
  for (const [n, args] of filters.entries()) {
    for (const name of ['lead.created', 'pipeline.stage_changed']) {
      await call(client, 'events/subscribe', request({ name, arguments: args }, { url: URL_OF(n) }));
      const { cursor } = await call(client, 'events/poll', { name, arguments: args });
      polls.push({ name, arguments: args, cursor });
    }
  }
  const payload = { signal_ids: [signal.signal_id] };
  const lead = await t.app.inject({ method: 'POST', url: '/v1/leads', headers: t.auth, payload });
  const stage = { method: 'PUT', url: `/v1/pipeline/${lead.json().data.id}/stage`, headers: t.auth } as const;
  await t.app.inject({ ...stage, payload: { stage: 'contacted' } });
  expect((await deliveries()).map(({ eventType }) => eventType).sort()).toEqual([
    'lead.created',
    'pipeline.stage_changed',
  ]);
  const polled = polls.map(
    async (params) => (await call(client, 'events/poll', params)) as unknown as Polled,
  );
  expect((await Promise.all(polled)).map(({ events }) => events.length)).toEqual([1, 1, 0, 0, 0, 0]);
});

describe('polling', () => {
  const poll = async (client: Client, params: Record<string, unknown> = {}) =>
    (await call(client, 'events/poll', { name: 'signal.detected', ...params })) as unknown as Polled;

  test('starts now, and continues with events stored since, with the IDs of deliveries', async () => {
    const client = await connect();
    await post();
    const { cursor, events, truncated } = await poll(client);
    expect({ events, truncated }).toEqual({ events: [], truncated: false });
    await call(client, 'events/subscribe', request());
    await post({
      platform: { name: 'reddit', post_url: 'https://reddit.com/2' },
      text: 'Need a CRM, budget approved, any recommendations?',
    });
    const next = await poll(client, { cursor });
    expect(next.events.map(({ eventId }) => eventId)).toEqual(
      (await deliveries()).map(({ eventId }) => eventId),
    );
    expect((await poll(client, { cursor: next.cursor })).events).toEqual([]);
  });

  test('returns events that match the arguments, and reports skipped ones', async () => {
    const client = await connect();
    const none = await poll(client, { arguments: { min_score: 100 } });
    const all = await poll(client);
    await post();
    expect((await poll(client, { arguments: { min_score: 100 }, cursor: none.cursor })).events).toEqual([]);
    expect((await poll(client, { cursor: all.cursor })).events).toHaveLength(1);
    await expect(poll(client, { cursor: none.cursor })).rejects.toMatchObject({ code: -32_602 });
    t.clock.advance(8 * 24 * HOUR_MS);
    expect(await poll(client, { cursor: all.cursor })).toMatchObject({ events: [], truncated: true });
  });

  test('skips all events of erased people and deleted signals, and so does a feed', async () => {
    const client = await connect();
    const names = ['signal.detected', 'signal.new_hot', 'lead.created', 'pipeline.stage_changed'];
    const event_types = ['signal.detected', 'signal.new_hot', 'lead.enriched', 'pipeline.stage_changed'];
    const send = async (method: 'DELETE' | 'POST' | 'PUT' | 'GET', url: string, payload?: object) => {
      const answer = await t.app.inject({ method, url, headers: t.auth, ...(payload && { payload }) });
      expect(answer.statusCode, answer.body).toBeLessThan(300);
      return answer.body === '' ? null : answer.json().data;
    };
    const feed = await send('POST', '/v1/webhooks', { mode: 'pull', event_types });
    const begun = await Promise.all(names.map((name) => poll(client, { name })));
    const seen = async () => {
      const pages = await Promise.all(
        names.map((name, n) => poll(client, { name, cursor: begun[n]?.cursor })),
      );
      return pages.map(({ events }) => events.length);
    };
    const hot = 'Need a CRM, budget approved, we buy this week. Any recommendations?';
    const [{ signal_id: first }] = (await send('POST', '/v1/signals', aPost({ text: hot, prospect: PERSON })))
      .signals;
    const lead = await send('POST', '/v1/leads', { signal_ids: [first] });
    await send('PUT', `/v1/pipeline/${lead.id}/stage`, { stage: 'contacted' });
    const other = aPost({
      text: `${hot} Now.`,
      platform: { name: 'reddit', post_url: 'https://reddit.com/3' },
    });
    const [{ signal_id: second }] = (await send('POST', '/v1/signals', other)).signals;
    expect(await seen()).toEqual([2, 2, 1, 1]);

    await send('DELETE', `/v1/leads/${lead.id}`);
    expect(await seen()).toEqual([1, 1, 0, 0]);
    await send('DELETE', `/v1/signals/${second}`);
    expect(await seen()).toEqual([0, 0, 0, 0]);
    expect(await send('GET', `/v1/webhooks/${feed.id}/feed`)).toEqual([]);
  });
});

test('the error codes of SEP-3415 are configurable', async () => {
  const own = await buildTestApp({ env: { MCP_EVENT_ERRORS: 'sep-3415' } });
  const client = await connectMcp(own.app, own.auth);
  await expect(call(client, 'events/subscribe', request({ name: 'no.such' }))).rejects.toMatchObject({
    code: -32_023,
  });
  await own.app.close();
});

test('signatures for subscriptions verify with the Standard Webhooks library', async () => {
  const { createStandardSigner } = await import('../../src/webhooks/signature.ts');
  const { toBodyBytes } = await import('../../src/model/delivery.ts');
  const body = '{"eventId":"evt_1","name":"signal.detected","data":{},"cursor":null}';
  const now = Math.floor(Date.now() / 1_000);
  const signer = createStandardSigner(OTHER_SECRET, { secret: SECRET, untilMs: (now + 60) * 1_000 });
  const sealed = signer.seal({ id: 'dlv_1', ...toBodyBytes(body) }, now);
  expect(sealed.body.toString()).toBe(body);
  expect(sealed.webhookId).toBe('evt_1');
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(now),
    'webhook-signature': sealed.standardSignature,
  };
  for (const secret of [SECRET, OTHER_SECRET]) {
    expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
  }
});
