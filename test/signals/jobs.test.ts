import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { createSeededRandom } from '../../src/lib/secret-box.ts';
import { DomainError } from '../../src/model/errors.ts';
import { JOB_MS } from '../../src/model/job.ts';
import type { ResumableIntakeDeps } from '../../src/signals/intake.ts';
import { createBatchJob, type JobItem, runJobs } from '../../src/signals/jobs.ts';
import { createMatchers } from '../../src/signals/matchers.ts';
import type { StepItems } from '../../src/store/request-store.ts';
import type { Store } from '../../src/store/store.ts';
import { BASE_URL } from '../support/app.ts';
import { cpuOf } from '../support/cpu-time.ts';
import { anotherPost, buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';

let t: WebhookApp;
beforeEach(async () => {
  t = await buildWebhookApp();
});
afterEach(() => t.app.close());

function partsWith(store: Store = t.store): ResumableIntakeDeps {
  return {
    ...{ store, clock: t.clock, newId: createIds(t.clock, systemRandom), baseUrl: BASE_URL },
    ...{ matchers: createMatchers(store), seededRandom: createSeededRandom(Buffer.alloc(32, 7)) },
  };
}

const posts = (count: number) => Array.from({ length: count }, (_, i) => anotherPost(i));
const postLater = (signals: object[], headers: Record<string, string> = {}) =>
  t.app.inject({
    ...{ method: 'POST', url: '/v1/signals/batch', payload: { signals } },
    headers: { ...t.auth, prefer: 'respond-async', ...headers },
  });
const jobOf = async (id: string) => (await t.call('GET', `/v1/jobs/${id}`)).json().data;
const countSignals = async () => (await t.call('GET', '/v1/signals?limit=100')).json().data.length;

test('an asynchronous batch returns its job before anything is stored', async () => {
  const answer = await postLater(posts(3));
  expect(answer.statusCode).toBe(202);
  const job = answer.json().data;
  expect(answer.headers.location).toBe(`${BASE_URL}/v1/jobs/${job.id}`);
  expect(answer.headers['preference-applied']).toBe('respond-async');
  expect(job).toMatchObject({ status: 'pending', total: 3, processed: 0, results: [], finished_at: null });
  expect(await jobOf(job.id)).toEqual(job);
  expect(await countSignals()).toBe(0);
});

test('the job has the result that a synchronous response would have', async () => {
  const items = [
    ...posts(60),
    { platform: { name: 'reddit' }, text: '' },
    anotherPost(0),
    { ...anotherPost(99), icp_profile_id: 'icp_none' },
  ];
  const { id } = (await postLater(items)).json().data;
  await t.addWebhook();
  await runJobs(partsWith());
  const job = await jobOf(id);
  expect(job).toMatchObject({
    ...{ status: 'done', total: 63, processed: 63, created: 60, duplicates: 1, rejected: 2, error: null },
    ...{ finished_at: expect.any(String) },
  });
  expect(t.nudged).toHaveLength(60);
  const { id: other } = (await t.addTenant()).tenant;
  expect(await t.store.getJob(other, id)).toBeNull();

  const fresh = await buildWebhookApp();
  const now = (await fresh.call('POST', '/v1/signals/batch', { signals: items })).json().data;
  await fresh.app.close();
  const alike = (results: { signal_ids: string[] }[]) =>
    results.map(({ signal_ids, ...rest }) => ({ ...rest, made: signal_ids.length }));
  expect(alike(job.results)).toEqual(alike(now.results));
});

test('the results of a job are read step by step, between which other requests get their turn', async () => {
  const turns = new Set<number>();
  const app = await buildWebhookApp({
    wrapStore: (store) => ({
      ...store,
      readJobResults(id, from) {
        turns.add(performance.nodeTiming.uvMetricsInfo.loopCount);
        app.clock.advance(10);
        return store.readJobResults(id, from);
      },
    }),
  });
  const prefer = { ...app.auth, prefer: 'respond-async' };
  const { id } = (await app.call('POST', '/v1/signals/batch', { signals: posts(75) }, prefer)).json().data;
  const { clock, store } = app;
  await runJobs({ ...partsWith(store), clock, newId: createIds(clock, systemRandom) });
  const job = (await app.call('GET', `/v1/jobs/${id}`)).json().data;
  await app.app.close();
  expect(job.results.map((result: { index: number }) => result.index)).toEqual([...Array(75).keys()]);
  expect(turns.size).toBeGreaterThan(1); // short steps may share one
});

test('an interrupted job continues without duplicates or omissions', async () => {
  const { id } = (await postLater(posts(60))).json().data;
  let left = 1;
  const dying: Store = {
    ...t.store,
    async advanceJob(step) {
      if (left-- > 0) return t.store.advanceJob(step);
      throw new Error('killed between a step and its record');
    },
  };
  await expect(runJobs(partsWith(dying))).rejects.toThrow('killed');
  expect(await jobOf(id)).toMatchObject({ status: 'running', processed: 25 });
  expect(await countSignals()).toBe(50);
  await runJobs(partsWith());
  expect(await jobOf(id)).toMatchObject({ status: 'done', created: 60, duplicates: 0 });
  expect(await countSignals()).toBe(60);
});

test.each([
  ['refused', {}],
  ['on a damaged page', { storage: 'damaged' as const }],
])('a job that is %s does not delay the jobs of other tenants', async (_what, extra) => {
  const { id } = (await postLater(posts(30))).json().data;
  const { auth, tenant } = await t.addTenant();
  const { id: other } = (await postLater(posts(30), auth)).json().data;
  const refusing: Store = {
    ...t.store,
    reserveKey: (request, terms) => {
      if (request.tenantId !== tenant.id)
        throw new DomainError('UNAVAILABLE', 'Too many posts are waiting', extra);
      return t.store.reserveKey(request, terms);
    },
  };
  await expect(runJobs(partsWith(refusing))).rejects.toThrow('Too many posts');
  expect(await jobOf(id)).toMatchObject({ processed: 0, finished_at: null });
  expect(await t.store.getJob(tenant.id, other)).toMatchObject({ status: 'done', processed: 30 });
  await runJobs(partsWith());
  expect(await jobOf(id)).toMatchObject({ status: 'done', created: 30 });
});

test('a job does not wait for a step of another tenant that takes long', async () => {
  const { id } = (await postLater(posts(30))).json().data;
  const { auth, tenant } = await t.addTenant();
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
  const slow: Store = {
    ...t.store,
    async reserveKey(request, terms) {
      if (request.tenantId !== tenant.id) await isReleased;
      return t.store.reserveKey(request, terms);
    },
  };
  const running = runJobs(partsWith(slow));
  const { id: other } = (await postLater(posts(30), auth)).json().data;
  await vi.waitFor(async () => {
    t.clock.advance(1_000); // new jobs are looked for once a second
    expect(await t.store.getJob(tenant.id, other)).toMatchObject({ status: 'done', processed: 30 });
  });
  expect(await jobOf(id)).toMatchObject({ processed: 0, finished_at: null });
  release();
  await running;
  expect(await jobOf(id)).toMatchObject({ status: 'done', processed: 30 });
});

test('a job ends between two commits if the process is stopping, and continues without duplicates', async () => {
  const items = posts(6).map((post, i) => ({ ...post, text: `${post.text} ${`filler${i} `.repeat(1_500)}` }));
  const { id } = (await postLater(items)).json().data;
  let commits = 0;
  const counting: Store = {
    ...t.store,
    keeping: (held) => {
      const kept = t.store.keeping(held);
      return {
        ...kept,
        commitSignals(signals) {
          commits++;
          return kept.commitSignals(signals);
        },
      };
    },
  };
  await runJobs(partsWith(counting), () => commits > 0);
  expect(commits).toBe(1);
  expect(await jobOf(id)).toMatchObject({ processed: 0, finished_at: null });
  await runJobs(partsWith());
  expect(await jobOf(id)).toMatchObject({ status: 'done', created: 6, duplicates: 0 });
});

test('an account has at most 20 unfinished jobs, and an idempotency key replays the first response', async () => {
  const key = { 'idempotency-key': 'a-key' };
  const first = await postLater(posts(1), key);
  const again = await postLater(posts(1), key);
  expect(again.json()).toEqual(first.json());
  expect(again.headers['idempotent-replayed']).toBe('true');
  for (let i = 1; i < 20; i++) await postLater(posts(1));
  const refused = await postLater(posts(1));
  expect(refused.statusCode).toBe(429);
  expect(refused.headers['retry-after']).toBe('30');
  const { auth } = await t.addTenant();
  expect((await postLater(posts(1), auth)).statusCode).toBe(202);
});

test('a finished job is removed after 7 days, a pending one is not', async () => {
  const { id } = (await postLater(posts(1))).json().data;
  const before = t.clock.now() + 1;
  expect(await t.store.pruneJobs(before, 10)).toBe(0);
  await runJobs(partsWith());
  expect(await t.store.pruneJobs(before - JOB_MS, 10)).toBe(0);
  expect(await t.store.pruneJobs(before, 10)).toBe(1);
  expect((await t.call('GET', `/v1/jobs/${id}`)).statusCode).toBe(404);
});

test('the items of a job are written in turns, and each step has its own', async () => {
  const errors = Array.from({ length: 20 }, (_, i) => ({
    pointer: `/signals/0/${'~0'.repeat(500)}${i}`,
    detail: `"${'~'.repeat(64)}…" is not a known member.`,
  }));
  const items = Array.from({ length: 500 }, (): JobItem => ({ rejected: { errors } }));
  let stored: readonly StepItems[] = [];
  const store = {
    ...t.store,
    createJob: async (_job: unknown, steps: readonly StepItems[]) => {
      stored = steps;
      return true;
    },
  };
  const { longestMs } = await cpuOf(() => createBatchJob(partsWith(store), t.tenant.id, items));
  expect(longestMs).toBeLessThan(60);
  expect(stored.map(({ from }) => from)).toEqual(Array.from({ length: 20 }, (_, step) => step * 25));
  const lines = Buffer.from(stored[19]?.items ?? [])
    .toString('utf8')
    .trimEnd()
    .split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual(items.slice(475));
});
