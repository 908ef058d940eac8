import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { anEndpoint, T0 } from '../../support/store.ts';
import { addDeliveries, anOutcome, claim, LEASE_MS, shiftAll } from './claiming.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const MINUTE = 60_000;
const FAILED = { status: 'retrying', at: T0 + 5_000 } as const;

/** Stores `count` failed first attempts to `whk_a`, each for a separate delivery. */
async function fail(
  store: Store,
  count: number,
  overrides: { at?: number; gone?: boolean } = {},
): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => `dlv_f${index}_${overrides.at ?? T0}`);
  await addDeliveries(store, 'whk_a', ids);
  for (const id of ids) {
    const outcome = anOutcome({ deliveryId: id, next: FAILED, at: T0, ...overrides }, { id: `att_${id}` });
    expect(await store.recordOutcome(outcome)).toBe(true);
  }
}

const probeTerms = (now: number, token = 'lease_1') => ({
  endpointId: 'whk_a',
  held: [],
  now,
  leaseUntil: now + LEASE_MS,
  leaseToken: token,
});

const endpointOf = async (store: Store) => await store.getEndpoint('ten_a', 'whk_a');

export function describeProbing(open: OpenStore): void {
  describe('consecutive failures', () => {
    test('pause the endpoint once at the 20th, in the same commit as the mail to the owner', async () => {
      const { store } = await openWithTenants(open);
      await fail(store, 19);
      expect(await endpointOf(store)).toMatchObject({
        status: 'active',
        consecutiveFailures: 19,
        version: 1,
      });
      await fail(store, 3, { at: T0 + 7 });
      expect(await endpointOf(store)).toMatchObject({
        status: 'paused',
        pausedReason: 'failures',
        pausedAt: T0 + 7,
        consecutiveFailures: 22,
        version: 2,
      });
      expect(await claim(store, 'whk_a')).toMatchObject({ deliveries: [], endpoint: 'gone' });
      const kinds = (await store.dueMail(T0 + 7, 10)).map(({ facts }) => facts.kind);
      expect(kinds.sort()).toEqual(['endpoint_failing', 'endpoint_paused']);
    });

    test('pause it immediately on a 410, without planning a probe', async () => {
      const { store } = await openWithTenants(open);
      await fail(store, 1, { gone: true });
      expect(await endpointOf(store)).toMatchObject({ status: 'paused', pausedReason: 'gone' });
      expect(await store.listDueProbes(T0 + 1e9, 10)).toEqual([]);
    });

    test('do not include a second outcome of an attempt', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await store.recordOutcome(anOutcome());
      await store.recordOutcome(anOutcome({}, { id: 'att_again' }));
      expect((await endpointOf(store))?.consecutiveFailures).toBe(1);
    });
  });

  describe('probes', () => {
    test('are due five minutes after the pause if a delivery is waiting', async () => {
      const { store } = await openWithTenants(open);
      await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_idle' }), null);
      await fail(store, 20);
      expect(await store.listDueProbes(T0 + 5 * MINUTE - 1, 10)).toEqual([]);
      expect(await store.listDueProbes(T0 + 5 * MINUTE, 10, ['ten_a', 'ten_x'])).toEqual([]);
      expect(await store.listDueProbes(T0 + 5 * MINUTE, 10, ['ten_x'])).toHaveLength(1);
      expect(await store.listDueProbes(T0 + 5 * MINUTE, 10)).toEqual([
        { endpointId: 'whk_a', tenantId: 'ten_a' },
      ]);
    });

    test('use the longest waiting delivery, even one planned for later, once the probe is due', async () => {
      const { store } = await openWithTenants(open);
      await fail(store, 20);
      await addDeliveries(store, 'whk_a', ['dlv_oldest'], T0 - 9);
      expect(await store.claimProbe(probeTerms(T0 + 5 * MINUTE - 1))).toBeNull();
      const probe = await store.claimProbe(probeTerms(T0 + 5 * MINUTE));
      expect(probe?.delivery).toMatchObject({ id: 'dlv_oldest', attempt: 1, attemptsInCycle: 0 });
      expect(probe?.endpoint).toMatchObject({ id: 'whk_a', status: 'paused' });
      expect(await store.claimProbe(probeTerms(T0 + 5 * MINUTE, 'lease_2'))).toBeNull();
    });

    test('that fail postpone the next one without using up a retry of their delivery', async () => {
      const { store } = await openWithTenants(open);
      await fail(store, 20);
      await addDeliveries(store, 'whk_a', ['dlv_1'], T0 - 9);
      let now = T0 + 5 * MINUTE;
      for (const [index, minutes] of [10, 20, 40, 60, 60].entries()) {
        const probe = await store.claimProbe(probeTerms(now));
        const { id, attempt, attemptsInCycle } = probe?.delivery ?? {
          id: '',
          attempt: 0,
          attemptsInCycle: -1,
        };
        expect([id, attempt, attemptsInCycle]).toEqual(['dlv_1', index + 1, 0]);
        const failed = {
          deliveryId: id,
          at: now,
          probe: true,
          next: { status: 'retrying', at: T0 },
        } as const;
        await store.recordOutcome(anOutcome(failed, { id: `att_p${index}`, attempt }));
        expect(await store.listDueProbes(now + minutes * MINUTE - 1, 10)).toEqual([]);
        expect(await store.listDueProbes(now + minutes * MINUTE, 10)).toHaveLength(1);
        now += minutes * MINUTE;
      }
    });

    test('that succeed resume the endpoint in the same commit', async () => {
      const { store } = await openWithTenants(open);
      await fail(store, 20);
      const now = T0 + 5 * MINUTE;
      const probe = await store.claimProbe(probeTerms(now));
      const { id: deliveryId = '', attempt = 0 } = probe?.delivery ?? {};
      const success = {
        deliveryId,
        at: now,
        probe: true,
        streak: 'reset',
        next: { status: 'delivered' },
      } as const;
      await store.recordOutcome(anOutcome(success, { id: 'att_p', attempt }));
      expect(await endpointOf(store)).toMatchObject({ status: 'active', consecutiveFailures: 0, version: 3 });
      expect((await claim(store, 'whk_a', { now, knownVersion: 2 })).deliveries).toHaveLength(10);
    });

    test('that end after a manual pause do not resume it', async () => {
      const { store } = await openWithTenants(open);
      await fail(store, 20);
      const now = T0 + 5 * MINUTE;
      const probe = await store.claimProbe(probeTerms(now));
      await store.pauseEndpoint('ten_a', 'whk_a', now);
      const { id: deliveryId = '', attempt = 0 } = probe?.delivery ?? {};
      const success = {
        deliveryId,
        at: now,
        probe: true,
        streak: 'reset',
        next: { status: 'delivered' },
      } as const;
      await store.recordOutcome(anOutcome(success, { id: 'att_p', attempt }));
      expect(await endpointOf(store)).toMatchObject({ status: 'paused', pausedReason: 'manual' });
      expect(await store.listDueProbes(now + 1e9, 10)).toEqual([]);
    });
  });

  describe.each([3_600_000, -3_600_000])('when the clock is set by %d ms', (deltaMs) => {
    test('shifts planned retries, and makes first attempts due', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await store.recordOutcome(anOutcome({ next: { status: 'retrying', at: T0 + 5_000 } }));
      await addDeliveries(store, 'whk_b', ['dlv_2'], T0 + 1);
      const now = T0 + 1_000 + deltaMs;
      await shiftAll(store, now, deltaMs);
      const idsAt = async (endpointId: string, at: number) =>
        (await claim(store, endpointId, { now: at })).deliveries.map(({ id }) => id);
      expect(await idsAt('whk_a', now + 3_999)).toEqual([]);
      expect(await idsAt('whk_a', now + 4_000)).toEqual(['dlv_1']);
      expect(await idsAt('whk_b', now)).toEqual(['dlv_2']);
    });

    test('shifts everything exactly once, in parts', async () => {
      const { store } = await openWithTenants(open);
      for (const endpointId of ['whk_a', 'whk_b']) {
        const ids = [1, 2, 3, 4, 5].map((n) => `dlv_${endpointId}_${n}`);
        await addDeliveries(store, endpointId, ids);
        for (const deliveryId of ids)
          await store.recordOutcome(
            anOutcome(
              { deliveryId, next: { status: 'retrying', at: T0 + 5_000 } },
              { id: `att_${deliveryId}` },
            ),
          );
        await addDeliveries(
          store,
          endpointId,
          ids.map((id) => `${id}_new`),
          T0 + 1,
        );
      }
      const now = T0 + 1_000 + deltaMs;
      expect(await shiftAll(store, now, deltaMs, 2)).toBeGreaterThan(5);
      for (const endpointId of ['whk_a', 'whk_b']) {
        const countAt = async (at: number) => (await claim(store, endpointId, { now: at })).deliveries.length;
        expect(await countAt(now)).toBe(5);
        expect(await countAt(now + 3_999)).toBe(5);
        expect(await countAt(now + 4_000)).toBe(10);
      }
    });

    test('shifts planned probes', async () => {
      const { store } = await openWithTenants(open);
      await fail(store, 20);
      await shiftAll(store, T0 + 1_000 + deltaMs, deltaMs);
      const probeAt = T0 + 5 * MINUTE + deltaMs;
      expect(await store.listDueProbes(probeAt - 1, 10)).toEqual([]);
      expect(await store.listDueProbes(probeAt, 10)).toHaveLength(1);
    });
  });
}
