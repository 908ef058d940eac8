import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type WebhookInput, webhookInputSchema } from '../../src/model/webhook.ts';
import { claim } from '../store/contract/claiming.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { bodyText } from '../support/body-text.ts';
import { aLead, aNewLead } from '../support/leads.ts';
import { anEndpoint } from '../support/store.ts';

let t: TestApp;
let campaignId: string;
beforeEach(async () => {
  t = await buildTestApp();
  campaignId = await newCampaign();
});
afterEach(() => t.app.close());

async function newCampaign(): Promise<string> {
  const answer = await t.app.inject({
    method: 'POST',
    url: '/v1/campaigns',
    headers: t.auth,
    payload: { name: 'Spring', status: 'active' },
  });
  return answer.json().data.id;
}

function record(events: unknown, headers = t.auth, id = campaignId) {
  const payload = { events };
  return t.app.inject({ method: 'POST', url: `/v1/campaigns/${id}/events`, headers, payload });
}

let lastId = 0;
function anEvent(overrides: Record<string, unknown> = {}) {
  return {
    event_id: `e${++lastId}`,
    type: 'sent',
    occurred_at: '2026-01-01T00:00:00Z',
    email: 'ann@acme.com',
    ...overrides,
  };
}

async function countOf(type: string) {
  const answer = await t.app.inject({ url: `/v1/campaigns/${campaignId}/stats`, headers: t.auth });
  return answer.json().data.counts[type];
}

/** Adds an endpoint for `eventTypes` and returns a reader of what it was sent so far. */
async function subscribe(eventTypes: WebhookInput['event_types']) {
  const endpoint = anEndpoint(t.tenant.id, {
    settings: webhookInputSchema.parse({ url: 'https://r.example.com/', event_types: eventTypes }),
  });
  await t.store.createEndpoint(endpoint, null);
  return async () => {
    const { deliveries } = await claim(t.store, endpoint.id, { limit: 100 });
    return deliveries.map((delivery) => JSON.parse(bodyText(delivery)));
  };
}

test('each event gets its own result, and an invalid one does not affect the others', async () => {
  const again = anEvent();
  const answer = await record([
    again,
    anEvent({ typ: 'sent' }),
    'not an event',
    { ...again, type: 'bounced' },
    anEvent({ type: 'opened', step: 2 }),
    anEvent({ event_id: 'a\0b' }),
  ]);
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toEqual({
    data: {
      results: [
        { index: 0, status: 'created', errors: [] },
        {
          index: 1,
          status: 'rejected',
          errors: [{ pointer: '/events/1/typ', detail: expect.stringContaining('"type"') }],
        },
        { index: 2, status: 'rejected', errors: [{ pointer: '/events/2', detail: expect.any(String) }] },
        { index: 3, status: 'duplicate', errors: [] },
        { index: 4, status: 'created', errors: [] },
        {
          index: 5,
          status: 'rejected',
          errors: [{ pointer: '/events/5/event_id', detail: expect.any(String) }],
        },
      ],
      created: 2,
      duplicates: 1,
      rejected: 3,
    },
  });
  expect(await countOf('sent')).toEqual({ total: 1, unique: 1 });
  expect(await countOf('bounced')).toEqual({ total: 0, unique: 0 });
});

test.each<[string, Record<string, unknown>, string, string]>([
  ['an unknown type', { type: 'read' }, '/type', 'must be one of "sent"'],
  ['no type', { type: undefined }, '/type', 'is required'],
  ['no id', { event_id: undefined }, '/event_id', 'is required'],
  ['an empty id', { event_id: '' }, '/event_id', 'at least 1 character'],
  ['a time without zone', { occurred_at: '2026-01-01T00:00:00' }, '/occurred_at', 'RFC 3339'],
  [
    'a time out of bounds',
    { occurred_at: '3000-01-01T00:00:00Z' },
    '/occurred_at',
    'between the years 1970 and 2999',
  ],
  ['nobody', { email: undefined }, '/email', '"email" or "lead_id" is required'],
  ['no address', { email: 'ann' }, '/email', 'email address'],
  ['half a step', { step: 1.5 }, '/step', 'whole number'],
  [
    'an unknown class',
    { type: 'replied', reply_class: 'yes' },
    '/reply_class',
    'must be one of "interested"',
  ],
  ['a class on what is no reply', { reply_class: 'interested' }, '/reply_class', '"replied"'],
  ['a machine that sends', { auto: true }, '/auto', '"replied"'],
  ['an unknown lead', { lead_id: 'led_none' }, '/lead_id', 'no lead "led_none"'],
])('%s is rejected with its pointer', async (_, fault, place, detail) => {
  const { results, rejected } = (await record([anEvent(fault)])).json().data;
  expect(rejected).toBe(1);
  expect(results[0].errors).toEqual([
    { pointer: `/events/0${place}`, detail: expect.stringContaining(detail) },
  ]);
});

test('null members count as omitted', async () => {
  const event = anEvent({ lead_id: null, step: null, reply_class: null, auto: null });
  expect((await record([event])).json().data.created).toBe(1);
});

test.each<[string, unknown]>([
  ['no list', undefined],
  ['an empty list', []],
  ['more than 1000', Array.from({ length: 1_001 }, () => anEvent())],
])('a body with %s is rejected as a whole', async (_, events) => {
  const answer = await record(events);
  expect(answer.statusCode).toBe(400);
  expect(answer.json()).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ pointer: '/events' }] });
});

