import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { letGo } from '../../../src/lib/lists.ts';
import type { ClaimedDelivery } from '../../../src/model/delivery.ts';
import { bodyText } from '../../support/body-text.ts';
import { anEndpoint, aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { addDeliveries, anOutcome, claim, LEASE_MS } from './claiming.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const bodiesOf = (deliveries: ClaimedDelivery[]) => deliveries.map(bodyText);
const idsOf = (lane: { deliveries: { id: string }[] }) => lane.deliveries.map((delivery) => delivery.id);

export function describeLeases(open: OpenStore): void {
  describe('claiming deliveries', () => {
    test('claims due deliveries, longest due first, and no others', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_late'], T0 + 2);
      await addDeliveries(store, 'whk_a', ['dlv_early'], T0 + 1);
      await addDeliveries(store, 'whk_a', ['dlv_future'], T0 + 3);
      const lane = await claim(store, 'whk_a', { now: T0 + 2 });
      expect(idsOf(lane)).toEqual(['dlv_early', 'dlv_late']);
      expect(lane.nextDueAt).toBe(T0 + 3);
    });

    test('a claim contains everything for an attempt', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      const { deliveries, nextDueAt } = await claim(store, 'whk_a', { token: 'lease_x' });
      expect(deliveries).toMatchObject([{ id: 'dlv_1', attempt: 1, attemptsInCycle: 0 }]);
      expect(bodiesOf(deliveries)).toEqual([expect.stringMatching(/^\{"event":"evt_/)]);
      expect(nextDueAt).toBeNull();
    });

    test('each delivery of a claim has its own body, regardless of the bytes in the bodies', async () => {
      const { store } = await openWithTenants(open);
      const texts = ['{"excerpt":"Grüße 😀"}', '{}', '{"excerpt":"\\u0000, \\"quoted\\", \', %"}'];
      const events = texts.map((body, n) => {
        const event = aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: [`dlv_${n}`] });
        return { ...event, deliveries: event.deliveries.map((delivery) => ({ ...delivery, body })) };
      });
      await store.commitSignals([aSignal('ten_a', { events })]);
      const { deliveries } = await claim(store, 'whk_a');
      expect(bodiesOf(deliveries)).toEqual(texts);
    });

    test('releasing a claim frees its bodies, but not those of another', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1', 'dlv_2']);
      const first = await claim(store, 'whk_a', { limit: 1 });
      const second = await claim(store, 'whk_a', { held: ['dlv_1'] });
      for (const { bytes } of first.deliveries) letGo(bytes);
      expect(bodiesOf(first.deliveries)).toEqual(['']);
      expect(bodiesOf(second.deliveries)).toEqual([expect.stringMatching(/^\{"event":"evt_.*\}$/)]);
    });

    test('a retry includes the number of previous attempts', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await claim(store, 'whk_a');
      await store.recordOutcome(anOutcome());
      expect(idsOf(await claim(store, 'whk_a', { now: T0 + 4999 }))).toEqual([]);
      const { deliveries } = await claim(store, 'whk_a', { now: T0 + 5000 });
      expect(deliveries).toMatchObject([{ attempt: 2, attemptsInCycle: 1 }]);
    });

    test('applies the limit, and returns when the rest is due', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1', 'dlv_2', 'dlv_3']);
      const first = await claim(store, 'whk_a', { limit: 2 });
      expect([idsOf(first), first.nextDueAt]).toEqual([['dlv_1', 'dlv_2'], T0]);
      const held = ['dlv_1', 'dlv_2'];
      const none = await claim(store, 'whk_a', { limit: 0, held });
      expect([idsOf(none), none.nextDueAt]).toEqual([[], T0]);
      const rest = await claim(store, 'whk_a', { limit: 2, held });
      expect([idsOf(rest), rest.nextDueAt]).toEqual([['dlv_3'], null]);
    });

    test('claims urgent deliveries first, then others by time, but none planned for later', async () => {
      const { store } = await openWithTenants(open);
      const add = (id: string, dueAt: number, urgent: boolean) =>
        addDeliveries(store, 'whk_a', [id], dueAt, 'ten_a', urgent);
      await add('dlv_1', T0, false);
      await add('dlv_2', T0 + 1, false);
      await add('dlv_hot_1', T0 + 2, true);
      await add('dlv_hot_2', T0 + 3, true);
      await add('dlv_hot_later', T0 + 9, true);
      const first = await claim(store, 'whk_a', { now: T0 + 5, limit: 3 });
      expect([idsOf(first), first.nextDueAt]).toEqual([['dlv_hot_1', 'dlv_hot_2', 'dlv_1'], T0 + 1]);
      expect(bodiesOf(first.deliveries).every((body) => /^\{"event":"evt_\w+"\}$/.test(body))).toBe(true);
      const rest = await claim(store, 'whk_a', { now: T0 + 5, held: idsOf(first) });
      expect([idsOf(rest), rest.nextDueAt]).toEqual([['dlv_2'], T0 + 9]);
    });

    test('a caller can reserve part of a claim for the deliveries that have waited longest', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1', 'dlv_2'], T0);
      await addDeliveries(store, 'whk_a', ['dlv_hot_1', 'dlv_hot_2'], T0 + 1, 'ten_a', true);
      const now = T0 + 5;
      expect(idsOf(await claim(store, 'whk_a', { now, limit: 1, oldest: 1 }))).toEqual(['dlv_1']);
      expect(idsOf(await claim(store, 'whk_a', { now, limit: 2, oldest: 1 }))).toEqual([
        'dlv_hot_1',
        'dlv_1',
      ]);
    });

    test('does not claim deliveries held by the caller again, but does claim released ones', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1', 'dlv_2']);
      await claim(store, 'whk_a');
      expect(idsOf(await claim(store, 'whk_a', { held: ['dlv_1'] }))).toEqual(['dlv_2']);
    });

    test('another process gets nothing until the lease expires, and learns when that is', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await claim(store, 'whk_a');
      const early = await claim(store, 'whk_a', { now: T0 + LEASE_MS - 1, token: 'lease_2' });
      expect([idsOf(early), early.nextDueAt]).toEqual([[], T0 + LEASE_MS]);
      const again = await claim(store, 'whk_a', { now: T0 + LEASE_MS, token: 'lease_2' });
      expect(again.deliveries).toMatchObject([{ id: 'dlv_1', attempt: 1 }]);
    });

    test('each claim renews the lease, and a stopping process ends only its own leases', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await claim(store, 'whk_a');
      await claim(store, 'whk_a', { now: T0 + 1_000, held: ['dlv_1'] });
      const other = { now: T0 + LEASE_MS, token: 'lease_2' };
      expect(idsOf(await claim(store, 'whk_a', other))).toEqual([]);
      await store.releaseLeases('lease_2');
      expect(idsOf(await claim(store, 'whk_a', other))).toEqual([]);
      await store.releaseLeases('lease_1');
      expect(idsOf(await claim(store, 'whk_a', other))).toEqual(['dlv_1']);
    });

    test('one call claims for many lanes, and returns results in their order', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_a']);
      await addDeliveries(store, 'whk_b', ['dlv_b']);
      const lanes = await store.claimDeliveries({
        lanes: ['whk_b', 'whk_none', 'whk_a'].map((endpointId) => ({
          endpointId,
          limit: 5,
          knownVersion: 1,
          held: [],
        })),
        now: T0,
        leaseUntil: T0 + 1,
        leaseToken: 'lease_1',
      });
      expect(lanes.map((lane) => [lane.endpointId, idsOf(lane), lane.endpoint])).toEqual([
        ['whk_b', ['dlv_b'], null],
        ['whk_none', [], 'gone'],
        ['whk_a', ['dlv_a'], null],
      ]);
    });

    test('one call reads a limited number of bytes, and the rest stays due', async () => {
      const { store } = await openWithTenants(open);
      for (const [endpointId, tenantId] of [
        ['whk_a', 'ten_a'],
        ['whk_b', 'ten_b'],
      ] as const) {
        const events = Array.from({ length: 20 }, () => aRoutedEvent(tenantId, [endpointId]));
        const body = JSON.stringify({ text: 'x'.repeat(250_000) });
        for (const { deliveries } of events) for (const delivery of deliveries) delivery.body = body;
        await store.commitSignals([aSignal(tenantId, { events })]);
      }
      const lanes = ['whk_a', 'whk_b'].map((endpointId) => ({
        ...{ endpointId, limit: 20, knownVersion: 1, held: [] },
      }));
      const terms = { now: T0, leaseUntil: T0 + LEASE_MS, leaseToken: 'lease_1' };
      const claims = await store.claimDeliveries({ lanes, ...terms });
      expect(claims.map(({ deliveries }) => deliveries.length)).toEqual([20, 0]);
      expect(claims[1]?.nextDueAt).toBe(T0);
      expect((await claim(store, 'whk_b')).deliveries).toHaveLength(10);
    });

    test('returns the endpoint if the caller has no copy or an outdated one', async () => {
      const { store } = await openWithTenants(open);
      const endpoint = await store.getEndpoint('ten_a', 'whk_a');
      expect((await claim(store, 'whk_a', { knownVersion: -1 })).endpoint).toEqual(endpoint);
      expect((await claim(store, 'whk_a', { knownVersion: 1 })).endpoint).toBeNull();
    });

    test('claims no delivery twice while it is held, regardless of the limits', async () => {
      const { store } = await openWithTenants(open);
      let run = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.nat(12),
          fc.array(fc.nat(5), { minLength: 1, maxLength: 6 }),
          async (count, limits) => {
            const endpoint = anEndpoint('ten_a', { id: `whk_run${run++}` });
            await store.createEndpoint(endpoint, null);
            const ids = Array.from({ length: count }, (_, i) => `dlv_${endpoint.id}_${i}`);
            await addDeliveries(store, endpoint.id, ids, T0, 'ten_a');
            const given: string[] = [];
            for (const limit of limits)
              given.push(...idsOf(await claim(store, endpoint.id, { limit, held: given })));
            const room = limits.reduce((sum, limit) => sum + limit, 0);
            expect(new Set(given).size).toBe(given.length);
            expect(given).toHaveLength(Math.min(count, room));
          },
        ),
        { numRuns: 40 },
      );
    });
  });

  describe('recovering after a crash', () => {
    test('deliveries claimed by a dead process are immediately due and no longer leased', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await claim(store, 'whk_a');
      expect(await store.recoverDeliveries({ own: true })).toEqual([
        { endpointId: 'whk_a', tenantId: 'ten_a', nextDueAt: T0 },
      ]);
      expect(idsOf(await claim(store, 'whk_a', { token: 'lease_2' }))).toEqual(['dlv_1']);
    });

    test('planned retries keep their time', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1'], T0 + 500);
      await addDeliveries(store, 'whk_b', ['dlv_2'], T0 + 100);
      expect(await store.recoverDeliveries({ own: true })).toEqual([
        { endpointId: 'whk_a', tenantId: 'ten_a', nextDueAt: T0 + 500 },
        { endpointId: 'whk_b', tenantId: 'ten_b', nextDueAt: T0 + 100 },
      ]);
    });

    test('the throttle gets past attempts, and attempts in progress as of now', async () => {
      const { store, clock } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await addDeliveries(store, 'whk_b', ['dlv_2']);
      await claim(store, 'whk_a');
      await store.recordOutcome(anOutcome({}, { startedAt: T0 + 10 }));
      await claim(store, 'whk_b');
      clock.advance(30);
      expect(await store.recentAttempts(T0 + 9, clock.now())).toEqual(
        new Map([
          ['whk_a', [T0 + 10]],
          ['whk_b', [T0 + 30]],
        ]),
      );
      expect(await store.recentAttempts(T0 + 10, clock.now())).toEqual(new Map([['whk_b', [T0 + 30]]]));
    });

    test('reserves stored deliveries as leased and in progress, and renews only a short lease', async () => {
      const { store } = await openWithTenants(open);
      const other = (at: number) => claim(store, 'whk_a', { now: at, token: 'lease_2', limit: 0 });
      const leases: (number | null)[] = [];
      for (const [n, now] of [T0, T0 + 10_000, T0 + 20_000].entries()) {
        const deliveryIds = [`dlv_${n}`];
        const events = [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds, createdAt: now })];
        const { taken } = await store.commitSignalsInHand([aSignal('ten_a', { events })], {
          lanes: [{ endpointId: 'whk_a', knownVersion: 1, deliveryIds }],
          ...{ now, renewBefore: now + 60_000, leaseUntil: now + 75_000, leaseToken: 'lease_1' },
        });
        expect(taken).toEqual(deliveryIds);
        leases.push((await other(now)).nextDueAt);
      }
      expect(leases).toEqual([T0 + 75_000, T0 + 75_000, T0 + 95_000]);
      expect((await store.recentAttempts(T0, T0 + 20_000)).get('whk_a')).toHaveLength(2); // the first one is older than requested
    });

    test('deliveries stored without a reservation are not in progress', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1', 'dlv_2'], T0 + 1);
      await claim(store, 'whk_a', { limit: 1, now: T0 + 1 });
      expect((await store.recentAttempts(T0, T0 + 2)).get('whk_a')).toHaveLength(1);
    });

    test('an attempt whose request was repeated counts twice', async () => {
      const { store, clock } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1', 'dlv_2']);
      await claim(store, 'whk_a');
      const sent = { host: 'a.example', contentLength: 2, bodySignature: '', serviceSignature: '' };
      const signed = { ...sent, standardSignature: '' };
      await store.recordOutcome(anOutcome({}, { startedAt: T0 + 10, sent: { ...signed, repeated: true } }));
      await store.recordOutcome(
        anOutcome({ deliveryId: 'dlv_2' }, { id: 'att_2', startedAt: T0 + 20, sent: signed }),
      );
      const starts = await store.recentAttempts(T0 + 9, clock.now());
      expect(starts).toEqual(new Map([['whk_a', [T0 + 10, T0 + 10, T0 + 20]]]));
    });

    test('an attempt with a stored outcome is not in progress, even if a retry is waiting', async () => {
      const { store, clock } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await claim(store, 'whk_a');
      await store.recordOutcome(anOutcome());
      expect(await store.recentAttempts(T0, clock.now())).toEqual(new Map());
    });
  });
}
