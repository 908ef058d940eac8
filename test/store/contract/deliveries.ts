import { describe, expect, test } from 'vitest';
import { anEndpoint, aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { addDeliveries, anOutcome, claim, LEASE_MS } from './claiming.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

export function describeDeliveries(open: OpenStore): void {
  describe('creating deliveries', () => {
    test('a new delivery is due at the time of its event', async () => {
      const opened = await openWithTenants(open);
      await addDeliveries(opened.store, 'whk_a', ['dlv_1'], T0 + 7);
      expect(await opened.store.getDelivery('ten_a', 'dlv_1')).toMatchObject({
        status: 'pending',
        attemptCount: 0,
        nextAttemptAt: T0 + 7,
        createdAt: T0 + 7,
        attempts: [],
      });
      expect(await opened.store.getDelivery('ten_b', 'dlv_1')).toBeNull();
    });

    test('a delivery can be found without its body and attempts', async () => {
      const opened = await openWithTenants(open);
      await addDeliveries(opened.store, 'whk_a', ['dlv_1'], T0 + 7);
      const { body, attempts, ...summary } = (await opened.store.getDelivery('ten_a', 'dlv_1')) ?? {};
      expect([body, attempts]).toEqual([expect.any(String), []]);
      expect(await opened.store.findDelivery('ten_a', 'dlv_1')).toEqual(summary);
      expect(await opened.store.findDelivery('ten_b', 'dlv_1')).toBeNull();
    });

    test('an endpoint deleted before the commit gets nothing, but the event is stored', async () => {
      const { store } = await openWithTenants(open);
      const event = aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_1'] });
      const [deleted, [committed]] = await Promise.all([
        store.deleteEndpoint('ten_a', 'whk_a', T0),
        store.commitSignals([aSignal('ten_a', { events: [event] })]),
      ]);
      expect([deleted, committed?.status]).toEqual([true, 'created']);
      expect(await store.getDelivery('ten_a', 'dlv_1')).toBeNull();
    });

    test('a delivery to a paused endpoint is held and not due', async () => {
      const { store } = await openWithTenants(open);
      await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_p', status: 'paused' }), null);
      const event = aRoutedEvent('ten_a', ['whk_p'], { deliveryIds: ['dlv_1'] });
      await store.commitSignals([aSignal('ten_a', { events: [event] })]);
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({
        status: 'held',
        nextAttemptAt: null,
      });
      expect(await store.listDueLanes()).toEqual([]);
      expect(await claim(store, 'whk_p')).toMatchObject({ deliveries: [], endpoint: 'gone' });
    });

    test('a delivery that is too large is logged as rejected and never due', async () => {
      const { store } = await openWithTenants(open);
      const event = aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_1'], status: 'rejected' });
      await store.commitSignals([aSignal('ten_a', { events: [event] })]);
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({
        status: 'rejected',
        nextAttemptAt: null,
      });
      expect(await store.listDueLanes()).toEqual([]);
    });

    test("another tenant's endpoint gets nothing", async () => {
      const opened = await openWithTenants(open);
      const event = aRoutedEvent('ten_a', ['whk_b'], { deliveryIds: ['dlv_1'] });
      await opened.store.commitSignals([aSignal('ten_a', { events: [event] })]);
      expect(await opened.store.getDelivery('ten_a', 'dlv_1')).toBeNull();
      expect(await opened.store.getDelivery('ten_b', 'dlv_1')).toBeNull();
    });
  });

  describe('recording outcomes', () => {
    test('logs a failed attempt completely, and the delivery waits for the next one', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await claim(store, 'whk_a');
      const outcome = anOutcome();
      expect(await store.recordOutcome(outcome)).toBe(true);
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({
        status: 'retrying',
        attemptCount: 1,
        nextAttemptAt: T0 + 5000,
        attempts: [
          {
            ...outcome.attempt,
            requestHeaders: {
              host: 'receiver.example.com',
              'content-type': 'application/json',
              'user-agent': 'Signalpost-Webhooks/1',
              'x-service-signature': 'def',
              'x-service-attempt': '1',
              'webhook-id': 'dlv_1',
              'webhook-timestamp': String(T0 / 1000),
              'webhook-signature': 'v1,ghi',
              'content-length': '123',
            },
          },
        ],
      });
    });

    test.each([
      ['delivered', { status: 'delivered' }],
      ['dead', { status: 'dead', expiresAt: T0 + 1 }],
      ['discarded', { status: 'discarded' }],
    ] as const)('a delivery that is %s is no longer due', async (status, next) => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await claim(store, 'whk_a');
      expect(await store.recordOutcome(anOutcome({ next }))).toBe(true);
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({ status, nextAttemptAt: null });
      expect(await store.listDueLanes()).toEqual([]);
      expect(await claim(store, 'whk_a', { now: T0 + 10 * LEASE_MS })).toMatchObject({ deliveries: [] });
    });

    test('counts failures, resets on success, ignores other outcomes, and keeps the version', async () => {
      const { store } = await openWithTenants(open);
      const counts: (number | undefined)[] = [];
      for (const [index, streak] of (['add', 'add', 'keep', 'reset'] as const).entries()) {
        const id = `dlv_${index}`;
        await addDeliveries(store, 'whk_a', [id]);
        await claim(store, 'whk_a');
        await store.recordOutcome(
          anOutcome({ deliveryId: id, streak, next: { status: 'delivered' } }, { id: `att_${index}` }),
        );
        counts.push((await store.getEndpoint('ten_a', 'whk_a'))?.consecutiveFailures);
      }
      expect(counts).toEqual([1, 2, 2, 0]);
      expect((await store.getEndpoint('ten_a', 'whk_a'))?.version).toBe(1);
    });

    test('of two attempts with the same number, both are logged, but only the first counts', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await claim(store, 'whk_a', { token: 'old' });
      await claim(store, 'whk_a', { token: 'new', now: T0 + LEASE_MS });
      expect(await store.recordOutcome(anOutcome({}, { id: 'att_first' }))).toBe(true);
      const late = anOutcome({ next: { status: 'delivered' }, streak: 'reset' }, { id: 'att_late' });
      expect(await store.recordOutcome(late)).toBe(false);
      const log = await store.getDelivery('ten_a', 'dlv_1');
      expect(log).toMatchObject({ status: 'retrying', attemptCount: 1 });
      expect(log?.attempts.map((a) => [a.id, a.attempt])).toEqual([
        ['att_first', 1],
        ['att_late', 1],
      ]);
      expect((await store.getEndpoint('ten_a', 'whk_a'))?.consecutiveFailures).toBe(1);
    });

    test('the newest fifty attempts are read, oldest first', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      for (let n = 1; n <= 55; n++) {
        await claim(store, 'whk_a', { token: `lease_${n}`, now: T0 + n * LEASE_MS });
        const id = `att_${100 + n}`;
        await store.recordOutcome(anOutcome({ next: { status: 'retrying', at: T0 } }, { id, attempt: n }));
      }
      const log = await store.getDelivery('ten_a', 'dlv_1');
      expect(log?.attemptCount).toBe(55);
      expect(log?.attempts.map(({ id }) => id)).toEqual(
        Array.from({ length: 50 }, (_, n) => `att_${n + 106}`),
      );
    });

    test('applies a repeated outcome once', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await claim(store, 'whk_a');
      expect(await store.recordOutcome(anOutcome())).toBe(true);
      expect(await store.recordOutcome(anOutcome({}, { id: 'att_2' }))).toBe(false);
      expect(await store.getDelivery('ten_a', 'dlv_1')).toMatchObject({ attemptCount: 1 });
    });

    test('an outcome after the endpoint is deleted leaves the delivery discarded', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await claim(store, 'whk_a');
      await store.deleteEndpoint('ten_a', 'whk_a', T0);
      expect(await store.recordOutcome(anOutcome())).toBe(false);
      const log = await store.getDelivery('ten_a', 'dlv_1');
      expect(log).toMatchObject({ status: 'discarded', nextAttemptAt: null });
      expect(log?.attempts).toHaveLength(1);
    });
  });
}
