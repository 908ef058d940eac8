import { describe, expect, test } from 'vitest';
import { NO_SETTINGS, START_POSITION } from '../../../src/model/constants.ts';
import { aRun, aSource, claimAt } from '../../support/sources.ts';
import { aSignal, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

export function describeSources(open: OpenStore): void {
  describe('sources', () => {
    test('returns a source as stored, to its tenant only', async () => {
      const { store } = await openWithTenants(open);
      const settings = { ...NO_SETTINGS, query: 'crm', site: 'softwarerecs', tagged: ['crm', 'mac'] };
      const source = aSource({ kind: 'stackexchange', settings, profileIds: ['icp_1'], status: 'paused' });
      expect(await store.createSource(source, 10)).toBe('created');
      expect(await store.getSource('ten_a', 'src_1')).toEqual(source);
      expect(await store.getSource('ten_b', 'src_1')).toBeNull();
    });

    test('a name is unique per tenant, ignoring case', async () => {
      const { store } = await openWithTenants(open);
      expect(await store.createSource(aSource({ name: 'Été' }), 10)).toBe('created');
      expect(await store.createSource(aSource({ id: 'src_2', name: 'ÉTÉ' }), 10)).toBe('name_taken');
      const elsewhere = aSource({ id: 'src_3', name: 'été', tenantId: 'ten_b' });
      expect(await store.createSource(elsewhere, 10)).toBe('created');
      await store.createSource(aSource({ id: 'src_4', name: 'Other' }), 10);
      const renamed = aSource({ id: 'src_4', name: 'éTé', version: 2 });
      expect(await store.changeSource(renamed, false)).toBe('name_taken');
    });

    test('a tenant cannot exceed its limit of sources', async () => {
      const { store } = await openWithTenants(open);
      const asked = [1, 2, 3].map((n) => store.createSource(aSource({ id: `src_${n}` }), 2));
      expect((await Promise.all(asked)).sort()).toEqual(['created', 'created', 'full']);
    });

    test("pages contain one tenant's sources, oldest first", async () => {
      const { store } = await openWithTenants(open);
      for (const n of [1, 2, 3]) {
        await store.createSource(aSource({ id: `src_${n}`, createdAt: T0 + (n === 1 ? 0 : 1) }), 10);
      }
      await store.createSource(aSource({ id: 'src_b', tenantId: 'ten_b' }), 10);
      const first = await store.pageSources('ten_a', { limit: 2, after: null });
      expect([first.rows.map(({ id }) => id), first.last]).toEqual([
        ['src_1', 'src_2'],
        [T0 + 1, 'src_2'],
      ]);
      const second = await store.pageSources('ten_a', { limit: 2, after: first.last });
      expect([second.rows.map(({ id }) => id), second.last]).toEqual([['src_3'], null]);
      expect(await store.countSources('ten_a')).toBe(3);
      await store.deleteSource('ten_a', 'src_1');
      expect(await Promise.all(['ten_a', 'ten_b', 'ten_none'].map(store.countSources))).toEqual([2, 1, 0]);
    });

    test('a change applies only to the version it is based on', async () => {
      const { store } = await openWithTenants(open);
      await store.createSource(aSource(), 10);
      const next = aSource({ name: 'Renamed', status: 'paused', intervalSeconds: 60, version: 2 });
      expect(await store.changeSource(next, false)).toBe('changed');
      expect(await store.changeSource({ ...next, name: 'Late' }, false)).toBe('stale');
      expect(await store.changeSource({ ...next, tenantId: 'ten_b', version: 3 }, false)).toBe('stale');
      expect(await store.getSource('ten_a', 'src_1')).toEqual(next);
    });

    test('deleting a source frees its name', async () => {
      const { store } = await openWithTenants(open);
      await store.createSource(aSource(), 10);
      expect(await store.deleteSource('ten_b', 'src_1')).toBe(false);
      expect(await store.deleteSource('ten_a', 'src_1')).toBe(true);
      expect(await store.deleteSource('ten_a', 'src_1')).toBe(false);
      expect(await store.createSource(aSource({ id: 'src_2', name: 'Source src_1' }), 10)).toBe('created');
      expect(await store.nextSourceDue(0)).toBe(T0);
    });

    test('links of a deleted source to its signals are removed in pieces, while it cannot be read, run or changed', async () => {
      const { store } = await openWithTenants(open);
      await store.createSource(aSource(), 10);
      const [claimed] = await claimAt(store, T0);
      if (claimed === undefined) throw new Error('not due');
      const signals = [1, 2, 3].map((n) => aSignal('ten_a', { id: `sig_${n}`, externalId: `x${n}` }));
      await store.addRunSignals({ sourceId: 'src_1', token: claimed.token }, signals);
      expect(await store.deleteSource('ten_a', 'src_1', 1)).toBe(true);
      for (const isMore of [true, true, false]) {
        expect(await store.getSource('ten_a', 'src_1')).toBeNull();
        expect((await store.pageSources('ten_a', { limit: 2, after: null })).rows).toEqual([]);
        expect(await store.deleteSource('ten_a', 'src_1')).toBe(false);
        expect(await store.runSource('ten_a', 'src_1', T0)).toBe(false);
        expect(await store.changeSource(aSource({ version: 2 }), false)).toBe('stale');
        expect(await store.nextSourceDue(0)).toBeNull();
        expect(await claimAt(store, T0 + 90_000)).toEqual([]);
        expect(await store.finishSourceRun(aRun(claimed))).toBeNull();
        expect(await store.pruneSources(2)).toBe(isMore);
      }
      expect(await store.getSignal('ten_a', 'sig_3')).not.toBeNull();
    });

    test('a deleted source counts no more, even before its links are removed', async () => {
      const { store } = await openWithTenants(open);
      await store.createSource(aSource(), 1);
      await store.deleteSource('ten_a', 'src_1');
      expect(await store.createSource(aSource({ id: 'src_2', name: 'Source src_1' }), 1)).toBe('created');
    });

    test('a new source starts from the beginning', async () => {
      const { store } = await openWithTenants(open);
      await store.createSource(aSource(), 10);
      const claim = { now: T0, leaseUntil: T0 + 1, ids: ['src_1'], token: 'run_1' };
      expect(await store.claimSources(claim)).toEqual([
        { source: aSource(), position: START_POSITION, token: 'run_1' },
      ]);
    });
  });
}
