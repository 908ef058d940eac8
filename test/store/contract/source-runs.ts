import { describe, expect, test } from 'vitest';
import type { SourcePosition } from '../../../src/model/source.ts';
import type { ClaimedSource } from '../../../src/store/source-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { aRun, aSource, claimAt } from '../../support/sources.ts';
import { aRoutedEvent, aSignal, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const READ: SourcePosition = {
  etag: '"1"',
  lastModified: null,
  newestAt: T0,
  seen: ['a', 'b'],
  cursor: null,
};

async function openWithSource(open: OpenStore) {
  const opened = await openWithTenants(open);
  await opened.store.createSource(aSource(), 10);
  return opened;
}

/** The one source, claimed at `now`. */
async function claimOne(store: Store, now: number, token?: string): Promise<ClaimedSource> {
  const [claimed, ...others] = await claimAt(store, now, token);
  expect(others).toEqual([]);
  if (claimed === undefined) throw new Error('nothing was due');
  return claimed;
}

export function describeSourceRuns(open: OpenStore): void {
  describe('runs of sources', () => {
    test('claims due sources once, longest due first; they are due again when the lease ends', async () => {
      const { store } = await openWithTenants(open);
      const on = (host: string) => ({ ...aSource().settings, url: `https://${host}/feed` });
      const late = aSource({ id: 'src_late', nextPollAt: T0 + 5, settings: on('late.example.com') });
      await store.createSource(late, 10);
      await store.createSource(aSource({ id: 'src_early', nextPollAt: T0 - 5 }), 10);
      await store.createSource(aSource({ id: 'src_next', nextPollAt: T0 + 90_000 }), 10);
      await store.createSource(aSource({ id: 'src_paused', status: 'paused' }), 10);
      const idsAt = async (now: number, token: string, limit?: number) =>
        (await claimAt(store, now, token, limit)).map(({ source }) => source.id);
      expect(await store.nextSourceDue(0)).toBe(T0 - 5);
      expect(await idsAt(T0, 'run_1')).toEqual(['src_early']);
      expect(await idsAt(T0 + 10, 'run_2', 1)).toEqual(['src_late']);
      expect(await idsAt(T0 + 10, 'run_3')).toEqual([]);
      expect(await store.nextSourceDue(0)).toBe(T0 + 60_000);
      expect(await idsAt(T0 + 60_010, 'run_4')).toEqual(['src_early', 'src_late']);
    });

    test('returns the longest due source per tenant and host; a service without URL is a host', async () => {
      const { store } = await openWithTenants(open);
      const none = { ...aSource().settings, url: null, query: 'crm' };
      const add = (id: string, more: Parameters<typeof aSource>[0]) =>
        store.createSource(aSource({ id, ...more }), 10);
      await add('src_1', { nextPollAt: T0 - 1 });
      await add('src_2', { nextPollAt: T0 - 2 });
      await add('src_b', { nextPollAt: T0 - 3, tenantId: 'ten_b' });
      await add('src_hn', { nextPollAt: T0 - 4, kind: 'hackernews', settings: none });
      await add('src_bare', { settings: { ...none, url: 'https://other.example.com:8443' } });
      expect((await store.dueSources(T0)).map(({ id, host }) => [id, host])).toEqual([
        ['src_hn', 'hackernews'],
        ['src_b', 'feeds.example.com'],
        ['src_2', 'feeds.example.com'],
        ['src_bare', 'other.example.com:8443'],
      ]);
      expect(await store.claimSources({ now: T0 - 3, leaseUntil: T0, ids: ['src_2'], token: 'x' })).toEqual(
        [],
      );
    });

    test('a postponed source is due at the new time and is otherwise unchanged', async () => {
      const { store } = await openWithSource(open);
      const claimed = await claimOne(store, T0);
      const run = { sourceId: 'src_1', token: 'other', claimedPollAt: T0 };
      await store.putOffSource(run, T0 + 10_000);
      expect(await store.nextSourceDue(0)).toBe(T0 + 60_000);
      await store.putOffSource({ ...run, token: claimed.token }, T0 + 10_000);
      expect(await store.getSource('ten_a', 'src_1')).toEqual(aSource({ nextPollAt: T0 + 10_000 }));
      expect((await claimOne(store, T0 + 10_000)).position).toEqual(claimed.position);
    });

    test("stores part of a run's signals early, counts them, and recognises repeated ones", async () => {
      const { store } = await openWithSource(open);
      const claimed = await claimOne(store, T0);
      const run = { sourceId: 'src_1', token: claimed.token };
      const one = aSignal('ten_a', { id: 'sig_1', externalId: 'x' });
      expect(await store.addRunSignals({ ...run, token: 'other' }, [one])).toBeNull();
      expect(await store.addRunSignals(run, [one])).toMatchObject([{ status: 'created' }]);
      const two = aSignal('ten_a', { id: 'sig_2', externalId: 'y' });
      await store.finishSourceRun(aRun(claimed, { signals: [{ ...one, id: 'sig_3' }, two], position: READ }));
      expect(await store.getSource('ten_a', 'src_1')).toMatchObject({ signalsMade: 2 });
    });

    test('stores a complete run: signals with their deliveries, position, counts and next time', async () => {
      const { store } = await openWithSource(open);
      const claimed = await claimOne(store, T0);
      const signals = [
        aSignal('ten_a', {
          id: 'sig_1',
          externalId: 'x',
          events: [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_1'] })],
        }),
        aSignal('ten_a', { id: 'sig_2', externalId: 'x' }),
      ];
      const committed = await store.finishSourceRun(
        aRun(claimed, { signals, position: READ, itemsSeen: 7, now: T0 + 3 }),
      );
      expect(committed?.map(({ id, status }) => [id, status])).toEqual([
        ['sig_1', 'created'],
        ['sig_1', 'duplicate'],
      ]);
      expect(await store.getDelivery('ten_a', 'dlv_1')).not.toBeNull();
      expect(await store.getSource('ten_a', 'src_1')).toEqual(
        aSource({
          lastRunAt: T0 + 3,
          lastSuccessAt: T0 + 3,
          nextPollAt: T0 + 900_000,
          itemsSeen: 7,
          signalsMade: 1,
        }),
      );
      expect((await claimOne(store, T0 + 900_000)).position).toEqual(READ);
    });

    test('if a signal cannot be stored, the position stays, too, and the run can be repeated', async () => {
      const { store } = await openWithSource(open);
      const claimed = await claimOne(store, T0);
      const good = aSignal('ten_a', { id: 'sig_1', externalId: 'x' });
      const bad = aSignal('ten_a', { id: 'sig_2', profileId: 'icp_that_is_not_there' });
      const run = aRun(claimed, { signals: [good, bad], position: READ });
      await expect(store.finishSourceRun(run)).rejects.toThrow();
      expect(await store.getSignal('ten_a', 'sig_1')).toBeNull();
      expect(await store.getSource('ten_a', 'src_1')).toEqual(aSource());
      const again = await claimOne(store, T0 + 60_000, 'run_2');
      expect(again.position).toEqual(claimed.position);
      expect(await store.finishSourceRun(aRun(again, { signals: [good], position: READ }))).toHaveLength(1);
    });

    test('stores nothing of a run that was taken over or whose source was deleted', async () => {
      const { store } = await openWithSource(open);
      const slow = await claimOne(store, T0);
      const quick = await claimOne(store, T0 + 60_000, 'run_2');
      const lost = aRun(slow, { signals: [aSignal('ten_a', { id: 'sig_1' })], position: READ });
      expect(await store.finishSourceRun(lost)).toBeNull();
      expect(await store.getSignal('ten_a', 'sig_1')).toBeNull();
      await store.deleteSource('ten_a', 'src_1');
      expect(await store.finishSourceRun(aRun(quick))).toBeNull();
    });

    test('a source that changes what it reads loses its position and the run in progress', async () => {
      const { store } = await openWithSource(open);
      await store.finishSourceRun(aRun(await claimOne(store, T0), { position: READ }));
      const running = await claimOne(store, T0 + 900_000, 'run_2');
      const changed = { ...running.source, nextPollAt: T0 + 900_001, version: 2 };
      expect(await store.changeSource(changed, true)).toBe('changed');
      expect(await store.finishSourceRun(aRun(running, { position: READ }))).toBeNull();
      expect((await claimOne(store, T0 + 900_001, 'run_3')).position).toMatchObject({ etag: null, seen: [] });
    });

    test('stores a run in progress even if its source is renamed or paused', async () => {
      const { store } = await openWithSource(open);
      const running = await claimOne(store, T0);
      const paused = aSource({ name: 'Renamed', status: 'paused', version: 2 });
      await store.changeSource(paused, false);
      expect(await store.finishSourceRun(aRun(running, { itemsSeen: 2, position: READ }))).toEqual([]);
      expect(await store.getSource('ten_a', 'src_1')).toMatchObject({
        name: 'Renamed',
        status: 'paused',
        itemsSeen: 2,
      });
      expect(await store.nextSourceDue(0)).toBeNull();
    });

    test('counts failed runs and stores their error until a success, and keeps the position', async () => {
      const { store } = await openWithSource(open);
      await store.finishSourceRun(aRun(await claimOne(store, T0), { position: READ }));
      const error = { code: 'timeout', message: 'Too slow.', at: T0 + 900_000 };
      for (const failures of [1, 2]) {
        const claimed = await claimOne(store, T0 + 900_000 * failures);
        const nextPollAt = T0 + 900_000 * (failures + 1);
        await store.finishSourceRun(aRun(claimed, { error, nextPollAt, now: T0 + 900_000 }));
        expect(await store.getSource('ten_a', 'src_1')).toMatchObject({
          failures,
          lastError: error,
          lastSuccessAt: T0,
          lastRunAt: T0 + 900_000,
        });
      }
      const claimed = await claimOne(store, T0 + 2_700_000);
      expect(claimed.position).toEqual(READ);
      await store.finishSourceRun(aRun(claimed));
      expect(await store.getSource('ten_a', 'src_1')).toMatchObject({ failures: 0, lastError: null });
    });

    test('a requested run starts after the one in progress, but not before the site allows', async () => {
      const { store } = await openWithSource(open);
      const running = await claimOne(store, T0);
      expect(await store.runSource('ten_a', 'src_1', T0 + 5)).toBe(true);
      await store.finishSourceRun(aRun(running, { now: T0 + 6 }));
      expect(await store.nextSourceDue(0)).toBe(T0 + 5);
      const asked = await claimOne(store, T0 + 6, 'run_2');
      await store.finishSourceRun(aRun(asked, { notBefore: T0 + 40_000, nextPollAt: T0 + 40_000 }));
      expect(await store.runSource('ten_a', 'src_1', T0 + 7)).toBe(true);
      expect(await store.nextSourceDue(0)).toBe(T0 + 40_000);
      await store.changeSource(aSource({ nextPollAt: T0 + 8, version: 2 }), false);
      expect(await store.nextSourceDue(0)).toBe(T0 + 40_000);
    });

    test("cannot run a paused source or another tenant's", async () => {
      const { store } = await openWithTenants(open);
      await store.createSource(aSource({ status: 'paused' }), 10);
      expect(await store.runSource('ten_a', 'src_1', T0)).toBe(false);
      expect(await store.runSource('ten_b', 'src_1', T0)).toBe(false);
    });

    test('sources planned by a fast clock are due now, with pauses equally long; others stay', async () => {
      const { store } = await openWithTenants(open);
      const HOUR = 3_600_000;
      const readAt = async (id: string, now: number, run: Parameters<typeof aRun>[1]) => {
        await store.createSource(aSource({ id, nextPollAt: now, createdAt: T0 }), 10);
        const [claimed] = await store.claimSources({
          now,
          leaseUntil: now + 1,
          ids: [id],
          token: `run_${id}`,
        });
        if (claimed !== undefined) await store.finishSourceRun(aRun(claimed, { now, ...run }));
      };
      const hurried = T0 + 2 * HOUR;
      await readAt('src_ahead', hurried, { nextPollAt: hurried + HOUR });
      await readAt('src_paused_by_host', hurried, {
        nextPollAt: hurried + 60_000,
        notBefore: hurried + 60_000,
      });
      await readAt('src_right', T0, { nextPollAt: T0 + HOUR });
      await store.createSource(aSource({ id: 'src_new', nextPollAt: hurried, createdAt: hurried }), 10);
      const now = T0 + 1_000;
      expect(await store.replanSources(now)).toBe(3);
      expect(await store.replanSources(now)).toBe(0);
      const { rows } = await store.pageSources('ten_a', { limit: 10, after: null });
      expect(Object.fromEntries(rows.map(({ id, nextPollAt }) => [id, nextPollAt - now]))).toEqual({
        src_ahead: 0,
        src_paused_by_host: 60_000,
        src_right: HOUR - 1_000,
        src_new: 0,
      });
    });

    test('starting ends the leases of the previous process', async () => {
      const { store } = await openWithSource(open);
      const lost = await claimOne(store, T0);
      expect(await store.recoverSources({ own: true, now: T0 })).toEqual(['src_1']);
      expect((await claimOne(store, T0, 'run_2')).source.id).toBe('src_1');
      expect(await store.finishSourceRun(aRun(lost))).toBeNull();
    });
  });
}
