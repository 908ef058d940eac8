import { describe, expect, test } from 'vitest';
import type { RoutedEvent } from '../../../src/model/event.ts';
import { remainderOf } from '../../../src/store/changes/event-bundles.ts';
import type { MadeDue, Store } from '../../../src/store/store.ts';
import { aLead, aNewLead } from '../../support/leads.ts';
import { anEndpoint, aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { anOutcome, claim } from './claiming.ts';
import { anErasure, erase } from './erasure.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const [FIRST, SECOND] = [
  { tenantId: 'ten_a', eventId: 'evt_1', part: 0 },
  { tenantId: 'ten_a', eventId: 'evt_1', part: 1 },
];
const BODY = '{"event":"evt_1"}';
const listOf = (...ids: string[]) => ({
  bundles: [{ body: BODY, status: 'pending' as const, deliveries: JSON.stringify(ids) }],
  batched: [],
});

/** An event to three endpoints, two of which are stored later. */
function anEvent(overrides: Partial<RoutedEvent> = {}): RoutedEvent {
  const routed = aRoutedEvent('ten_a', ['whk_a'], { id: 'evt_1', deliveryIds: ['dlv_1'] });
  return { ...routed, remainders: [listOf('dlv_2', 'whk_c'), listOf('dlv_3', 'whk_d')], ...overrides };
}

async function openWithThree(open: OpenStore) {
  const { store } = await openWithTenants(open);
  for (const id of ['whk_c', 'whk_d']) await store.createEndpoint(anEndpoint('ten_a', { id }), null);
  return store;
}

/** As if the process ended after the commit with the event. */
async function storeFirst(store: Store, routed = anEvent(), overrides = {}): Promise<void> {
  const terms = { now: T0, renewBefore: T0, leaseUntil: T0 + 75_000, leaseToken: 'lease_1' };
  await store.commitSignalsInHand([aSignal('ten_a', { events: [routed], ...overrides })], {
    ...{ lanes: [], ...terms },
  });
}

async function statuses(store: Store): Promise<(string | undefined)[]> {
  const all = ['dlv_1', 'dlv_2', 'dlv_3'].map((id) => store.getDelivery('ten_a', id));
  return (await Promise.all(all)).map((delivery) => delivery?.status);
}

