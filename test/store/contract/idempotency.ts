import { describe, expect, test } from 'vitest';
import type { Job } from '../../../src/model/job.ts';
import type {
  HeldKey,
  JobStep,
  KeyedRequest,
  Reservation,
  Reserved,
} from '../../../src/store/request-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { aKey, T0 } from '../../support/store.ts';
import { type OpenStore, openWithTenants } from './under-test.ts';

const ANSWER = { status: 201, location: 'https://x.example/1', body: '{"data":{"id":"led_1"}}' };

function aRequest(overrides: Partial<KeyedRequest> = {}): KeyedRequest {
  return { tenantId: 'ten_a', route: 'POST /v1/leads', key: 'k1', fingerprint: 'f1', ...overrides };
}

function terms(overrides: Partial<Reservation> = {}): Reservation {
  return { token: 't1', now: T0, expiresAt: T0 + 1_000, ...overrides };
}

function heldOf(reserved: Reserved): HeldKey {
  if (reserved.state !== 'held') throw new Error(`The key is ${reserved.state}.`);
  return reserved.held;
}

const hold = async (store: Store, token = 't1') =>
  heldOf(await store.reserveKey(aRequest(), terms({ token, now: T0 + 10 })));

const keyIds = async (store: Store) =>
  (await store.pageKeys('ten_a', { limit: 100, after: null })).rows.map(({ id }) => id).sort();