test('a batch may be up to 5 MiB', async () => {
  const padded = (bytes: number) => record([anEvent({ event_id: 'x'.repeat(bytes) })]);
  expect((await padded(4.9 * 1024 * 1024)).json().data.rejected).toBe(1);
  expect((await padded(5.1 * 1024 * 1024)).json().code).toBe('PAYLOAD_TOO_LARGE');
});

test('an event may reference a lead of the tenant instead of an address', async () => {
  await t.store.commitLead(aNewLead(t.tenant.id, aLead('led_1', { email: 'ann@acme.com' })));
  const answer = await record([
    anEvent(),
    anEvent({ email: undefined, lead_id: 'led_1' }),
    anEvent({ email: ' ANN@acme.com ' }),
  ]);
  expect(answer.json().data.created).toBe(3);
  expect(await countOf('sent')).toEqual({ total: 3, unique: 1 });
});

test('a classified reply fires one event in the same commit, and other events fire none', async () => {
  await t.store.commitLead(aNewLead(t.tenant.id, aLead('led_1', { email: 'ann@acme.com' })));
  const received = await subscribe(['reply.classified']);
  const reply = anEvent({ type: 'replied', reply_class: 'interested', step: 2, event_id: 'r1' });
  await record([
    reply,
    reply,
    anEvent({ type: 'replied' }),
    anEvent(),
    anEvent({ type: 'replied', reply_class: 'out_of_office', email: 'bob@acme.com', event_id: 'r2' }),
    anEvent({ type: 'replied', reply_class: 'referral', lead_id: 'led_none' }),
  ]);
  await record([reply]);
  const common = {
    campaign_id: campaignId,
    campaign_name: 'Spring',
    occurred_at: '2026-01-01T00:00:00.000Z',
  };
  const bodies = await received();
  expect(bodies.map((body) => [body.event, body.tenant_id])).toEqual([
    ['reply.classified', t.tenant.id],
    ['reply.classified', t.tenant.id],
  ]);
  expect(bodies.map((body) => body.data).sort((a, b) => (a.event_id < b.event_id ? -1 : 1))).toEqual([
    {
      ...common,
      event_id: 'r1',
      lead_id: 'led_1',
      email: 'ann@acme.com',
      step: 2,
      reply_class: 'interested',
      auto: false,
      previous: null,
      current: 'interested',
    },
    {
      ...common,
      event_id: 'r2',
      lead_id: '',
      email: 'bob@acme.com',
      step: null,
      reply_class: 'out_of_office',
      auto: true,
      previous: null,
      current: 'out_of_office',
    },
  ]);
  expect(t.nudged).toHaveLength(2);
});

test('a status change fires one event with the previous and the current status', async () => {
  const received = await subscribe(['campaign.status_changed']);
  const move = (status: string) =>
    t.app.inject({
      method: 'PATCH',
      url: `/v1/campaigns/${campaignId}`,
      headers: t.auth,
      payload: { status },
    });
  await move('paused');
  await move('paused');
  await move('draft');
  const bodies = await received();
  expect(bodies).toHaveLength(1);
  expect(bodies[0]).toMatchObject({
    event: 'campaign.status_changed',
    data: { campaign_id: campaignId, campaign_name: 'Spring', previous: 'active', current: 'paused' },
  });
  expect(t.nudged).toHaveLength(1);
});

test('a campaign created as active fires a status change from draft', async () => {
  const received = await subscribe(['campaign.status_changed']);
  const id = await newCampaign();
  expect((await received()).map((body) => body.data)).toEqual([
    { campaign_id: id, campaign_name: 'Spring', previous: 'draft', current: 'active' },
  ]);
});

test('events are counted in every campaign status', async () => {
  await t.app.inject({
    method: 'PATCH',
    url: `/v1/campaigns/${campaignId}`,
    headers: t.auth,
    payload: { status: 'completed' },
  });
  expect((await record([anEvent({ type: 'replied' })])).json().data.created).toBe(1);
});

test('an unknown campaign or one of another tenant is 404', async () => {
  const { auth } = await t.addTenant();
  expect((await record([anEvent()], auth)).json().code).toBe('NOT_FOUND');
  expect((await record([anEvent()], t.auth, 'cam_none')).statusCode).toBe(404);
  expect(await countOf('sent')).toEqual({ total: 0, unique: 0 });
});

test('recording requires campaigns:write', async () => {
  const reader = await t.addKey({ scopes: ['campaigns:read'] });
  const answer = await record([anEvent()], reader.auth);
  expect(answer.json()).toMatchObject({ code: 'INSUFFICIENT_SCOPE', required_scope: 'campaigns:write' });
});

test('the response of a large batch is written result by result', async () => {
  const members = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`unknown_${n}`, 1]));
  const events = JSON.stringify({ events: Array.from({ length: 500 }, () => members) });
  const stringify = vi.spyOn(JSON, 'stringify');
  const { body } = await t.app.inject({
    method: 'POST',
    url: `/v1/campaigns/${campaignId}/events`,
    headers: { ...t.auth, 'content-type': 'application/json' },
    payload: events,
  });
  const longest = Math.max(...stringify.mock.results.map(({ value }) => String(value ?? '').length));
  stringify.mockRestore();
  expect(body.length).toBeGreaterThan(1_000_000);
  expect(longest).toBeLessThan(100_000);
});
