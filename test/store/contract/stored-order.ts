import { describe, expect, test } from 'vitest';
import { parseRows } from '../../../src/lib/json.ts';
import type { Position } from '../../../src/model/filters.ts';
import type { NewSignal, StoredSignalQuery } from '../../../src/store/signal-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const ANY: StoredSignalQuery = {
  ...{ platforms: [], icps: [], signalTypes: [], classifications: [], companyDomains: [] },
  ...{ from: null, to: null, minScore: null, q: null, explain: false, limit: 25, after: null },
};
const NO_TYPES = { types: [], from: null, to: null };

async function page(store: Store, query: Partial<StoredSignalQuery> = {}, tenantId = 'ten_a') {
  const { json, ...rest } = await store.listStoredSignals(tenantId, { ...ANY, ...query });
  const rows = parseRows<{ signal_id: string }>(json);
  expect(rest.count).toBe(rows.length);
  return { ...rest, ids: rows.map(({ signal_id }) => signal_id) };
}

/** Stores signals with these IDs, each in its own commit, detected a millisecond before the previous one. */
async function storeEach(
  store: Store,
  ids: readonly string[],
  overrides: Partial<NewSignal> = {},
  shown: object = {},
) {
  for (const [n, id] of ids.entries()) {
    const wire = JSON.stringify({ signal_id: id, ...shown });
    await store.commitSignals([aSignal('ten_a', { id, timestamp: T0 - n, wire, ...overrides })]);
  }
}