export function describeIdempotency(open: OpenStore): void {
  describe('idempotency keys', () => {
    test('only one of many concurrent requests may run', async () => {
      const { store } = await openWithTenants(open);
      const asked = Array.from({ length: 20 }, (_, i) =>
        store.reserveKey(aRequest(), terms({ token: `t${i}` })),
      );
      const states = (await Promise.all(asked)).map(({ state }) => state);
      expect(states.sort()).toEqual(['held', ...Array(19).fill('running')].sort());
    });

    test('stores a response unchanged until the key expires', async () => {
      const { store } = await openWithTenants(open);
      await hold(store);
      expect(await store.answerKey(aRequest(), 't1', ANSWER)).toBe(true);
      const again = (now: number) => store.reserveKey(aRequest(), terms({ token: 't2', now }));
      const kept = { ...ANSWER, body: Buffer.from(ANSWER.body) };
      expect(await again(T0 + 999)).toEqual({ state: 'answered', answer: kept });
      expect((await again(T0 + 1_000)).state).toBe('held');
    });

    test('stores a response that is given as bytes unchanged', async () => {
      const { store } = await openWithTenants(open);
      await hold(store);
      const body = Buffer.from('{"data":{"name":"Zoë \\\\ \\u0001 …","note":"語😀"}}');
      expect(await store.answerKey(aRequest(), 't1', { ...ANSWER, body })).toBe(true);
      const again = await store.reserveKey(aRequest(), terms({ token: 't2' }));
      expect(again).toEqual({ state: 'answered', answer: { ...ANSWER, body } });
    });

    test('detects another request with the same key, whether running or answered', async () => {
      const { store } = await openWithTenants(open);
      const other = () => store.reserveKey(aRequest({ fingerprint: 'f2' }), terms({ token: 't2' }));
      await hold(store);
      expect(await other()).toEqual({ state: 'mismatch' });
      await store.answerKey(aRequest(), 't1', ANSWER);
      expect(await other()).toEqual({ state: 'mismatch' });
    });

    test('tenants and routes have separate keys', async () => {
      const { store } = await openWithTenants(open);
      await hold(store);
      for (const other of [aRequest({ tenantId: 'ten_b' }), aRequest({ route: 'POST /v1/keys' })]) {
        expect((await store.reserveKey(other, terms({ token: 't2' }))).state).toBe('held');
      }
    });

    test('a key released without a change is free for any request; an answered one is kept', async () => {
      const { store } = await openWithTenants(open);
      await hold(store);
      await store.releaseKey(aRequest(), 't1');
      const other = aRequest({ fingerprint: 'f2' });
      expect((await store.reserveKey(other, terms({ token: 't2' }))).state).toBe('held');
      await store.answerKey(other, 't2', ANSWER);
      await store.releaseKey(other, 't2');
      expect((await store.reserveKey(other, terms({ token: 't3' }))).state).toBe('answered');
    });

    test('changes of a request are recorded with it and not repeated by its next run', async () => {
      const { store } = await openWithTenants(open);
      const first = await hold(store);
      expect(first).toMatchObject({ startedAt: T0 + 10, steps: [] });
      expect(await store.keeping(first).createKey(aKey('ten_a', { id: 'key_1' }), 100)).toBe(true);
      await store.releaseKey(aRequest(), 't1');
      const before = await keyIds(store);

      const second = await hold(store, 't2');
      expect(second).toMatchObject({ seed: first.seed, startedAt: first.startedAt, token: 't2' });
      expect(second.steps).toEqual([{ item: '', name: 'createKey', result: true }]);
      const keeping = store.keeping(second);
      expect(await keeping.createKey(aKey('ten_a', { id: 'key_2' }), 100)).toBe(true);
      expect(await keyIds(store)).toEqual(before);
      expect(await keeping.createKey(aKey('ten_a', { id: 'key_3' }), 100)).toBe(true);
      expect(await keyIds(store)).toEqual([...before, 'key_3'].sort());
    });

    test('items of a batch have separate records', async () => {
      const { store } = await openWithTenants(open);
      const first = await hold(store);
      await store.keeping(first, '7').createKey(aKey('ten_a', { id: 'key_1' }), 100);
      await store.releaseKey(aRequest(), 't1');
      const second = await hold(store, 't2');
      const before = await keyIds(store);
      await store.keeping(second, '7').createKey(aKey('ten_a', { id: 'key_2' }), 100);
      expect(await keyIds(store)).toEqual(before);
      await store.keeping(second, '8').createKey(aKey('ten_a', { id: 'key_3' }), 100);
      expect(await keyIds(store)).toEqual([...before, 'key_3'].sort());
    });

    test('calls that had no effect or failed are not recorded', async () => {
      const { store } = await openWithTenants(open);
      const held = await hold(store);
      const keeping = store.keeping(held);
      expect(await keeping.createKey(aKey('ten_a', { id: 'key_1' }), 0)).toBe(false);
      await store.releaseKey(aRequest(), 't1');
      expect((await hold(store, 't2')).steps).toEqual([]);
    });

    test('a job has the results of its steps in order, each of which is stored once', async () => {
      const { store } = await openWithTenants(open);
      const job: Job = {
        ...{
          id: 'job_1',
          tenantId: 'ten_a',
          kind: 'signals.batch',
          status: 'pending',
          total: 5,
          processed: 0,
        },
        ...{ createdAt: T0, finishedAt: null, error: null },
      };
      const results = (from: number, count: number) =>
        Array.from({ length: count }, (_, i) => {
          const result = { index: from + i, status: 'created' as const, signal_ids: [`sig_${from + i}`] };
          return { ...result, errors: [] };
        });
      const advance = (processed: number, count: number, end: JobStep['end'] = null) =>
        store.advanceJob({ id: 'job_1', processed, results: results(processed, count), end });
      const itemsOf = (starts: number[]) =>
        starts.map((from) => ({ from, items: Buffer.from(`{"n":${from}}\n`) }));
      const readItems = async () => {
        const read = await Promise.all([0, 2, 4].map((from) => store.readJobItems('job_1', from)));
        return read.map((items) => items?.toString('utf8') ?? null);
      };
      expect(await store.createJob(job, itemsOf([0, 2, 4]), 1)).toBe(true);
      expect(await store.createJob({ ...job, id: 'job_2' }, [], 1)).toBe(false);
      expect(await advance(0, 2)).toBe(true);
      expect(await advance(0, 2)).toBe(false);
      expect(await readItems()).toEqual([null, '{"n":2}\n', '{"n":4}\n']);
      expect(await advance(2, 2)).toBe(true);
      const running = { ...job, status: 'running', processed: 4 };
      expect(await store.getJob('ten_a', 'job_1')).toEqual(running);
      expect(await store.getJob('ten_b', 'job_1')).toBeNull();
      const steps = await Promise.all([0, 2, 4].map((from) => store.readJobResults('job_1', from)));
      expect(steps).toEqual([JSON.stringify(results(0, 2)), JSON.stringify(results(2, 2)), null]);
      const progress = { id: 'job_1', tenantId: 'ten_a', total: 5, processed: 4 };
      expect(await store.listOpenJobs(9)).toEqual([progress]);
      const error = { code: 'NOT_FOUND', detail: 'Gone.' };
      expect(await advance(4, 0, { status: 'failed', error, at: T0 + 1 })).toBe(true);
      expect(await advance(4, 1)).toBe(false);
      expect(await readItems()).toEqual([null, null, null]);
      const failed = { ...running, status: 'failed', error, finishedAt: T0 + 1 };
      expect(await store.getJob('ten_a', 'job_1')).toEqual(failed);
      expect(await store.listOpenJobs(9)).toEqual([]);
      expect([await store.pruneJobs(T0, 9), await store.pruneJobs(T0 + 1, 9)]).toEqual([0, 1]);
      expect(await store.getJob('ten_a', 'job_1')).toBeNull();
    });

    test('reads and other changes through a recording store are those of the store', async () => {
      const { store } = await openWithTenants(open);
      const held = await hold(store);
      expect(await store.keeping(held).getTenant('ten_a')).toEqual(await store.getTenant('ten_a'));
    });
  });
}