export function describeRemainders(open: OpenStore): void {
  describe('an event to very many endpoints', () => {
    test('has all of its deliveries when the change resolves, stored in several commits', async () => {
      const store = await openWithThree(open);
      const made: MadeDue[] = [];
      store.onCommitted((each) => void made.push(each));
      await store.commitSignals([aSignal('ten_a', { events: [anEvent()] })]);
      expect(await statuses(store)).toEqual(['pending', 'pending', 'pending']);
      expect(made.map(({ due }) => due.map(({ endpointId }) => endpointId))).toEqual([
        ['whk_a'],
        ['whk_c'],
        ['whk_d'],
      ]);
      expect(await store.listRemainders(9)).toEqual([]);
      const bodies = await Promise.all(['dlv_2', 'dlv_3'].map((id) => store.getDelivery('ten_a', id)));
      expect(bodies.map((delivery) => delivery?.body)).toEqual([BODY, BODY]);
    });

    test('has large bodies, which are sealed on their way to the writer', async () => {
      const store = await openWithThree(open);
      const body = JSON.stringify({ text: '각"\ud800'.repeat(30_000) });
      const remainders = [
        { id: 'dlv_2', endpointId: 'whk_c' },
        { id: 'dlv_3', endpointId: 'whk_d' },
      ].map((ids) => remainderOf([{ ...ids, body, status: 'pending' }]));
      expect(remainders.map(({ bundles, sealed }) => [bundles.length, sealed !== undefined])).toEqual([
        [0, true],
        [0, true],
      ]);
      await store.commitSignals([aSignal('ten_a', { events: [anEvent({ remainders })] })]);
      expect(await statuses(store)).toEqual(['pending', 'pending', 'pending']);
      const bodies = await Promise.all(['dlv_2', 'dlv_3'].map((id) => store.getDelivery('ten_a', id)));
      expect(bodies.map((delivery) => delivery?.body)).toEqual([body, body]);
    });

    test('has those that are missing after the end of a process stored once', async () => {
      const store = await openWithThree(open);
      await storeFirst(store);
      expect(await statuses(store)).toEqual(['pending', undefined, undefined]);
      expect(await store.listRemainders(9)).toEqual([FIRST, SECOND]);
      expect(await store.storeRemainder(SECOND)).toEqual({ due: ['whk_d'], rejected: [] });
      expect(await store.storeRemainder(SECOND)).toBeNull();
      await store.storeRemainders([anEvent()]);
      expect(await statuses(store)).toEqual(['pending', 'pending', 'pending']);
      expect(await store.listRemainders(9)).toEqual([]);
    });

    test('has them in a keyed request, too, and none if it is a duplicate', async () => {
      const store = await openWithThree(open);
      const request = { tenantId: 'ten_a', route: 'POST /v1/signals', key: 'k', fingerprint: 'f' };
      const found = await store.reserveKey(request, { token: 't', now: T0, expiresAt: T0 + 60_000 });
      if (found.state !== 'held') throw new Error('the key is free');
      const post = (routed: RoutedEvent) => aSignal('ten_a', { externalId: 'post-1', events: [routed] });
      await store.keeping(found.held).commitSignals([post(anEvent())]);
      expect(await statuses(store)).toEqual(['pending', 'pending', 'pending']);
      const again = { ...anEvent(), event: { ...anEvent().event, id: 'evt_2' } };
      expect(await store.commitSignals([post(again)])).toMatchObject([{ status: 'duplicate' }]);
      expect(await store.listRemainders(9)).toEqual([]);
    });

    test('waits for the messages of endpoints with batching once its parts are stored', async () => {
      const store = await openWithThree(open);
      const parts = ['whk_c', 'whk_d'].map((id) => ({ bundles: [], batched: [id] }));
      await storeFirst(store, anEvent({ remainders: parts }));
      expect(await store.listWaitingBatches('', 100)).toEqual([]);
      expect(await store.storeRemainder(FIRST)).toEqual({ due: [], rejected: [] });
      await store.storeRemainder(SECOND);
      const waiting = (await store.listWaitingBatches('', 100)).map(({ endpointId }) => endpointId);
      expect(waiting.sort()).toEqual(['whk_c', 'whk_d']);
    });

    test('goes to an endpoint with ordered delivery before later events', async () => {
      const { store } = await openWithTenants(open);
      await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_c', ordered: true }), null);
      await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_d' }), null);
      await storeFirst(store);
      const later = { id: 'evt_2', createdAt: T0 + 1, deliveryIds: ['dlv_9'] };
      const events = [aRoutedEvent('ten_a', ['whk_c'], later)];
      await store.commitSignals([aSignal('ten_a', { events })]);
      const idsAt = async (now: number) => {
        const { deliveries, nextDueAt } = await claim(store, 'whk_c', { now });
        return [deliveries.map(({ id }) => id), nextDueAt];
      };
      expect(await idsAt(T0 + 5)).toEqual([[], T0 + 1_005]);
      await store.storeRemainder(FIRST);
      expect(await idsAt(T0 + 1_005)).toEqual([['dlv_2'], T0 + 1]);
      const { attempt, ...outcome } = anOutcome({ deliveryId: 'dlv_2', endpointId: 'whk_c', streak: 'keep' });
      await store.recordOutcome({ ...outcome, attempt, next: { status: 'delivered' } });
      await store.storeRemainder(SECOND);
      expect(await idsAt(T0 + 2_005)).toEqual([['dlv_9'], null]);
    });

    test('is not delivered once more by a backfill, whenever its parts are stored', async () => {
      const { store } = await openWithTenants(open);
      for (const id of ['whk_c', 'whk_d'])
        await store.createEndpoint(anEndpoint('ten_a', { id, backfillFrom: T0 - 1 }), null);
      await storeFirst(store);
      const routed = anEvent();
      const backfill = (endpointId: string, id: string) => ({
        ...{ tenantId: 'ten_a', endpointId, position: 0, next: 1, isLast: true, now: T0 + 9 },
        items: [
          { event: routed.event, delivery: { id, endpointId, body: BODY, status: 'pending' as const } },
        ],
      });
      // Read before the parts are stored, and committed before and after.
      expect(await store.commitBackfill(backfill('whk_c', 'dlv_c'))).toBe(false);
      await store.storeRemainders([routed]);
      expect(await store.commitBackfill(backfill('whk_c', 'dlv_c'))).toBe(true);
      expect(await store.commitBackfill(backfill('whk_d', 'dlv_d'))).toBe(true);
      expect(await statuses(store)).toEqual(['pending', 'pending', 'pending']);
      expect([await store.getDelivery('ten_a', 'dlv_c'), await store.getDelivery('ten_a', 'dlv_d')]).toEqual([
        null,
        null,
      ]);
    });

    test('is not sent to an endpoint that was deleted in the meantime', async () => {
      const store = await openWithThree(open);
      await storeFirst(store);
      await store.deleteEndpoint('ten_a', 'whk_c', T0);
      await store.storeRemainders([anEvent()]);
      expect(await statuses(store)).toEqual(['pending', undefined, 'pending']);
    });

    test('is in the feeds of these endpoints after what was read before', async () => {
      const store = await openWithThree(open);
      await storeFirst(store);
      const page = { endpointId: 'whk_c', limit: 10, after: null, since: T0 - 86_400_000 };
      const before = await store.readFeed('ten_a', page);
      expect(before.rows).toEqual([]);
      await store.storeRemainders([anEvent()]);
      const after = await store.readFeed('ten_a', { ...page, after: before.next });
      expect(after.rows.map(({ id }) => id)).toEqual(['dlv_2']);
    });

    test('keeps the status of deliveries that are too large or pulled', async () => {
      const store = await openWithThree(open);
      const large = { body: BODY, status: 'rejected' as const, deliveries: '["dlv_2","whk_c"]' };
      const pulled = { body: BODY, status: 'delivered' as const, deliveries: '["dlv_3","whk_d"]' };
      const remainders = [large, pulled].map((bundle) => ({ bundles: [bundle], batched: [] }));
      await storeFirst(store, anEvent({ remainders }));
      expect(await store.storeRemainder(FIRST)).toEqual({ due: [], rejected: ['whk_c'] });
      expect(await store.storeRemainder(SECOND)).toEqual({ due: [], rejected: [] });
      expect(await statuses(store)).toEqual(['pending', 'rejected', 'delivered']);
    });

    test('is erased with the deliveries that were not stored yet', async () => {
      const store = await openWithThree(open);
      await store.commitLead(aNewLead('ten_a', aLead('led_1')));
      await storeFirst(store, anEvent(), { id: 'sig_1' });
      expect(await erase(store, anErasure({ eventIds: ['evt_1'] }))).toEqual(
        expect.arrayContaining(['whk_a', 'whk_c', 'whk_d']),
      );
      expect(await statuses(store)).toEqual(['discarded', 'discarded', 'discarded']);
      const bodies = await Promise.all(['dlv_1', 'dlv_3'].map((id) => store.getDelivery('ten_a', id)));
      expect(bodies.map((delivery) => delivery?.body)).toEqual([null, null]);
      expect(await store.listRemainders(9)).toEqual([]);
    });
  });
}
