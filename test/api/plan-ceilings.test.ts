import { afterEach, expect, test } from 'vitest';
import type { Plan } from '../../src/model/tenant.ts';
import type { StoredRows } from '../../src/store/account-store.ts';
import { anotherPost, buildWebhookApp, TARGET, type WebhookApp } from '../support/webhooks.ts';

let t: WebhookApp;
afterEach(() => t.app.close());

const open = async (plan: Plan) => {
  t = await buildWebhookApp({ plan });
};

test.each<[string, string, (n: number) => object, number]>([
  ['keys', '/v1/keys', (n) => ({ name: `Key ${n}`, preset: 'read' }), 20],
  ['profiles', '/v1/icps', (n) => ({ name: `Profile ${n}` }), 10],
  ['sources', '/v1/sources', (n) => ({ kind: 'hackernews', name: `Source ${n}`, query: 'crm' }), 10],
])("exceeding the plan's number of %s is rejected with the limit", async (_, path, input, limit) => {
  await open('starter');
  const before = (await t.call('GET', `${path}?limit=100`)).json().data.length;
  let last = '';
  for (let n = before; n < limit; n++) {
    const made = await t.call('POST', path, input(n));
    expect(made.statusCode).toBe(201);
    last = made.json().data.id;
  }
  const refused = await t.call('POST', path, input(limit));
  expect(refused.statusCode).toBe(403);
  expect(refused.json()).toMatchObject({ code: 'PLAN_REQUIRED', limit, required_plan: 'pro' });
  expect(refused.json().detail).toContain(`at most ${limit} `);

  expect((await t.call('DELETE', `${path}/${last}`)).statusCode).toBe(204);
  expect((await t.call('POST', path, input(limit))).statusCode).toBe(201);
});

/** A payload format whose JSON has exactly `bytes` bytes. */
function formatOf(bytes: number) {
  const custom: Record<string, string> = {};
  const size = () => Buffer.byteLength(JSON.stringify({ flatten: false, custom }));
  for (let n = 10; size() < bytes; n++) {
    custom[`k${n}`] = '';
    const room = bytes - size();
    // The remainder must leave room for one more member.
    custom[`k${n}`] = room > 24_600 ? '€'.repeat(8_192) : 'x'.repeat(Math.min(8_000, room));
  }
  expect(size()).toBe(bytes);
  return { flatten: false, custom };
}

test.each([
  ['pro', 16_384, 'enterprise'],
  ['enterprise', 458_752, undefined],
] as const)('a payload format on %s has at most %i bytes', async (plan, limit, requiredPlan) => {
  await open(plan);
  const { id } = await t.addWebhook();
  const fits = { payload_format: formatOf(limit) };
  const tooLarge = { payload_format: formatOf(limit + 1) };
  for (const [method, path] of [
    ['POST', '/v1/webhooks'],
    ['PATCH', `/v1/webhooks/${id}`],
    ['POST', '/v1/webhooks/preview'],
  ] as const) {
    const url = path === '/v1/webhooks' ? { url: TARGET } : {};
    expect((await t.call(method, path, { ...url, ...fits })).statusCode).toBeLessThan(300);
    const refused = await t.call(method, path, { ...url, ...tooLarge });
    expect(refused.statusCode).toBe(403);
    expect(refused.json()).toMatchObject({ code: 'PLAN_REQUIRED', limit });
    expect(refused.json().required_plan).toBe(requiredPlan);
    expect(refused.json().detail).toContain(`at most ${limit} bytes`);
  }
});

test('the payload formats of all endpoints have a limit together, which deleting one of them makes room in', async () => {
  await open('enterprise');
  const { limits } = (await t.call('GET', '/v1/me')).json().data;
  const { payload_format_bytes: most, payload_formats_bytes: limit } = limits;
  expect(limit).toBe(8 * 1_024 * 1_024);
  const { id: small } = await t.addWebhook();
  const large = { url: TARGET, payload_format: formatOf(most) };
  let last = '';
  for (let room = limit; room >= most; room -= most) {
    const made = await t.call('POST', '/v1/webhooks', large);
    expect(made.statusCode).toBe(201);
    last = made.json().data.id;
  }
  for (const [method, path] of [
    ['POST', '/v1/webhooks'],
    ['PATCH', `/v1/webhooks/${small}`],
  ] as const) {
    const refused = await t.call(method, path, large);
    expect(refused.json()).toMatchObject({ status: 403, code: 'PLAN_REQUIRED', limit });
    expect(refused.json().detail).toContain(`at most ${limit} bytes as JSON in all endpoints together`);
    expect(refused.json().hint).toContain('Remove what you no longer need');
  }
  expect((await t.call('PATCH', `/v1/webhooks/${last}`, { payload_format: null })).statusCode).toBe(200);
  expect((await t.call('PATCH', `/v1/webhooks/${small}`, large)).statusCode).toBe(200);
});

test('returns usage next to its limit', async () => {
  await open('starter');
  await t.call('POST', '/v1/signals', anotherPost(1));
  await t.call('POST', '/v1/leads', { email: 'ann@acme.example' });
  const { limits, usage } = (await t.call('GET', '/v1/me')).json().data;
  expect(limits).toMatchObject({ signals: 100_000, leads: 25_000, campaign_events: 500_000 });
  expect(usage).toMatchObject({ signals: 1, leads: 1, campaign_events: 0 });
});

test('at the storage limit of a plan, new rows are rejected with the limit and nothing is stored', async () => {
  let stored: StoredRows = { signals: 0, leads: 0, campaignEvents: 0 };
  t = await buildWebhookApp({
    plan: 'starter',
    wrapStore: (store) => ({ ...store, countStored: async () => stored }),
  });
  const campaign = (await t.call('POST', '/v1/campaigns', { name: 'Spring' })).json().data.id;
  expect((await t.call('POST', '/v1/leads', { email: 'ann@acme.example' })).statusCode).toBe(201);

  stored = { signals: 100_000, leads: 25_000, campaignEvents: 500_000 };
  const sent = {
    event_id: '1',
    type: 'sent',
    occurred_at: '2026-01-01T00:00:00Z',
    email: 'ann@acme.example',
  };
  for (const [path, input, limit] of [
    ['/v1/signals', anotherPost(1), 100_000],
    ['/v1/signals/batch', { signals: [anotherPost(1)] }, 100_000],
    ['/v1/leads', { email: 'bob@acme.example' }, 25_000],
    [`/v1/campaigns/${campaign}/events`, { events: [sent] }, 500_000],
  ] as const) {
    const refused = await t.call('POST', path, input);
    expect(refused.statusCode, path).toBe(403);
    expect(refused.json()).toMatchObject({ code: 'PLAN_REQUIRED', limit, required_plan: 'pro' });
    expect(refused.json().detail).toContain(`at most ${limit.toLocaleString('en')} `);
  }
  expect((await t.call('GET', '/v1/signals')).json().data).toEqual([]);

  // Known people are still merged; in a batch only new ones are rejected.
  const leads = [{ email: 'ann@acme.example', tags: ['vip'] }, { email: 'bob@acme.example' }];
  const { results } = (await t.call('POST', '/v1/leads/batch', { leads })).json().data;
  expect(results).toMatchObject([
    { status: 'merged' },
    { status: 'rejected', errors: [{ detail: expect.stringContaining('25,000 leads') }] },
  ]);
});
