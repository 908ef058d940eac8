import { describe, expect, test } from 'vitest';
import { idFloor } from '../../../src/lib/ids.ts';
import type { Store } from '../../../src/store/store.ts';
import { anEndpoint, aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { addDeliveries, anOutcome, claim } from './claiming.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const statusOf = async (store: Store, id: string) => (await store.getDelivery('ten_a', id))?.status ?? null;

/** Ends deliveries held since `heldBefore` or longer. */
const endHeld = (store: Store, heldBefore: number, limit = 100) =>
  store.endHeld({ heldBefore, deadUntil: T0 + 9_999, limit });

export function describeRetention(open: OpenStore): void {
  describe('a delivery held for too long', () => {
    test('becomes a dead letter', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await store.pauseEndpoint('ten_a', 'whk_a', T0 + 10);
      expect(await endHeld(store, T0 + 9)).toBe(0);
      expect(await endHeld(store, T0 + 10)).toBe(1);
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({
        status: 'dead',
        expiresAt: T0 + 9_999,
        nextAttemptAt: null,
      });
    });

    test('is discarded if the endpoint keeps no dead letters', async () => {
      const { store } = await openWithTenants(open);
      const endpoint = anEndpoint('ten_a', { id: 'whk_2' });
      endpoint.settings.dead_letter = false;
      await store.createEndpoint(endpoint, null);
      await addDeliveries(store, 'whk_2', ['dlv_1'], T0, 'ten_a');
      await store.pauseEndpoint('ten_a', 'whk_2', T0);
      expect(await endHeld(store, T0)).toBe(1);
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({
        status: 'discarded',
        expiresAt: null,
      });
    });

    test('counts as held from the time it would have been sent: those due later stay', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1', 'dlv_2']);
      await store.recordOutcome(anOutcome());
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      await addDeliveries(store, 'whk_a', ['dlv_3'], T0 + 20);
      expect(await endHeld(store, T0 + 19)).toBe(1);
      expect(await Promise.all(['dlv_1', 'dlv_2', 'dlv_3'].map((id) => statusOf(store, id)))).toEqual([
        'held',
        'dead',
        'held',
      ]);
      expect(await endHeld(store, T0 + 5_000)).toBe(2);
    });

    test('is ended in parts unless its endpoint is active', async () => {
      const { store } = await openWithTenants(open);
      await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_2' }), null);
      await addDeliveries(store, 'whk_a', ['dlv_1', 'dlv_2', 'dlv_3']);
      await addDeliveries(store, 'whk_2', ['dlv_4'], T0, 'ten_a');
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      expect(await endHeld(store, T0, 2)).toBe(2);
      expect(await endHeld(store, T0, 2)).toBe(1);
      expect(await endHeld(store, T0, 2)).toBe(0);
      expect(await statusOf(store, 'dlv_4')).toBe('pending');
    });

    test('keeps an attempt in flight and its own final status', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await claim(store, 'whk_a');
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      await endHeld(store, T0);
      expect(await store.recordOutcome(anOutcome())).toBe(false);
      const log = await store.getDelivery('ten_a', 'dlv_1');
      expect([log?.status, log?.attempts.length]).toEqual(['dead', 1]);
    });
  });

  describe('dead letters', () => {
    test('expire at their time, in parts, and lose their body but keep their log', async () => {
      const { store } = await openWithTenants(open);
      for (const [index, id] of ['dlv_1', 'dlv_2', 'dlv_3'].entries()) {
        await addDeliveries(store, 'whk_a', [id]);
        const next = { status: 'dead', expiresAt: T0 + index } as const;
        await store.recordOutcome(anOutcome({ deliveryId: id, next }, { id: `att_${id}` }));
      }
      expect(await store.expireDead({ now: T0 + 1, limit: 1 })).toBe(1);
      expect(await store.expireDead({ now: T0 + 1, limit: 1 })).toBe(1);
      expect(await store.expireDead({ now: T0 + 1, limit: 1 })).toBe(0);
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({
        status: 'expired',
        body: null,
        expiresAt: T0,
        attempts: [{ attempt: 1 }],
      });
      expect((await store.getDelivery('ten_a', 'dlv_3'))?.body).not.toBeNull();
    });

    test('that are replayed in time do not expire', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await store.recordOutcome(anOutcome({ next: { status: 'dead', expiresAt: T0 + 1 } }));
      await store.replayDelivery('ten_a', 'dlv_1', T0);
      expect(await store.expireDead({ now: T0 + 1, limit: 10 })).toBe(0);
    });
  });

  describe('old logs', () => {
    test('prunes old attempts, and then their delivery', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await store.recordOutcome(anOutcome({}, { id: `${idFloor('att', T0)}a` }));
      const last = { id: `${idFloor('att', T0 + 100)}b`, attempt: 2, startedAt: T0 + 100 };
      await store.recordOutcome(anOutcome({ next: { status: 'delivered' } }, last));
      const prune = () =>
        store.pruneDeliveries({ tenantId: 'ten_a', before: T0 + 1_000, after: null, limit: 10 });

      expect(await store.pruneAttempts(T0 + 100, 10)).toBe(1);
      expect((await store.getDelivery('ten_a', 'dlv_1'))?.attempts.map((one) => one.attempt)).toEqual([2]);
      expect(await prune()).toMatchObject({ removed: 0 });
      expect(await store.pruneAttempts(T0 + 101, 10)).toBe(1);
      expect(await prune()).toEqual({ removed: 1, next: null });
      expect(await store.getDelivery('ten_a', 'dlv_1')).toBeNull();
    });

    test('keeps waiting and recent deliveries, and those of others', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_waits'], T0);
      await addDeliveries(store, 'whk_a', ['dlv_young'], T0 + 10);
      await store.recordOutcome(
        anOutcome(
          { deliveryId: 'dlv_young', next: { status: 'delivered' } },
          { id: `${idFloor('att', T0)}y` },
        ),
      );
      await store.pruneAttempts(T0 + 10, 10);
      const chunk = { before: T0 + 10, after: null, limit: 10 };
      expect(await store.pruneDeliveries({ tenantId: 'ten_a', ...chunk })).toEqual({
        removed: 0,
        next: null,
      });
      expect(await store.pruneDeliveries({ tenantId: 'ten_b', ...chunk, before: T0 + 99 })).toMatchObject({
        removed: 0,
      });
      expect(await statusOf(store, 'dlv_waits')).toBe('pending');
      expect(await statusOf(store, 'dlv_young')).toBe('delivered');
    });

    test('scans deliveries in parts', async () => {
      const { store } = await openWithTenants(open);
      const ids = ['dlv_1', 'dlv_2', 'dlv_3'];
      await addDeliveries(store, 'whk_a', ids);
      await store.deleteEndpoint('ten_a', 'whk_a', T0); // discards them
      const chunk = { tenantId: 'ten_a', before: T0 + 1, limit: 2 };
      const first = await store.pruneDeliveries({ ...chunk, after: null });
      expect(first).toEqual({ removed: 2, next: [T0, 'dlv_2'] });
      expect(await store.pruneDeliveries({ ...chunk, after: first.next })).toEqual({
        removed: 1,
        next: null,
      });
    });

    test.each(['dead', 'discarded'] as const)(
      'of %s deliveries with long bodies, a commit deletes 4 MB',
      async (status) => {
        const { store } = await openWithTenants(open);
        const ids = ['dlv_1', 'dlv_2', 'dlv_3', 'dlv_4', 'dlv_5'];
        for (const [i, id] of ids.entries()) {
          const routed = aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: [id], createdAt: T0 + i });
          const deliveries = routed.deliveries.map((one) => ({ ...one, body: 'x'.repeat(1_500_000) }));
          await store.commitSignals([aSignal('ten_a', { events: [{ ...routed, deliveries }] })]);
        }
        if (status === 'discarded') {
          await store.deleteEndpoint('ten_a', 'whk_a', T0);
          const chunk = { tenantId: 'ten_a', before: T0 + 9, limit: 500 };
          const first = await store.pruneDeliveries({ ...chunk, after: null });
          expect(first).toEqual({ removed: 3, next: [T0 + 2, 'dlv_3'] });
          const second = await store.pruneDeliveries({ ...chunk, after: first.next });
          expect(second).toEqual({ removed: 2, next: null });
        } else {
          await store.pauseEndpoint('ten_a', 'whk_a', T0);
          await store.endHeld({ heldBefore: T0 + 9, deadUntil: T0 + 10, limit: 100 });
          const expire = () => store.expireDead({ now: T0 + 10, limit: 500 });
          expect([await expire(), await expire(), await expire()]).toEqual([3, 2, 0]);
        }
      },
    );

    test('removes a deleted endpoint once it has no deliveries left', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await store.deleteEndpoint('ten_a', 'whk_a', T0);
      expect(await store.discardOfDeleted(10)).toBe(0);
      expect(await store.pruneEndpoints(T0 + 1, 10)).toBe(0);
      await store.pruneDeliveries({ tenantId: 'ten_a', before: T0 + 1, after: null, limit: 10 });
      expect(await store.pruneEndpoints(T0, 10)).toBe(0);
      expect(await store.pruneEndpoints(T0 + 1, 10)).toBe(1);
      expect(await store.listEndpoints('ten_b')).toHaveLength(1);
    });
  });

  test('stores test deliveries for the throttle, and prunes them later', async () => {
    const { store } = await openWithTenants(open);
    await store.recordTestSend({ id: 'dlv_t1', endpointId: 'whk_a', startedAt: T0 });
    await store.recordTestSend({ id: 'dlv_t2', endpointId: 'whk_a', startedAt: T0 + 5 });
    expect(await store.pruneTestSends(T0 + 5)).toBe(1);
    expect(await store.pruneTestSends(T0 + 6)).toBe(1);
  });
}
