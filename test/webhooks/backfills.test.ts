import { afterEach, beforeEach, expect, test } from 'vitest';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import type { RecordedEvent } from '../../src/store/event-store.ts';
import type { Store } from '../../src/store/store.ts';
import { backfillEndpoints } from '../../src/webhooks/housekeeping.ts';
import { buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';

const DAY_MS = 86_400_000;

let t: WebhookApp;
beforeEach(async () => {
  t = await buildWebhookApp();
});
afterEach(() => t.app.close());

async function backfill(store: Store = t.store): Promise<void> {
  const newId = createIds(t.clock, systemRandom);
  await backfillEndpoints({ store, clock: t.clock, newId });
}

async function addReader(settings: object): Promise<string> {
  return (await t.call('POST', '/v1/webhooks', { mode: 'pull', ...settings })).json().data.id;
}

/** The IDs of the signals in a feed. */
async function subjects(id: string): Promise<string[]> {
  const { data } = (await t.call('GET', `/v1/webhooks/${id}/feed?limit=100`)).json();
  return data.map(({ payload }: { payload: { signal_id?: string } }) => payload.signal_id ?? '');
}

const signalIds = async () =>
  (await t.call('GET', '/v1/signals?order=stored&limit=100'))
    .json()
    .data.map((s: { signal_id: string }) => s.signal_id);

test('an endpoint gets the events of the days before its creation, in order, each once', async () => {
  await t.addDeliveries(2);
  t.clock.advance(3 * DAY_MS);
  await t.addDeliveries(3);
  const wanted = (await signalIds()).slice(2);
  const id = await addReader({ backfill_days: 2 });
  const none = await addReader({});
  expect(await subjects(id)).toEqual([]);
  await backfill();
  await backfill();
  expect(await subjects(id)).toEqual(wanted);
  expect(await subjects(none)).toEqual([]);
  await t.addDeliveries(1);
  expect(await subjects(id)).toEqual((await signalIds()).slice(2));
  expect(await t.store.listBackfills(10)).toEqual([]);
});

// A hundred events of 400,000 characters in one message to the writer held up everybody for 0.5 s.
test('a step has as many events as are small enough together, and later ones have more again', async () => {
  await t.addDeliveries(60);
  const id = await addReader({ backfill_days: 1 });
  const padded = (length: number) => (event: RecordedEvent, place: number) =>
    place % 2 === 0 ? { ...event, data: `${event.data.slice(0, -1)},"x":"${'x'.repeat(length)}"}` } : event;
  const steps: number[] = [];
  const store: Store = {
    ...t.store,
    async listStoredEvents(tenantId, query) {
      const page = await t.store.listStoredEvents(tenantId, query);
      return { ...page, rows: page.rows.map(padded(steps.length < 5 ? 400_000 : 0)) };
    },
    async commitBackfill(step) {
      steps.push(step.items.reduce((sum, { event }) => sum + event.data.length, 0));
      return t.store.commitBackfill(step);
    },
  };
  await backfill(store);
  expect(steps.slice(0, 5).every((characters) => characters > 300_000 && characters <= 1_000_000)).toBe(true);
  expect(steps.length).toBeLessThan(15);
  expect(await subjects(id)).toEqual(await signalIds());
});

test('a step reads its own endpoint, not all of the tenant', async () => {
  await t.addDeliveries(2);
  const id = await addReader({ backfill_days: 1 });
  const listReceivers = () => Promise.reject(new Error('all endpoints were listed'));
  await backfill({ ...t.store, listReceivers });
  expect(await subjects(id)).toHaveLength(2);
});

test('its filters and format apply, and deliveries to a URL are due', async () => {
  await t.addDeliveries(2);
  const picky = await addReader({ backfill_days: 1, min_score: 100 });
  const { id } = await t.addWebhook({ backfill_days: 1, payload_format: { include: ['signal_id'] } });
  await backfill();
  expect(await subjects(picky)).toEqual([]);
  const { data } = (await t.call('GET', `/v1/webhooks/${id}/deliveries`)).json();
  expect(data.map(({ status }: { status: string }) => status)).toEqual(['pending', 'pending']);
  expect(t.nudged).toContainEqual({ endpointId: id, tenantId: t.tenant.id });
  const { body } = (await t.call('GET', `/v1/deliveries/${data[0].id}`)).json().data;
  expect(Object.keys(JSON.parse(body))).toEqual(['signal_id']);
});

test('does not repeat the work of another process, and omits a deleted signal', async () => {
  await t.addDeliveries(2);
  const [gone = '', left = ''] = await signalIds();
  await t.call('DELETE', `/v1/signals/${gone}`);
  const id = await addReader({ backfill_days: 1 });
  let raced = false;
  const store: Store = {
    ...t.store,
    async commitBackfill(step) {
      if (!raced) {
        raced = true;
        await backfill();
      }
      return t.store.commitBackfill(step);
    },
  };
  await backfill(store);
  expect(await subjects(id)).toEqual([left]);
});

test('events of another tenant are not included', async () => {
  await t.addDeliveries(1);
  const { auth } = await t.addTenant();
  const made = await t.call('POST', '/v1/webhooks', { mode: 'pull', backfill_days: 30 }, auth);
  await backfill();
  const feed = await t.call('GET', `/v1/webhooks/${made.json().data.id}/feed`, undefined, auth);
  expect(feed.json().data).toEqual([]);
});

test.each([
  [{ backfill_days: 31 }, '/backfill_days'],
  [{ backfill_days: 1, batching: 'daily', payload_format: { preset: 'slack' } }, '/backfill_days'],
])('%j is rejected', async (settings, pointer) => {
  const answer = await t.call('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/', ...settings });
  expect(answer.statusCode).toBe(400);
  expect(answer.json().errors).toMatchObject([{ pointer }]);
});
