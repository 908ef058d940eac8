import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { idFloor } from '../../../src/lib/ids.ts';
import { DELIVERY_STATUSES } from '../../../src/model/delivery.ts';
import type { EventType } from '../../../src/model/event.ts';
import { summaryOf } from '../../../src/rules/deliveries.ts';
import type { DeliveryQuery, DeliverySummary } from '../../../src/store/delivery-log-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { anEndpoint, aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { addDeliveries, anOutcome } from './claiming.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const ANY: DeliveryQuery = {
  endpointId: null,
  status: null,
  eventType: null,
  eventId: null,
  from: null,
  to: null,
  limit: 100,
  after: null,
};

/** All pages of a query, concatenated. */
async function walkPages(store: Store, query: Partial<DeliveryQuery>): Promise<string[]> {
  const ids: string[] = [];
  let after: (string | number)[] | null = null;
  do {
    const page = await store.listDeliveries('ten_a', { ...ANY, ...query, after });
    ids.push(...page.rows.map((row) => row.id));
    after = page.last;
  } while (after !== null);
  return ids;
}

/** Everything after a cursor in commit order, in pages of two, and the cursor after it. */
async function readOn(store: Store, query: Partial<DeliveryQuery>, from: DeliveryQuery['after'] = null) {
  const ids: string[] = [];
  let after = from;
  for (let pages = 0; pages < 50; pages++) {
    const page = await store.listStoredDeliveries('ten_a', { ...ANY, limit: 2, ...query, after });
    ids.push(...page.rows.map(({ id }) => id));
    after = page.next;
    if (!page.hasMore) return { ids, after };
  }
  throw new Error('The order by commit does not end.');
}

const ENDINGS = ['pending', 'retrying', 'delivered', 'dead', 'discarded', 'rejected'] as const;

interface Plan {
  endpoint: number;
  at: number;
  ending: (typeof ENDINGS)[number];
  event: EventType;
}

const plan: fc.Arbitrary<Plan> = fc.record({
  endpoint: fc.nat(2),
  at: fc.nat(9),
  ending: fc.constantFrom(...ENDINGS),
  event: fc.constantFrom<EventType>('signal.detected', 'signal.new_hot'),
});

const endpointIds = ['whk_a', 'whk_paused', 'whk_deleted'] as const;

/** Creates the planned deliveries and outcomes, then pauses the second endpoint and deletes the third. */
async function carryOut(store: Store, plans: readonly Plan[]): Promise<DeliverySummary[]> {
  for (const id of endpointIds.slice(1)) await store.createEndpoint(anEndpoint('ten_a', { id }), null);
  const events = plans.map(({ endpoint, at, ending, event }, index) => {
    const routed = aRoutedEvent('ten_a', [endpointIds[endpoint] ?? ''], {
      deliveryIds: [`dlv_${index}`],
      createdAt: T0 + at,
      status: ending === 'rejected' ? 'rejected' : 'pending',
    });
    routed.event.type = event;
    return routed;
  });
  await store.commitSignals([aSignal('ten_a', { events })]);
  for (const [index, { ending }] of plans.entries()) {
    if (ending === 'pending' || ending === 'rejected') continue;
    const next =
      ending === 'retrying'
        ? ({ status: 'retrying', at: T0 + 99 } as const)
        : ({ status: ending, expiresAt: T0 + 999 } as const);
    const outcome = { deliveryId: `dlv_${index}`, next, streak: 'keep' } as const; // twenty failures would pause
    await store.recordOutcome(anOutcome(outcome, { id: `att_${index}` }));
  }
  await store.pauseEndpoint('ten_a', 'whk_paused', T0 + 50);
  await store.deleteEndpoint('ten_a', 'whk_deleted', T0 + 50);
  const made = await Promise.all(plans.map((_, index) => store.getDelivery('ten_a', `dlv_${index}`)));
  return made.filter((log) => log !== null);
}

