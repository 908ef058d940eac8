import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { anEndpoint, T0 } from '../../support/store.ts';
import { addDeliveries, anOutcome, claim } from './claiming.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const idsOf = (lane: { deliveries: { id: string }[] }) => lane.deliveries.map((delivery) => delivery.id);
const statusOf = async (store: Store, id: string) => (await store.getDelivery('ten_a', id))?.status;

/** A step in resuming `whk_a`, allowed by the plan. */
function resume(store: Store, overrides: Partial<Parameters<Store['resumeEndpoint']>[0]> = {}) {
  return store.resumeEndpoint({
    tenantId: 'ten_a',
    id: 'whk_a',
    now: T0 + 10,
    endpointLimit: null,
    limit: 100,
    ...overrides,
  });
}

export function describePausing(open: OpenStore): void {
  describe('pausing manually', () => {
    test('sets the status, reason and time of the pause in a new version of the endpoint', async () => {
      const { store } = await openWithTenants(open);
      expect(await store.pauseEndpoint('ten_a', 'whk_a', T0 + 1)).toBe(true);
      expect(await store.getEndpoint('ten_a', 'whk_a')).toMatchObject({
        status: 'paused',
        pausedReason: 'manual',
        pausedAt: T0 + 1,
        version: 2,
      });
      expect((await store.getEndpoint('ten_b', 'whk_b'))?.status).toBe('active');
    });

    test('counts the waiting deliveries up to a limit', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1', 'dlv_2', 'dlv_3']);
      await store.recordOutcome(anOutcome({ next: { status: 'delivered' }, streak: 'reset' }));
      await store.pauseEndpoint('ten_a', 'whk_a', T0 + 1);
      expect(await store.countWaiting('whk_a', 10)).toBe(2);
      expect(await store.countWaiting('whk_a', 1)).toBe(1);
      expect(await store.countWaiting('whk_b', 10)).toBe(0);
    });

    test('changes nothing the second time', async () => {
      const { store } = await openWithTenants(open);
      await store.pauseEndpoint('ten_a', 'whk_a', T0 + 1);
      expect(await store.pauseEndpoint('ten_a', 'whk_a', T0 + 2)).toBe(true);
      expect(await store.getEndpoint('ten_a', 'whk_a')).toMatchObject({ pausedAt: T0 + 1, version: 2 });
    });

    test('turns a pause for another reason into a manual one, since the original time', async () => {
      const { store } = await openWithTenants(open);
      const paused = anEndpoint('ten_a', {
        id: 'whk_p',
        status: 'paused',
        pausedReason: 'failures',
        pausedAt: T0,
      });
      await store.createEndpoint(paused, null);
      expect(await store.pauseEndpoint('ten_a', 'whk_p', T0 + 9)).toBe(true);
      expect(await store.getEndpoint('ten_a', 'whk_p')).toMatchObject({
        pausedReason: 'manual',
        pausedAt: T0,
      });
    });

    test("cannot pause an unknown endpoint or another tenant's", async () => {
      const { store } = await openWithTenants(open);
      expect(await store.pauseEndpoint('ten_a', 'whk_none', T0)).toBe(false);
      expect(await store.pauseEndpoint('ten_b', 'whk_a', T0)).toBe(false);
      expect((await store.getEndpoint('ten_a', 'whk_a'))?.status).toBe('active');
    });
  });

  describe('while an endpoint is paused', () => {
    test('waiting and new deliveries are held, and nothing is claimed', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1', 'dlv_2']);
      await store.recordOutcome(anOutcome());
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      await addDeliveries(store, 'whk_a', ['dlv_3']);
      for (const id of ['dlv_1', 'dlv_2', 'dlv_3']) {
        expect(await store.getDelivery('ten_a', id)).toMatchObject({ status: 'held', nextAttemptAt: null });
      }
      expect(await claim(store, 'whk_a', { now: T0 + 60_000 })).toMatchObject({
        deliveries: [],
        endpoint: 'gone',
      });
      expect(await store.listDueLanes()).toEqual([]);
    });

    test('a success in flight is recorded as delivered', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await claim(store, 'whk_a');
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      expect(await store.recordOutcome(anOutcome({ next: { status: 'delivered' }, streak: 'reset' }))).toBe(
        true,
      );
      expect(await statusOf(store, 'dlv_1')).toBe('delivered');
      expect((await store.getEndpoint('ten_a', 'whk_a'))?.status).toBe('paused');
    });

    test('a failure in flight with retries left is recorded as held until a resume', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await claim(store, 'whk_a');
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      expect(await store.recordOutcome(anOutcome())).toBe(true);
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({
        status: 'held',
        nextAttemptAt: null,
        attemptCount: 1,
      });
      expect(await resume(store)).toBe('resumed');
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({
        status: 'retrying',
        nextAttemptAt: T0 + 10,
      });
    });
  });

  describe('resuming', () => {
    test('resets the count and makes the whole backlog due, longest held first', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1', 'dlv_2']);
      await store.recordOutcome(anOutcome());
      await addDeliveries(store, 'whk_a', ['dlv_3'], T0 + 5);
      await store.pauseEndpoint('ten_a', 'whk_a', T0 + 5);
      expect(await resume(store)).toBe('resumed');
      expect(await store.getEndpoint('ten_a', 'whk_a')).toMatchObject({
        status: 'active',
        pausedReason: null,
        pausedAt: null,
        consecutiveFailures: 0,
        version: 3,
      });
      expect(idsOf(await claim(store, 'whk_a', { now: T0 + 10, knownVersion: 3 }))).toEqual([
        'dlv_2',
        'dlv_3',
        'dlv_1',
      ]);
    });

    test('takes several steps if many retries are planned, and activates after the last one', async () => {
      const { store } = await openWithTenants(open);
      const ids = ['dlv_1', 'dlv_2', 'dlv_3'];
      await addDeliveries(store, 'whk_a', ids);
      for (const deliveryId of ids) {
        await store.recordOutcome(anOutcome({ deliveryId }, { id: `att_${deliveryId}` }));
      }
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      expect(await resume(store, { limit: 2 })).toBe('more');
      expect((await store.getEndpoint('ten_a', 'whk_a'))?.status).toBe('paused');
      expect(await resume(store, { limit: 2 })).toBe('resumed');
      expect(idsOf(await claim(store, 'whk_a', { now: T0 + 10, knownVersion: 3 }))).toEqual(ids);
    });

    test('does not change retries of other endpoints', async () => {
      const { store } = await openWithTenants(open);
      await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_other' }), null);
      await addDeliveries(store, 'whk_other', ['dlv_1'], T0, 'ten_a');
      await store.recordOutcome(anOutcome({ endpointId: 'whk_other' }));
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      await resume(store);
      expect((await store.getDelivery('ten_a', 'dlv_1'))?.nextAttemptAt).toBe(T0 + 5_000);
    });

    test('reports that there is nothing to resume', async () => {
      const { store } = await openWithTenants(open);
      expect(await resume(store)).toBe('active');
      expect(await resume(store, { id: 'whk_none' })).toBe('absent');
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      expect(await resume(store, { tenantId: 'ten_b' })).toBe('absent');
      expect((await store.getEndpoint('ten_a', 'whk_a'))?.status).toBe('paused');
    });

    test('is rejected if the plan allows no more active endpoints', async () => {
      const { store } = await openWithTenants(open);
      await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_2' }), null);
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      expect(await resume(store, { endpointLimit: 1 })).toBe('over_limit');
      await store.pauseEndpoint('ten_a', 'whk_2', T0);
      expect(await resume(store, { endpointLimit: 1 })).toBe('resumed');
    });
  });

  describe('deleting an endpoint with a large backlog', () => {
    test('discards a thousand immediately and the rest in steps, and shows all as discarded', async () => {
      const { store } = await openWithTenants(open);
      const ids = Array.from({ length: 1_005 }, (_, i) => `dlv_${String(i).padStart(5, '0')}`);
      await addDeliveries(store, 'whk_a', ids);
      await store.deleteEndpoint('ten_a', 'whk_a', T0);
      expect(await statusOf(store, 'dlv_00000')).toBe('discarded');
      expect(await statusOf(store, 'dlv_01004')).toBe('discarded');
      expect(await store.discardOfDeleted(3)).toBe(3);
      expect(await store.discardOfDeleted(3)).toBe(2);
      expect(await store.discardOfDeleted(3)).toBe(0);
    });
  });
}
