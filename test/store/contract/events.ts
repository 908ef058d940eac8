import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EVENT_TYPES, type EventType, type RoutedEvent } from '../../../src/model/event.ts';
import type { EventQuery } from '../../../src/store/event-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { anEndpoint, aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const ANY: EventQuery = { types: [], from: null, to: null, limit: 25, after: null };

function anEvent(
  id: string,
  overrides: { createdAt?: number; type?: EventType; tenantId?: string } = {},
): RoutedEvent {
  const { createdAt = T0, type = 'signal.detected', tenantId = 'ten_a' } = overrides;
  const routed = aRoutedEvent(tenantId, [], { id, createdAt });
  return { ...routed, event: { ...routed.event, type } };
}

async function store(store: Store, ...events: RoutedEvent[]): Promise<void> {
  await store.commitSignals([aSignal('ten_a', { events })]);
}

async function ids(store: Store, query: Partial<EventQuery> = {}): Promise<string[]> {
  return (await store.listEvents('ten_a', { ...ANY, ...query })).rows.map((event) => event.id);
}

export function describeEvents(open: OpenStore): void {
  describe('listing events', () => {
    test('events about one subject are newest first, and only from its tenant', async () => {
      const opened = await openWithTenants(open);
      const about = (id: string, createdAt: number, subjectId: string) => {
        const routed = anEvent(id, { createdAt });
        return { ...routed, event: { ...routed.event, subjectId } };
      };
      await store(
        opened.store,
        about('evt_1', T0, 'sig_x'),
        about('evt_2', T0 + 1, 'sig_x'),
        about('evt_3', T0, 'sig_y'),
      );
      const listed = async (tenantId: string, limit: number) =>
        (await opened.store.listEventsAbout(tenantId, 'sig_x', limit)).map((event) => event.id);
      expect(await listed('ten_a', 10)).toEqual(['evt_2', 'evt_1']);
      expect(await listed('ten_a', 1)).toEqual(['evt_2']);
      expect(await listed('ten_b', 10)).toEqual([]);
    });

    test('an event has its outcome for each endpoint', async () => {
      const opened = await openWithTenants(open);
      for (const [id, status] of [
        ['whk_paused', 'paused'],
        ['whk_gone', 'active'],
        ['whk_no', 'active'],
      ] as const) {
        await opened.store.createEndpoint(anEndpoint('ten_a', { id, status }), null);
      }
      const routed = aRoutedEvent('ten_a', ['whk_a', 'whk_paused', 'whk_gone'], {
        id: 'evt_1',
        deliveryIds: ['dlv_1', 'dlv_2', 'dlv_3'],
      });
      await store(opened.store, { ...routed, skipped: [{ endpointId: 'whk_no', reason: 'min_score' }] });
      await opened.store.deleteEndpoint('ten_a', 'whk_gone', T0);
      const { rows, last } = await opened.store.listEvents('ten_a', ANY);
      expect(last).toBeNull();
      expect(rows).toEqual([
        {
          ...routed.event,
          deliveries: [
            { id: 'dlv_1', endpointId: 'whk_a', status: 'pending', endpointDeleted: false },
            { id: 'dlv_3', endpointId: 'whk_gone', status: 'discarded', endpointDeleted: true },
            { id: 'dlv_2', endpointId: 'whk_paused', status: 'held', endpointDeleted: false },
          ],
          batched: [],
          skips: [{ endpointId: 'whk_no', reason: 'min_score' }],
        },
      ]);
      expect((await opened.store.listEvents('ten_b', ANY)).rows).toEqual([]);
    });

    test('of an event with very many deliveries, a thousand are read', async () => {
      const opened = await openWithTenants(open);
      const deliveryIds = Array.from({ length: 1_005 }, (_, n) => `dlv_${1_000 + n}`);
      const routed = aRoutedEvent(
        'ten_a',
        deliveryIds.map(() => 'whk_a'),
        { id: 'evt_1', deliveryIds },
      );
      await store(opened.store, { ...routed, event: { ...routed.event, subjectId: 'sig_x' } });
      const pages = await Promise.all([
        opened.store.listEvents('ten_a', ANY).then(({ rows }) => rows),
        opened.store.listStoredEvents('ten_a', ANY).then(({ rows }) => rows),
        opened.store.listEventsAbout('ten_a', 'sig_x', 5),
      ]);
      for (const rows of pages) expect(rows.map(({ deliveries }) => deliveries.length)).toEqual([1_000]);
    });

    test('filters apply alone and in combination', async () => {
      const opened = await openWithTenants(open);
      await store(
        opened.store,
        anEvent('evt_1', { createdAt: T0 + 1 }),
        anEvent('evt_2', { createdAt: T0 + 2, type: 'lead.enriched' }),
        anEvent('evt_3', { createdAt: T0 + 3, type: 'deal.changed' }),
        anEvent('evt_4', { createdAt: T0 + 4, type: 'lead.enriched' }),
      );
      expect(await ids(opened.store)).toEqual(['evt_4', 'evt_3', 'evt_2', 'evt_1']);
      expect(await ids(opened.store, { types: ['lead.enriched'] })).toEqual(['evt_4', 'evt_2']);
      expect(await ids(opened.store, { types: ['deal.changed', 'signal.detected'] })).toEqual([
        'evt_3',
        'evt_1',
      ]);
      expect(await ids(opened.store, { from: T0 + 2, to: T0 + 4 })).toEqual(['evt_3', 'evt_2']);
      expect(await ids(opened.store, { types: ['lead.enriched'], to: T0 + 4 })).toEqual(['evt_2']);
    });

    test('paging returns every event exactly once, in order, despite concurrent changes', async () => {
      const opened = await openWithTenants(open);
      let run = 0;
      const event = fc.record({ at: fc.nat(2), type: fc.constantFrom(...EVENT_TYPES.slice(0, 3)) });
      await fc.assert(
        fc.asyncProperty(
          fc.array(event, { maxLength: 20 }),
          fc.array(event, { maxLength: 4 }),
          fc.integer({ min: 1, max: 6 }),
          fc.subarray(EVENT_TYPES.slice(0, 3)),
          async (before, meanwhile, limit, types) => {
            const from = T0 + ++run * 10;
            const made = (prefix: string) => (e: { at: number; type: EventType }, i: number) =>
              anEvent(`evt_${prefix}_${run}_${i}`, { createdAt: from + e.at, type: e.type });
            const old = before.map(made('old'));
            const added = meanwhile.map(made('new'));
            await store(opened.store, ...old);
            const seen: string[] = [];
            let after: EventQuery['after'] = null;
            do {
              const page = await opened.store.listEvents('ten_a', {
                types,
                from,
                to: from + 10,
                limit,
                after,
              });
              seen.push(...page.rows.map((row) => row.id));
              after = page.last;
              const next = added.pop();
              if (next !== undefined) await store(opened.store, next);
            } while (after !== null);
            expect(new Set(seen).size).toBe(seen.length);
            const wanted = old.filter(({ event }) => types.length === 0 || types.includes(event.type));
            expect(seen.filter((id) => id.startsWith('evt_old')).sort()).toEqual(
              wanted.map(({ event }) => event.id).sort(),
            );
          },
        ),
        { numRuns: 40 },
      );
    });
  });
}
