import { describe, expect, test } from 'vitest';
import type { DeliveryNext } from '../../../src/model/delivery.ts';
import type { ReplayRange } from '../../../src/store/delivery-log-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { addDeliveries, anOutcome, claim } from './claiming.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const DEAD = { status: 'dead', expiresAt: T0 + 100 } as const;

/** Adds a finished delivery to `whk_a`. */
async function addEnded(
  store: Store,
  id: string,
  { at = T0, next = DEAD }: { at?: number; next?: DeliveryNext } = {},
): Promise<void> {
  await addDeliveries(store, 'whk_a', [id], at);
  await store.recordOutcome(anOutcome({ deliveryId: id, next }, { id: `att_${id}` }));
}

function range(overrides: Partial<ReplayRange> = {}): ReplayRange {
  return {
    tenantId: 'ten_a',
    endpointId: 'whk_a',
    status: 'dead',
    from: null,
    to: T0 + 1_000,
    after: null,
    limit: 100,
    now: T0 + 50,
    ...overrides,
  };
}

export function describeReplay(open: OpenStore): void {
  describe('replaying one delivery', () => {
    test.each([
      ['dead', DEAD],
      ['discarded', { status: 'discarded' }],
      ['delivered', { status: 'delivered' }],
    ] as const)(
      'one that is %s is due immediately with its ID, continued attempt numbers and all its retries',
      async (_, next) => {
        const { store } = await openWithTenants(open);
        await addEnded(store, 'dlv_1', { next });
        expect(await store.replayDelivery('ten_a', 'dlv_1', T0 + 50)).toEqual({
          outcome: 'replayed',
          endpointId: 'whk_a',
        });
        expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({
          status: 'pending',
          attemptCount: 1,
          nextAttemptAt: T0 + 50,
          expiresAt: null,
          createdAt: T0,
        });
        const { deliveries } = await claim(store, 'whk_a', { now: T0 + 50 });
        expect(deliveries).toMatchObject([{ id: 'dlv_1', attempt: 2, attemptsInCycle: 0 }]);
      },
    );

    test('holds it if the endpoint is paused', async () => {
      const { store } = await openWithTenants(open);
      await addEnded(store, 'dlv_1');
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      expect((await store.replayDelivery('ten_a', 'dlv_1', T0)).outcome).toBe('replayed');
      expect((await store.getDelivery('ten_a', 'dlv_1'))?.status).toBe('held');
    });

    test('is rejected if it is unfinished, too large, without body or endpoint, or unknown', async () => {
      const { store } = await openWithTenants(open);
      const outcomeOf = async (id: string, tenantId = 'ten_a') =>
        (await store.replayDelivery(tenantId, id, T0)).outcome;
      await addDeliveries(store, 'whk_a', ['dlv_waiting']);
      await store.commitSignals([
        aSignal('ten_a', {
          events: [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_large'], status: 'rejected' })],
        }),
      ]);
      await addEnded(store, 'dlv_old');
      await store.expireDead({ now: T0 + 100, limit: 10 });
      await addEnded(store, 'dlv_dead');
      expect(await outcomeOf('dlv_waiting')).toBe('waiting');
      expect(await outcomeOf('dlv_large')).toBe('rejected');
      expect(await outcomeOf('dlv_old')).toBe('no_body');
      expect(await outcomeOf('dlv_none')).toBe('absent');
      expect(await outcomeOf('dlv_dead', 'ten_b')).toBe('absent');
      await store.deleteEndpoint('ten_a', 'whk_a', T0);
      expect(await outcomeOf('dlv_dead')).toBe('no_endpoint');
    });
  });

  describe('replaying many', () => {
    test('replays those of the endpoint, status and half-open time range', async () => {
      const { store } = await openWithTenants(open);
      for (const [index, id] of ['dlv_0', 'dlv_1', 'dlv_2', 'dlv_3'].entries()) {
        await addEnded(store, id, { at: T0 + index });
      }
      await addEnded(store, 'dlv_ok', { at: T0 + 1, next: { status: 'delivered' } });
      expect(await store.replayRange(range({ from: T0 + 1, to: T0 + 3 }))).toEqual({
        replayed: 2,
        next: null,
      });
      const statuses = ['dlv_0', 'dlv_1', 'dlv_2', 'dlv_3', 'dlv_ok'].map(
        async (id) => (await store.getDelivery('ten_a', id))?.status,
      );
      expect(await Promise.all(statuses)).toEqual(['dead', 'pending', 'pending', 'dead', 'delivered']);
    });

    test.each(['dead', 'delivered'] as const)(
      'replays those that are %s in parts, each once',
      async (status) => {
        const { store } = await openWithTenants(open);
        const ids = ['dlv_0', 'dlv_1', 'dlv_2', 'dlv_3', 'dlv_4'];
        for (const id of ids) await addEnded(store, id, { next: status === 'dead' ? DEAD : { status } });
        await addEnded(store, 'dlv_else', { next: { status: 'discarded' } });
        let replayed = 0;
        let after: (string | number)[] | null = null;
        do {
          const part = await store.replayRange(range({ status, limit: 2, after }));
          expect(part.replayed).toBeLessThanOrEqual(2);
          replayed += part.replayed;
          after = part.next;
        } while (after !== null);
        expect(replayed).toBe(5);
        const lane = await claim(store, 'whk_a', { now: T0 + 50 });
        expect(lane.deliveries.map((delivery) => delivery.id)).toEqual(ids);
      },
    );

    test('affects no other endpoint or tenant, and no delivery without a body', async () => {
      const { store } = await openWithTenants(open);
      await addEnded(store, 'dlv_1');
      expect(await store.replayRange(range({ endpointId: 'whk_b' }))).toEqual({ replayed: 0, next: null });
      expect(await store.replayRange(range({ tenantId: 'ten_b' }))).toEqual({ replayed: 0, next: null });
      await store.expireDead({ now: T0 + 100, limit: 10 });
      expect(await store.replayRange(range({ status: 'expired' }))).toEqual({ replayed: 0, next: null });
      expect((await store.getDelivery('ten_a', 'dlv_1'))?.status).toBe('expired');
    });
  });
}