export function describeStoredOrder(open: OpenStore): void {
  describe('reading in commit order', () => {
    test('returns signals in the order of storing, regardless of time, with the next position', async () => {
      const { store } = await openWithTenants(open);
      await storeEach(store, ['sig_1', 'sig_2', 'sig_3']);
      await store.commitSignals([aSignal('ten_b', { id: 'sig_b' })]);
      const first = await page(store, { limit: 2 });
      expect(first).toMatchObject({ ids: ['sig_1', 'sig_2'], hasMore: true });
      const second = await page(store, { limit: 2, after: first.next });
      expect(second).toMatchObject({ ids: ['sig_3'], hasMore: false });
      const third = await page(store, { limit: 2, after: second.next });
      expect(third).toEqual({ count: 0, ids: [], next: second.next, hasMore: false });
      await store.commitSignals([aSignal('ten_a', { id: 'sig_0', timestamp: T0 - 1_000_000 })]);
      expect(await page(store, { after: third.next })).toMatchObject({ ids: ['sig_0'], hasMore: false });
    });

    test('signals stored after a position is read come after it', async () => {
      const { store } = await openWithTenants(open);
      expect((await page(store)).next).toEqual([await store.storedPosition('ten_a')]);
      await storeEach(store, ['sig_1']);
      const now = [await store.storedPosition('ten_a')];
      expect(await page(store, { after: now })).toMatchObject({ ids: [], next: now });
      await storeEach(store, ['sig_2']);
      expect((await page(store, { after: now })).ids).toEqual(['sig_2']);
    });

    test('a position stays before later signals, even if the newest ones are removed', async () => {
      const { store } = await openWithTenants(open);
      await storeEach(store, ['sig_1', 'sig_2'], { platform: 'x', canonicalUrl: null });
      await store.commitSignals([aSignal('ten_a', { id: 'sig_x', externalId: 'x', platform: 'gone' })]);
      const { next } = await page(store);
      expect(await store.removeSignalsOf('ten_a', 'gone')).toBe(1);
      expect(await page(store, { after: next })).toMatchObject({ ids: [], next, hasMore: false });
      await storeEach(store, ['sig_3']);
      expect((await page(store, { after: next })).ids).toEqual(['sig_3']);
    });

    test.each<[string, Partial<StoredSignalQuery>]>([
      ['platform', { platforms: ['x', 'y'] }],
      ['profile', { icps: ['icp_ten_a'], minScore: 90 }],
      ['type', { signalTypes: ['review'] }],
      ['class', { classifications: ['warm'] }],
      ['domain', { companyDomains: ['acme.example'] }],
      ['least score', { minScore: 81 }],
      ['time', { from: T0 + 1, to: T0 + 2 }],
      ['words', { q: 'forklift "two of"' }],
      ['words of people and company', { q: 'acme whitlock' }],
    ])('filters by %s', async (_, query) => {
      const { store } = await openWithTenants(open);
      const wanted = {
        ...{ platform: 'x', signalType: 'review', classification: 'warm', companyDomain: 'acme.example' },
        ...{ score: 95, timestamp: T0 + 1, text: 'We need two of them: forklifts.' },
      };
      await storeEach(store, ['sig_1']);
      const facts = { prospect: { name: 'Dana Whitlock' }, company: { name: 'Acme' } };
      await storeEach(store, ['sig_2', 'sig_3'], wanted, facts);
      await storeEach(store, ['sig_4']);
      const first = await page(store, { ...query, limit: 1 });
      expect(first.ids).toEqual(['sig_2']);
      const rest = await page(store, { ...query, after: first.next });
      expect(rest).toMatchObject({ ids: ['sig_3'], hasMore: false });
      expect(rest.next).toEqual((await page(store)).next);
      expect((await page(store, query, 'ten_b')).ids).toEqual([]);
    });

    test('a filter that matches nothing skips all existing rows', async () => {
      const { store } = await openWithTenants(open);
      await storeEach(store, ['sig_1', 'sig_2']);
      const { next } = await page(store);
      for (const query of [{ icps: ['no such profile'] }, { q: '!!' }, { platforms: ['nowhere'] }]) {
        expect(await page(store, query)).toEqual({ count: 0, ids: [], next, hasMore: false });
        expect(await page(store, { ...query, after: next })).toMatchObject({ next, hasMore: false });
      }
    });

    test('a page scans a limited number of rows, leaving later matches to later pages', async () => {
      const { store } = await openWithTenants(open);
      const many = Array.from({ length: 2_100 }, (_, n) => aSignal('ten_a', { timestamp: T0 + n }));
      for (let n = 0; n < many.length; n += 300) await store.commitSignals(many.slice(n, n + 300));
      await storeEach(store, ['sig_last'], { platform: 'x', text: 'a forklift' });
      for (const query of [{ platforms: ['x'] }, { q: 'forklift' }]) {
        let after: Position | null = null;
        let pages = 0;
        let found: string[] = [];
        do {
          const read = await page(store, { ...query, after });
          if (found.length === 0 && read.ids.length === 0) expect(read.hasMore).toBe(true);
          found = [...found, ...read.ids];
          after = read.next;
          pages++;
          if (!read.hasMore) break;
        } while (pages < 20);
        expect(found).toEqual(['sig_last']);
        expect(pages).toBeGreaterThan(1);
      }
    });

    test('a page searches a limited number of characters, so that common words delay nobody', async () => {
      const { store } = await openWithTenants(open);
      const text = 'our twelve vans need a crm '.repeat(400);
      await store.commitSignals(Array.from({ length: 60 }, () => aSignal('ten_a', { text })));
      const first = await page(store, { q: '"vans our twelve"' });
      expect(first).toMatchObject({ ids: [], hasMore: true });
      const second = await page(store, { q: '"twelve vans" crm', limit: 2 });
      expect(second.ids).toHaveLength(2);
    });

    test('includes the explanation of rows on request', async () => {
      const { store } = await openWithTenants(open);
      await storeEach(store, ['sig_1']);
      const { json } = await store.listStoredSignals('ten_a', { ...ANY, explain: true });
      expect(parseRows(json)).toEqual([{ signal_id: 'sig_1', explanation: { score: 80 } }]);
    });

    test('returns events in the order of storing, with the outcome for each endpoint', async () => {
      const { store } = await openWithTenants(open);
      const event = (id: string, createdAt: number) =>
        aRoutedEvent('ten_a', ['whk_a'], { id, createdAt, deliveryIds: [`dlv_${id}`] });
      await store.commitSignals([aSignal('ten_a', { events: [event('evt_9', T0 + 9)] })]);
      await store.commitSignals([aSignal('ten_a', { events: [event('evt_1', T0 + 1), event('evt_0', T0)] })]);
      const first = await store.listStoredEvents('ten_a', { ...NO_TYPES, limit: 2, after: null });
      expect(first.rows.map(({ id }) => id)).toEqual(['evt_9', 'evt_1']);
      expect(first.rows[0]?.deliveries).toMatchObject([{ id: 'dlv_evt_9', status: 'pending' }]);
      expect(first).toMatchObject({ count: 2, hasMore: true });
      const late = await store.listStoredEvents('ten_a', { ...NO_TYPES, limit: 2, after: first.next });
      expect(late.rows.map(({ id }) => id)).toEqual(['evt_0']);
      const none = { ...NO_TYPES, limit: 2, after: null };
      expect(await store.listStoredEvents('ten_a', { ...none, types: ['deal.changed'] })).toEqual({
        ...{ count: 0, rows: [], next: late.next, hasMore: false },
      });
      expect((await store.listStoredEvents('ten_a', { ...none, to: T0 + 1 })).rows).toHaveLength(1);
      expect((await store.listStoredEvents('ten_b', none)).rows).toEqual([]);
    });

    test('a commit wakes a waiting call of the same kind and tenant', async () => {
      const { store, clock } = await openWithTenants(open);
      const gone = new AbortController();
      const woken: string[] = [];
      const wait = (tenantId: string, kind: 'signals' | 'events') =>
        store
          .untilStored(tenantId, { kind, after: [0] }, gone.signal)
          .then(() => woken.push(`${tenantId} ${kind}`));
      const waits = [wait('ten_b', 'signals'), wait('ten_a', 'events'), wait('ten_a', 'signals')];
      await store.commitSignals([aSignal('ten_a')]);
      clock.advance(1_000);
      await waits[2];
      expect(woken).toEqual(['ten_a signals']);
      await store.untilStored('ten_a', { kind: 'signals', after: [0] }, gone.signal); // one already exists
      gone.abort();
      await Promise.all(waits);
      expect(woken).toHaveLength(3);
      expect(clock.pending()).toBe(0);
    });
  });
}
