import { afterEach, beforeEach, expect, test } from 'vitest';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import type { DeliveryNext } from '../../src/model/delivery.ts';
import type { EndpointNotice } from '../../src/model/event.ts';
import { EVENT_DATA, envelopeSchema } from '../../src/model/event-resource.ts';
import type { Store } from '../../src/store/store.ts';
import { announceNotices } from '../../src/webhooks/housekeeping.ts';
import { anEndpoint, aRoutedEvent } from '../support/store.ts';
import { buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';

const TYPES = ['endpoint.failing', 'endpoint.paused', 'endpoint.recovered', 'delivery.dead'];

let t: WebhookApp;
/** A failing endpoint that is also subscribed to its own events, and another that observes. */
let failing: { id: string };
let watcher: { id: string };
beforeEach(async () => {
  t = await buildWebhookApp();
  failing = await t.addWebhook({ label: 'CRM', event_types: ['signal.detected', ...TYPES] });
  watcher = await t.addWebhook({ event_types: TYPES });
});
afterEach(() => t.app.close());

const RETRY: DeliveryNext = { status: 'retrying', at: 0 };
const DELIVERED: DeliveryNext = { status: 'delivered' };

async function announce(): Promise<void> {
  const newId = createIds(t.clock, systemRandom);
  const { store, clock } = t;
  await announceNotices({ store, clock, newId });
}

interface Told {
  type: string;
  subject_id: string;
  data: Record<string, unknown>;
  deliveries: { endpoint_id: string; status: string; reason: string | null }[];
}

/** The events about deliveries so far, oldest first. */
async function told(): Promise<Told[]> {
  await announce();
  const query = TYPES.map((type) => `type=${type}`).join('&');
  return (await t.call('GET', `/v1/events?order=stored&limit=100&${query}`)).json().data;
}

/** A delivery of the failing endpoint after this many unsuccessful attempts. */
async function fail(times: number): Promise<string> {
  await t.addDeliveries(1);
  const { rows } = await t.store.listDeliveries(t.tenant.id, {
    ...{ endpointId: failing.id, status: null, eventType: 'signal.detected', eventId: null },
    ...{ from: null, to: null, limit: 1, after: null },
  });
  const id = rows[0]?.id ?? '';
  for (let number = 1; number <= times; number++) await t.attempt(id, RETRY, number);
  return id;
}

test('reports a failing endpoint at 10 and 15 consecutive failures, and mails the owner at 10', async () => {
  await fail(9);
  expect(await told()).toEqual([]);
  await fail(5);
  const [first, ...others] = await told();
  expect(others).toEqual([]);
  expect(first).toMatchObject({
    type: 'endpoint.failing',
    subject_id: failing.id,
    data: {
      ...{ endpoint_id: failing.id, label: 'CRM', host: '127.0.0.1:9' },
      ...{ consecutive_failures: 10, pauses_at: 20, previous: 'active', current: 'failing' },
    },
  });
  await fail(1);
  expect((await told()).map(({ data }) => data.consecutive_failures)).toEqual([10, 15]);
  const mail = await t.store.listMail(t.tenant.id, 10);
  expect(mail.map(({ facts }) => facts)).toEqual([
    {
      ...{ kind: 'endpoint_failing', endpointId: failing.id, label: 'CRM', host: '127.0.0.1:9' },
      ...{ failures: 10, pausesAt: 20 },
    },
  ]);
});

test('each notice goes to subscribed endpoints, except the affected one, and matches its docs', async () => {
  await fail(20);
  const events = await told();
  expect(events.map(({ type }) => type)).toEqual(['endpoint.failing', 'endpoint.failing', 'endpoint.paused']);
  for (const { deliveries } of events) {
    expect(deliveries).toContainEqual(
      expect.objectContaining({ endpoint_id: failing.id, status: 'skipped', reason: 'about_itself' }),
    );
    expect(deliveries).toContainEqual(
      expect.objectContaining({ endpoint_id: watcher.id, status: 'pending' }),
    );
  }
  expect(t.nudged).toContainEqual({ endpointId: watcher.id, tenantId: t.tenant.id });
  const feed = (await t.call('GET', `/v1/webhooks/${watcher.id}/feed`)).json().data;
  for (const { type, payload } of feed as {
    type: keyof typeof EVENT_DATA;
    payload: Record<string, unknown>;
  }[]) {
    const { signature: _signature, ...body } = payload;
    expect(() => envelopeSchema(type, EVENT_DATA[type]).parse(body)).not.toThrow();
  }
  expect(feed).toHaveLength(3);
});

test('a pause reports its reason, and the first success after a resume reports the recovery', async () => {
  await t.call('POST', `/v1/webhooks/${failing.id}/pause`);
  await t.call('POST', `/v1/webhooks/${failing.id}/resume`);
  const id = await fail(0);
  await t.attempt(id, DELIVERED);
  const other = await fail(0);
  await t.attempt(other, DELIVERED);
  expect((await told()).map(({ type, data }) => [type, data.reason ?? data.previous])).toEqual([
    ['endpoint.paused', 'manual'],
    ['endpoint.recovered', 'paused'],
  ]);
});

test('reports the recovery of a failing endpoint once, and does not report a few failures', async () => {
  await t.attempt(await fail(10), DELIVERED, 11);
  await t.attempt(await fail(9), DELIVERED, 10);
  expect((await told()).map(({ type, data }) => [type, data.previous])).toEqual([
    ['endpoint.failing', 'active'],
    ['endpoint.recovered', 'failing'],
  ]);
});

test('reports a dead delivery with its ID, unless it is such a report itself', async () => {
  const id = await fail(0);
  const expiresAt = t.clock.now() + 1_000;
  await t.attempt(id, { status: 'dead', expiresAt });
  const [dead] = await told();
  expect(dead).toMatchObject({
    type: 'delivery.dead',
    subject_id: id,
    data: {
      ...{ delivery_id: id, endpoint_id: failing.id, event: 'signal.detected', attempt_count: 1 },
      ...{ expires_at: new Date(expiresAt).toISOString() },
    },
  });
  const [{ id: notice }] = (await t.call('GET', `/v1/webhooks/${watcher.id}/deliveries`)).json().data;
  await t.attempt(notice, { status: 'dead', expiresAt });
  expect(await told()).toHaveLength(1);
});

test('reports deliveries held for too long', async () => {
  const id = await fail(0);
  await t.call('POST', `/v1/webhooks/${failing.id}/pause`);
  const now = t.clock.now();
  await t.store.endHeld({ heldBefore: now + 1, deadUntil: now + 2, limit: 10 });
  expect((await told()).map(({ type, subject_id }) => [type, subject_id])).toEqual([
    ['endpoint.paused', failing.id],
    ['delivery.dead', id],
  ]);
});

test('two processes create one event of each notice', async () => {
  await fail(10);
  const [notice] = await t.store.listNotices(t.tenant.id, 10);
  const ids = [notice?.id ?? 0];
  const change = { tenantId: t.tenant.id, ids, events: [] };
  expect(await t.store.commitNotices({ ...change, tenantId: 'ten_other' })).toBe(false);
  expect(await t.store.commitNotices(change)).toBe(true);
  expect(await t.store.commitNotices(change)).toBe(false);
  expect(await t.store.listNotices(t.tenant.id, 10)).toEqual([]);
});

test('endpoints of MCP subscriptions cause no notices and no mail', async () => {
  const { id: tenantId } = t.tenant;
  await t.store.createEndpoint(anEndpoint(tenantId, { id: 'whk_mcp', mode: 'mcp' }), null);
  const event = aRoutedEvent(tenantId, ['whk_mcp'], { deliveryIds: ['dlv_mcp'] });
  await t.store.commitNotices({ tenantId, ids: [], events: [event] });
  for (let number = 1; number <= 12; number++) await t.attempt('dlv_mcp', RETRY, number);
  await t.attempt('dlv_mcp', { status: 'dead', expiresAt: t.clock.now() }, 13);
  expect(await told()).toEqual([]);
  expect(await t.store.listMail(tenantId, 10)).toEqual([]);
});

test('notices to many endpoints are committed in several parts', async () => {
  await fail(20);
  const [receiver] = await t.store.listReceivers(t.tenant.id);
  const [notice] = await t.store.listNotices(t.tenant.id, 1);
  if (receiver === undefined || notice === undefined) throw new Error('nothing to announce');
  const many = Array.from({ length: 185 }, (_, i) => ({ ...receiver, id: `${receiver.id}${i}` }));
  const committed = await commitsOf({ [t.tenant.id]: 20 }, { notice, listReceivers: async () => many });
  expect(committed.map(({ count }) => count)).toEqual(Array.from({ length: 10 }, () => 2));
});

test('tenants take turns: many notices of one do not delay those of another', async () => {
  await fail(20);
  const [notice] = await t.store.listNotices(t.tenant.id, 1);
  if (notice === undefined) throw new Error('nothing to announce');
  const committed = await commitsOf({ ten_a: 1_000, ten_b: 1, ten_c: 300 }, { notice });
  expect(committed.slice(0, 3).map(({ tenantId }) => tenantId)).toEqual(['ten_a', 'ten_b', 'ten_c']);
  const all = Map.groupBy(committed, ({ tenantId }) => tenantId);
  const sums = [...all].map(([, commits]) => commits.reduce((sum, { count }) => sum + count, 0));
  expect(sums).toEqual([1_000, 1, 300]);
});

/** Announces this many copies of a notice for each tenant; returns the number in each commit. */
async function commitsOf(
  counts: Record<string, number>,
  {
    notice,
    listReceivers = t.store.listReceivers,
  }: { notice: EndpointNotice } & Partial<Pick<Store, 'listReceivers'>>,
): Promise<{ tenantId: string; count: number }[]> {
  const waiting = new Map(Object.entries(counts));
  const committed: { tenantId: string; count: number }[] = [];
  const store: Store = {
    ...t.store,
    listReceivers,
    listNoticeTenants: async () => [...waiting.keys()],
    listNotices: async (tenantId, limit) =>
      Array.from({ length: Math.min(limit, waiting.get(tenantId) ?? 0) }, () => ({ ...notice, tenantId })),
    commitNotices: async ({ tenantId, ids }) => {
      committed.push({ tenantId, count: ids.length });
      const left = (waiting.get(tenantId) ?? 0) - ids.length;
      if (left > 0) waiting.set(tenantId, left);
      else waiting.delete(tenantId);
      return true;
    },
  };
  await announceNotices({ store, clock: t.clock, newId: createIds(t.clock, systemRandom) });
  return committed;
}