function expected(all: readonly DeliverySummary[], query: Partial<DeliveryQuery>): string[] {
  return all
    .filter((row) => (query.endpointId ?? row.endpointId) === row.endpointId)
    .filter((row) => (query.status ?? row.status) === row.status)
    .filter((row) => (query.eventType ?? row.eventType) === row.eventType)
    .filter((row) => row.createdAt >= (query.from ?? 0) && row.createdAt < (query.to ?? Number.MAX_VALUE))
    .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
    .map((row) => row.id);
}

export function describeDeliveryLog(open: OpenStore): void {
  describe('the delivery log', () => {
    test('counts attempts by speed and day for a month, even after merging hours', async () => {
      const { store } = await openWithTenants(open);
      const [HOUR, DAY] = [3_600_000, 86_400_000];
      const noon = Math.floor(T0 / DAY) * DAY + 12 * HOUR;
      let made = 0;
      const attempt = async (startedAt: number, durationMs: number, isSuccess = true, again = false) => {
        const id = `dlv_${again ? made : ++made}`;
        if (!again) await addDeliveries(store, 'whk_a', [id]);
        const next = isSuccess ? ({ status: 'delivered' } as const) : { status: 'retrying' as const, at: T0 };
        await store.recordOutcome(
          anOutcome(
            { deliveryId: id, next, streak: isSuccess ? 'reset' : 'add', at: startedAt },
            {
              id: `${idFloor('att', startedAt)}_${id}${again}`,
              startedAt,
              durationMs,
              ...(isSuccess && { error: null }),
            },
          ),
        );
      };
      for (let i = 0; i < 18; i++) await attempt(noon, 100);
      await attempt(noon + HOUR, 900);
      await attempt(noon + HOUR, 7_000);
      await attempt(noon + 2 * HOUR, 40, false);
      await attempt(noon + 2 * HOUR, 40, false, true); // the same attempt, recorded twice
      const since = (ms: number) => store.tallyAttempts('ten_a', { endpointId: 'whk_a', since: ms });
      const summary = async (ms: number) => summaryOf(await since(ms));
      expect(await summary(noon)).toMatchObject({ attempts: 21, successRate: 20 / 21 });
      expect((await summary(noon)).p95).toBeCloseTo(900, -2);
      expect(await summary(noon + 2 * HOUR)).toEqual({ attempts: 1, successRate: 0, p95: null });
      expect(await store.tallyAttempts('ten_b', { endpointId: 'whk_a', since: 0 })).toEqual([]);
      expect(await store.tallyAttempts('ten_a', { endpointId: 'whk_b', since: 0 })).toEqual([]);
      const tidy = async (now: number) =>
        expect(await store.tidyAttemptHours({ now, after: '', limit: 1 })).toBe('whk_a');
      const days = () => store.tallyAttemptDays('ten_a', { endpointId: 'whk_a', since: 0 });
      const day = new Date(noon).toISOString().slice(0, 10);
      const before = [await summary(0), await days()];
      expect(before[1]).toEqual([{ day, succeeded: 20, failed: 1 }]);
      await tidy(noon + DAY);
      expect(await summary(noon + 2 * HOUR)).toMatchObject({ attempts: 1 }); // it may be within the last 24 hours
      await tidy(noon + 2 * DAY);
      expect(await summary(noon)).toMatchObject({ attempts: 0 });
      expect([await summary(0), await days()]).toEqual(before);
      await tidy(noon + 33 * DAY);
      expect(await since(0)).toEqual([]);
    });

    test('shows the subject, status and last attempt of each delivery', async () => {
      const { store } = await openWithTenants(open);
      const event = aRoutedEvent('ten_a', ['whk_a'], { id: 'evt_1', deliveryIds: ['dlv_1'] });
      await store.commitSignals([aSignal('ten_a', { events: [event] })]);
      const bare = {
        id: 'dlv_1',
        endpointId: 'whk_a',
        eventId: 'evt_1',
        eventType: 'signal.detected',
        subjectId: 'sig_subject',
        createdAt: T0,
      };
      expect((await store.listDeliveries('ten_a', ANY)).rows).toEqual([
        {
          ...bare,
          status: 'pending',
          attemptCount: 0,
          nextAttemptAt: T0,
          expiresAt: null,
          lastAttempt: null,
        },
      ]);
      await store.recordOutcome(anOutcome({ next: { status: 'dead', expiresAt: T0 + 7 } }));
      expect((await store.listDeliveries('ten_a', ANY)).rows).toEqual([
        {
          ...bare,
          status: 'dead',
          attemptCount: 1,
          nextAttemptAt: null,
          expiresAt: T0 + 7,
          lastAttempt: { startedAt: T0, durationMs: 12.5, responseStatus: 500, errorCode: 'http_status' },
        },
      ]);
    });

    test('contains nothing of other tenants, even when filtered by their endpoint or event', async () => {
      const { store } = await openWithTenants(open);
      const event = aRoutedEvent('ten_b', ['whk_b'], { id: 'evt_b', deliveryIds: ['dlv_b'] });
      await store.commitSignals([aSignal('ten_b', { events: [event] })]);
      for (const query of [
        {},
        { endpointId: 'whk_b' },
        { eventId: 'evt_b' },
        { status: 'pending' },
      ] as const) {
        expect(await store.listDeliveries('ten_a', { ...ANY, ...query })).toEqual({ rows: [], last: null });
      }
    });

    test('of one event contains its delivery to each endpoint', async () => {
      const { store } = await openWithTenants(open);
      await store.createEndpoint(anEndpoint('ten_a', { id: 'whk_2' }), null);
      const routed = (id: string) =>
        aRoutedEvent('ten_a', ['whk_a', 'whk_2'], { id, deliveryIds: [`dlv_${id}_1`, `dlv_${id}_2`] });
      await store.commitSignals([aSignal('ten_a', { events: [routed('evt_1'), routed('evt_2')] })]);
      expect(await walkPages(store, { eventId: 'evt_1', limit: 1 })).toEqual(['dlv_evt_1_2', 'dlv_evt_1_1']);
      expect(await walkPages(store, { eventId: 'evt_1', endpointId: 'whk_2' })).toEqual(['dlv_evt_1_2']);
      expect(await walkPages(store, { eventId: 'evt_1', status: 'dead' })).toEqual([]);
    });

    test('contains exactly the matches, newest first, for any filter and page size', async () => {
      const opened = await openWithTenants(open);
      const all = await carryOut(opened.store, fc.sample(plan, { numRuns: 120, seed: 7 }));
      expect(new Set(all.map((row) => row.status))).toEqual(
        new Set(DELIVERY_STATUSES.filter((status) => status !== 'expired')),
      );
      const query = fc.record(
        {
          endpointId: fc.constantFrom(...endpointIds),
          status: fc.constantFrom(...DELIVERY_STATUSES),
          eventType: fc.constantFrom<EventType>('signal.detected', 'signal.new_hot'),
          from: fc.integer({ min: T0, max: T0 + 10 }),
          to: fc.integer({ min: T0, max: T0 + 10 }),
          limit: fc.integer({ min: 1, max: 40 }),
        },
        { requiredKeys: ['limit'] },
      );
      await fc.assert(
        fc.asyncProperty(query, async (asked) => {
          expect(await walkPages(opened.store, asked)).toEqual(expected(all, asked));
        }),
        { numRuns: 150 },
      );
    });

    test('finds a few delivered ones among thousands waiting, and vice versa', async () => {
      const { store } = await openWithTenants(open);
      const ids = Array.from({ length: 6_000 }, (_, i) => `dlv_${String(i).padStart(5, '0')}`);
      await addDeliveries(store, 'whk_a', ids.slice(0, 3_000));
      await addDeliveries(store, 'whk_a', ids.slice(3_000));
      const oldest = ids.slice(0, 3);
      for (const deliveryId of oldest) {
        const next = { status: 'delivered' } as const;
        await store.recordOutcome(anOutcome({ deliveryId, next }, { id: `att_${deliveryId}` }));
      }
      expect(await walkPages(store, { status: 'delivered', limit: 2 })).toEqual([...oldest].reverse());
      const pending = await walkPages(store, { status: 'pending', limit: 100 });
      expect(pending).toEqual(ids.slice(3).reverse());
      await store.pauseEndpoint('ten_a', 'whk_a', T0);
      expect(await walkPages(store, { status: 'held', limit: 100 })).toEqual(pending);
      expect(await walkPages(store, { status: 'pending' })).toEqual([]);
    });

    test('continues at the same position while deliveries are being added', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1', 'dlv_2', 'dlv_3']);
      const first = await store.listDeliveries('ten_a', { ...ANY, limit: 2 });
      await addDeliveries(store, 'whk_a', ['dlv_new'], T0 + 5);
      const second = await store.listDeliveries('ten_a', { ...ANY, limit: 2, after: first.last });
      expect([...first.rows, ...second.rows].map((row) => row.id)).toEqual(['dlv_3', 'dlv_2', 'dlv_1']);
      expect(second.last).toBeNull();
    });

    test('is read in commit order, regardless of times, across events with many deliveries', async () => {
      const { store } = await openWithTenants(open);
      const others = ['whk_2', 'whk_3'];
      for (const id of others) await store.createEndpoint(anEndpoint('ten_a', { id }), null);
      const commit = async (name: string, createdAt: number) => {
        const deliveryIds = [1, 2, 3].map((n) => `dlv_${name}${n}`);
        const event = aRoutedEvent('ten_a', ['whk_a', ...others], { createdAt, deliveryIds });
        await store.commitSignals([aSignal('ten_a', { events: [event] })]);
      };
      await commit('b', T0 + 9);
      const first = await readOn(store, {});
      expect(first.ids).toEqual(['dlv_b1', 'dlv_b2', 'dlv_b3']);
      await commit('a', T0);
      const second = await readOn(store, {}, first.after);
      expect(second.ids).toEqual(['dlv_a1', 'dlv_a2', 'dlv_a3']);
      expect((await readOn(store, {}, second.after)).ids).toEqual([]);
      expect((await readOn(store, { endpointId: 'whk_2' })).ids).toEqual(['dlv_b2', 'dlv_a2']);
      const other = await store.listStoredDeliveries('ten_b', { ...ANY, after: null });
      expect(other).toMatchObject({ count: 0, hasMore: false });
    });

    test('lists dead letters in the order in which they died', async () => {
      const { store } = await openWithTenants(open);
      await addDeliveries(store, 'whk_a', ['dlv_1', 'dlv_2', 'dlv_3']);
      const die = (id: string, attempt = 1) =>
        store.recordOutcome(
          anOutcome(
            { deliveryId: id, next: { status: 'dead', expiresAt: T0 + 999 } },
            { id: `att_${id}_${attempt}`, attempt },
          ),
        );
      await die('dlv_2');
      const first = await readOn(store, { status: 'dead' });
      expect(first.ids).toEqual(['dlv_2']);
      await die('dlv_1');
      const second = await readOn(store, { status: 'dead' }, first.after);
      expect(second.ids).toEqual(['dlv_1']);
      await store.replayDelivery('ten_a', 'dlv_2', T0 + 5);
      expect((await readOn(store, { status: 'dead' })).ids).toEqual(['dlv_1']);
      expect(await die('dlv_2', 2)).toBe(true);
      expect((await readOn(store, { status: 'dead' }, second.after)).ids).toEqual(['dlv_2']);
    });
  });

  test('lists the newest signals first, for previews', async () => {
    const { store } = await openWithTenants(open);
    const signal = (id: string, timestamp: number) => aSignal('ten_a', { id, timestamp });
    await store.commitSignals([signal('sig_1', T0), signal('sig_3', T0 + 2), signal('sig_2', T0 + 1)]);
    await store.commitSignals([aSignal('ten_b', { timestamp: T0 + 9 })]);
    const wires = await store.recentSignals('ten_a', 2);
    expect(wires.map((wire) => JSON.parse(wire).signal_id)).toEqual(['sig_3', 'sig_2']);
  });
}
