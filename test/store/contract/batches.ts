import { describe, expect, test } from 'vitest';
import type { RoutedEvent } from '../../../src/model/event.ts';
import type { Store } from '../../../src/store/store.ts';
import { aSignal, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const LIMITS = { limit: 10, best: 2 };
const delivery = { id: 'dlv_batch', endpointId: 'whk_a', body: '{}', status: 'pending' } as const;

function batchedEvent(number: number, batched = ['whk_a']): RoutedEvent {
  const told = {
    id: `evt_${number}`,
    tenantId: 'ten_a',
    subjectId: `sig_${number}`,
    data: '{}',
    createdAt: T0 + number,
  };
  return { event: { ...told, type: 'signal.detected' }, deliveries: [], batched, skipped: [] };
}

async function addSignals(store: Store): Promise<void> {
  const classes = ['warm', 'hot', 'cold', 'hot'];
  await store.commitSignals(
    classes.map((classification, i) =>
      aSignal('ten_a', {
        id: `sig_${i}`,
        timestamp: T0 + i,
        classification,
        score: 10 * i,
        events: [batchedEvent(i)],
      }),
    ),
  );
}

export function describeBatches(open: OpenStore): void {
  describe('signals batched into one message', () => {
    test('wait per endpoint, and are read together with the best ones', async () => {
      const { store } = await openWithTenants(open);
      expect(await store.listWaitingBatches('', 100)).toEqual([]);
      expect(await store.readBatch('whk_a', LIMITS)).toBeNull();
      await addSignals(store);
      expect(await store.listWaitingBatches('', 100)).toEqual([
        { endpointId: 'whk_a', tenantId: 'ten_a', since: T0 },
      ]);
      const read = await store.readBatch('whk_a', LIMITS);
      expect(read).toMatchObject({ events: 4, counts: { hot: 2, warm: 1, cold: 1 }, last: { id: 'evt_3' } });
      expect(read?.wires.map((wire) => JSON.parse(wire).signal_id)).toEqual(['sig_3', 'sig_2']);
      expect(await store.readBatch('whk_a', { limit: 1, best: 2 })).toMatchObject({
        events: 1,
        last: { id: 'evt_0' },
      });
    });

    test('are listed by endpoint, in parts', async () => {
      const { store } = await openWithTenants(open);
      for (const [n, endpoints] of [
        ['whk_b', 'whk_d'],
        ['whk_a', 'whk_b', 'whk_c'],
      ].entries())
        await store.commitSignals([
          aSignal('ten_a', { id: `sig_${n}`, timestamp: T0 + n, events: [batchedEvent(n, endpoints)] }),
        ]);
      const part = async (after: string) =>
        (await store.listWaitingBatches(after, 3)).map(({ endpointId, since }) => [endpointId, since - T0]);
      expect(await part('')).toEqual([
        ['whk_a', 1],
        ['whk_b', 0],
        ['whk_c', 1],
      ]);
      expect(await part('whk_c')).toEqual([['whk_d', 0]]);
      expect(await part('whk_d')).toEqual([]);
    });

    test('no longer wait once the message is stored, which only one of two callers achieves', async () => {
      const { store } = await openWithTenants(open);
      await addSignals(store);
      const read = await store.readBatch('whk_a', LIMITS);
      if (read === null) throw new Error('nothing waits');
      const change = { endpointId: 'whk_a', tenantId: 'ten_a', read, delivery, now: T0 + 9 };
      expect(await store.commitBatch(change)).toBe(true);
      expect(await store.commitBatch({ ...change, delivery: { ...delivery, id: 'dlv_other' } })).toBe(false);
      expect(await store.readBatch('whk_a', LIMITS)).toBeNull();
      expect(await store.getDelivery('ten_a', 'dlv_batch')).toMatchObject({
        status: 'pending',
        createdAt: T0 + 9,
      });
      const { rows } = await store.listEvents('ten_a', {
        types: [],
        from: null,
        to: null,
        limit: 9,
        after: null,
      });
      expect(rows.map(({ deliveries }) => deliveries.map(({ id }) => id))).toEqual(
        Array(4).fill(['dlv_batch']),
      );
    });

    test('that have changed since they were read stay for another message', async () => {
      const { store } = await openWithTenants(open);
      await addSignals(store);
      const read = await store.readBatch('whk_a', LIMITS);
      if (read === null) throw new Error('nothing waits');
      const change = { endpointId: 'whk_a', tenantId: 'ten_a', read, delivery, now: T0 + 9 };
      expect(await store.commitBatch({ ...change, read: { ...read, events: 3 } })).toBe(false);
      expect(await store.commitBatch({ ...change, read: { ...read, wires: ['{}', '{}'] } })).toBe(false);
      expect(await store.getDelivery('ten_a', 'dlv_batch')).toBeNull();
    });

    test('for a deleted endpoint are dropped, a limited number at a time', async () => {
      const { store } = await openWithTenants(open);
      await addSignals(store);
      await store.deleteEndpoint('ten_a', 'whk_a', T0 + 5);
      const read = await store.readBatch('whk_a', LIMITS);
      if (read === null) throw new Error('nothing waits');
      expect(
        await store.commitBatch({ endpointId: 'whk_a', tenantId: 'ten_a', read, delivery, now: T0 }),
      ).toBe(false);
      expect([await store.dropBatched('whk_a', 3), await store.dropBatched('whk_a', 3)]).toEqual([3, 1]);
      expect(await store.listWaitingBatches('', 100)).toEqual([]);
    });
  });
}
