import { describe, expect, test } from 'vitest';
import { aRun, aSource, claimAt } from '../../support/sources.ts';
import { aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { addDeliveries, anOutcome, claim } from './claiming.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const NONE = { count: 0, oldestDueAt: null };

export function describeFigures(open: OpenStore): void {
  describe('figures', () => {
    test('in an empty store, nothing waits', async () => {
      const { store } = await openWithTenants(open);
      expect(await store.countAll(T0)).toEqual({
        waiting: { pending: NONE, retrying: NONE, held: NONE },
        deadLetters: 0,
        endpointsPaused: 0,
        mailWaiting: 0,
        sourcesLate: 0,
        sourcesFailing: 0,
      });
    });

    test('a delivery has the trace that caused its event, if any', async () => {
      const { store } = await openWithTenants(open);
      const [traced, plain] = [aRoutedEvent('ten_a', ['whk_a']), aRoutedEvent('ten_a', ['whk_a'])];
      const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      traced.event.trace = trace;
      await store.commitSignals([aSignal('ten_a', { events: [traced, plain] })]);
      const [[first = ''], [second = '']] = [traced, plain].map(({ deliveries }) =>
        deliveries.map(({ id }) => id),
      ) as [string[], string[]];
      expect(await store.tracesOf([first, second, 'dlv_unknown'])).toEqual([[first, trace]]);
    });

    test('counts waiting deliveries by state across all tenants, with the oldest of each', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1', 'dlv_2', 'dlv_3'], T0);
      await claim(store, 'whk_a', { limit: 1 });
      await store.recordOutcome(anOutcome({ next: { status: 'retrying', at: T0 + 5_000 } }));
      const before = await store.countAll(T0);
      expect(before.waiting).toEqual({
        pending: { count: 2, oldestDueAt: T0 },
        retrying: { count: 1, oldestDueAt: T0 + 5_000 },
        held: NONE,
      });
      await store.pauseEndpoint('ten_a', 'whk_a', T0 + 1);
      const { waiting, endpointsPaused } = await store.countAll(T0);
      expect(waiting).toEqual({ pending: NONE, retrying: NONE, held: { count: 3, oldestDueAt: T0 } });
      expect(endpointsPaused).toBe(1);
    });

    test('does not count waiting deliveries of a deleted endpoint, because they are discarded', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await store.deleteEndpoint('ten_a', 'whk_a', T0 + 1);
      const { waiting } = await store.countAll(T0);
      expect([waiting.pending, waiting.held]).toEqual([NONE, NONE]);
    });

    test('counts dead letters and waiting mail', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1']);
      await store.recordOutcome(anOutcome({ next: { status: 'dead', expiresAt: T0 + 9_999 } }));
      const facts = { kind: 'message', subject: 'Hello', text: 'World' } as const;
      await store.addMail({ id: 'mal_1', tenantId: 'ten_a', facts, createdAt: T0 });
      expect(await store.countAll(T0)).toMatchObject({ deadLetters: 1, mailWaiting: 1 });
      await store.markMailSent('mal_1', T0);
      expect(await store.countAll(T0)).toMatchObject({ deadLetters: 1, mailWaiting: 0 });
    });

    test('a due source is late unless it is being read, and failing until a run succeeds', async () => {
      const { store } = await openWithTenants(open);
      await store.createSource(aSource({ nextPollAt: T0 }), 10);
      expect(await store.countAll(T0)).toMatchObject({ sourcesLate: 0, sourcesFailing: 0 });
      expect(await store.countAll(T0 + 1)).toMatchObject({ sourcesLate: 1 });
      const [claimed] = await claimAt(store, T0);
      expect(await store.countAll(T0 + 1)).toMatchObject({ sourcesLate: 0 });
      if (claimed === undefined) throw new Error('nothing was claimed');
      const error = { code: 'timeout', message: 'no answer' } as never;
      await store.finishSourceRun(aRun(claimed, { error }));
      expect(await store.countAll(T0)).toMatchObject({ sourcesFailing: 1 });
    });

    test('measures commits and counts waiting changes', async () => {
      const { store } = await openWithTenants(open);
      const before = store.pulse();
      const sum = before.commitOperations.sum;
      const writing = Promise.all([store.probe(), store.probe()]);
      expect(store.pulse()).toMatchObject({ queueLength: 2, accepting: true });
      await writing;
      const after = store.pulse();
      expect(after.queueLength).toBe(0);
      expect(after.commitOperations.sum).toBe(sum + 2);
      await store.close();
      expect(store.pulse().accepting).toBe(false);
    });
  });
}
