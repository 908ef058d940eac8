import { describe, expect, test } from 'vitest';
import type { BatchedSignals } from '../../../src/store/event-store.ts';
import { aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const SINCE = T0 - 86_400_000;
const page = { endpointId: 'whk_a', limit: 10, after: null, since: SINCE };

export function describeFeeds(open: OpenStore): void {
  describe('the feed of an endpoint', () => {
    test('is in commit order, regardless of the times and IDs of events', async () => {
      const { store } = await openWithTenants(open);
      for (const [index, id] of ['evt_b', 'evt_a', 'evt_c'].entries()) {
        const event = aRoutedEvent('ten_a', ['whk_a'], {
          ...{ id, createdAt: T0 - index, deliveryIds: [`dlv_${id}`] },
        });
        await store.commitSignals([aSignal('ten_a', { events: [event] })]);
      }
      const all = await store.readFeed('ten_a', page);
      expect(all.rows.map(({ id }) => id)).toEqual(['dlv_evt_b', 'dlv_evt_a', 'dlv_evt_c']);
      expect(all).toMatchObject({ count: 3, hasMore: false, truncated: false });
      const first = await store.readFeed('ten_a', { ...page, limit: 2 });
      expect(first).toMatchObject({ count: 2, hasMore: true });
      const rest = await store.readFeed('ten_a', { ...page, after: first.next });
      expect(rest.rows).toMatchObject([
        { id: 'dlv_evt_c', eventType: 'signal.detected', happenedAt: T0 - 2 },
      ]);
      expect((await store.readFeed('ten_b', page)).rows).toEqual([]);
    });

    test('has at most a mebibyte of bodies on a page, whatever their script', async () => {
      const { store } = await openWithTenants(open);
      for (const id of ['evt_1', 'evt_2']) {
        const event = aRoutedEvent('ten_a', ['whk_a'], { id, deliveryIds: [`dlv_${id}`] });
        const deliveries = event.deliveries.map((one) => ({
          ...one,
          body: `"${id}${'漢'.repeat(200_000)}"`,
        }));
        await store.commitSignals([aSignal('ten_a', { events: [{ ...event, deliveries }] })]);
      }
      const first = await store.readFeed('ten_a', page);
      expect(first).toMatchObject({ count: 1, hasMore: true, rows: [{ id: 'dlv_evt_1' }] });
      const rest = await store.readFeed('ten_a', { ...page, after: first.next });
      expect(rest).toMatchObject({ count: 1, hasMore: false, rows: [{ id: 'dlv_evt_2' }] });
    });

    test('has a delivery that was stored after its event at the position of the delivery', async () => {
      const { store } = await openWithTenants(open);
      const batched = { ...aRoutedEvent('ten_a', [], { id: 'evt_1' }), batched: ['whk_a'] };
      await store.commitSignals([aSignal('ten_a', { id: 'sig_1', events: [batched] })]);
      const before = await store.readFeed('ten_a', page);
      const other = aRoutedEvent('ten_a', ['whk_a'], { id: 'evt_2', deliveryIds: ['dlv_2'] });
      await store.commitSignals([aSignal('ten_a', { events: [other] })]);
      const read = (await store.readBatch('whk_a', { limit: 10, best: 20 })) as BatchedSignals;
      const delivery = {
        id: 'dlv_late',
        endpointId: 'whk_a',
        body: '{"text":"1"}',
        status: 'pending' as const,
      };
      const order = { endpointId: 'whk_a', tenantId: 'ten_a', read, delivery, now: T0 + 5 };
      expect(await store.commitBatch(order)).toBe(true);
      const after = await store.readFeed('ten_a', { ...page, after: before.next });
      expect(after.rows.map(({ id }) => id)).toEqual(['dlv_2', 'dlv_late']);
      expect((await store.readFeed('ten_a', page)).rows.map(({ id }) => id)).toEqual(['dlv_2', 'dlv_late']);
    });
  });
}
