import { afterEach, beforeEach, expect, test } from 'vitest';
import { previewSchema } from '../../src/model/icp-draft.ts';
import { previewProfile } from '../../src/signals/profiles.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

function post(url: string, payload: object, headers: Record<string, string> = t.auth) {
  return t.app.inject({ method: 'POST', url, headers, payload });
}

async function observe(text: string, overrides: Record<string, unknown> = {}) {
  t.clock.advance(1_000);
  const answer = await post(
    '/v1/signals',
    aPost({ text, platform: { name: 'reddit' }, external_id: text, ...overrides }),
  );
  return answer.json().data.signals;
}

async function preview(payload: object) {
  const answer = await post('/v1/icps/preview', payload);
  expect(answer.statusCode).toBe(200);
  return previewSchema.parse(answer.json().data);
}

const CRM = 'We are looking for a new CRM this month, budget approved.';
const BOOKING = 'We are looking for a booking system this month, budget approved.';

test('a draft is scored against the stored posts, newest first, next to their current scores', async () => {
  const [crm] = await observe(CRM);
  const [booking] = await observe(BOOKING);
  const { posts, counts } = await preview({ phrases: ['booking system'] });
  expect(posts.map((p) => p.signal_id)).toEqual([booking.signal_id, crm.signal_id]);
  const [first, second] = posts;
  expect(first?.old).toEqual({ score: booking.icp_score, classification: 'hot' });
  expect(first?.new.classification).toBe('hot');
  expect(second?.new.classification).toBe('cold');
  expect(second?.explanation.negatives.map((factor) => factor.key)).toContain('off_topic');
  for (const { new: next, explanation } of posts) {
    const parts = [...explanation.factors, ...explanation.negatives];
    expect(parts.reduce((sum, factor) => sum + factor.points, 0)).toBe(next.score);
    expect(explanation.score).toBe(next.score);
  }
  expect(counts).toEqual({
    posts: 2,
    old: { hot: 2, warm: 0, cold: 0 },
    new: { hot: 1, warm: 0, cold: 1 },
    up: 0,
    down: 2,
    unchanged: 0,
  });
});

test('the current settings of a profile give the same scores, and nothing is stored', async () => {
  await observe(CRM);
  const [profile] = (await t.app.inject({ url: '/v1/icps', headers: t.auth })).json().data;
  const { counts } = await preview({ icp_profile_id: profile.id });
  expect(counts).toMatchObject({ posts: 1, unchanged: 1 });
  await preview({ icp_profile_id: profile.id, name: 'Other', thresholds: { hot: 100 } });
  expect((await t.app.inject({ url: '/v1/icps', headers: t.auth })).json().data).toEqual([profile]);
});

test('a post with two signals is scored once, against the signal of the changed profile', async () => {
  const { id } = (await post('/v1/icps', { name: 'CRM', phrases: ['CRM'], weights: { fit: 40 } })).json()
    .data;
  const signals = await observe(CRM);
  expect(signals).toHaveLength(2);
  const own = signals.find((signal: { icp_profile_id: string }) => signal.icp_profile_id === id);
  const { posts } = await preview({ icp_profile_id: id, phrases: [] });
  expect(posts.map((p) => [p.signal_id, p.old.score])).toEqual([[own.signal_id, own.icp_score]]);
  expect((await preview({})).posts).toHaveLength(1);
});

test('feedback on a signal is shown next to its score', async () => {
  const [said] = await observe(CRM);
  await observe(BOOKING);
  await post(`/v1/signals/${said.signal_id}/feedback`, { relevant: false });
  expect((await preview({})).posts.map((p) => p.relevant)).toEqual([null, false]);
});

test('the requested number of posts is scored, at most 200', async () => {
  for (let i = 0; i < 3; i++) await observe(`${CRM} ${i}`);
  expect((await preview({ limit: 2 })).counts.posts).toBe(2);
  expect((await preview({})).counts.posts).toBe(3);
  const answer = await post('/v1/icps/preview', { limit: 201 });
  expect(answer.json()).toMatchObject({ status: 400, errors: [{ pointer: '/limit' }] });
});

test('a tenant without posts gets none', async () => {
  await observe(CRM);
  const { auth } = await t.addTenant();
  const answer = await post('/v1/icps/preview', {}, auth);
  expect(answer.json().data).toMatchObject({ posts: [], counts: { posts: 0, up: 0 } });
});

test('a draft is validated like a profile and must change a profile of the tenant', async () => {
  const refused = await post('/v1/icps/preview', { thresholds: { hot: 10, warm: 20 } });
  expect(refused.json()).toMatchObject({ status: 400, errors: [{ pointer: '/thresholds' }] });
  const [profile] = (await t.app.inject({ url: '/v1/icps', headers: t.auth })).json().data;
  const { auth } = await t.addTenant();
  const foreign = await post('/v1/icps/preview', { icp_profile_id: profile.id }, auth);
  expect(foreign.json().code).toBe('NOT_FOUND');
});

test('previewing requires only icps:read', async () => {
  const { auth } = await t.addKey({ scopes: ['icps:read'] });
  expect((await post('/v1/icps/preview', {}, auth)).statusCode).toBe(200);
  const { auth: none } = await t.addKey({ scopes: ['signals:write'] });
  expect((await post('/v1/icps/preview', {}, none)).json().required_scope).toBe('icps:read');
});

test('long posts without an ID are told apart in turns, between which others have theirs', async () => {
  await observe(CRM);
  const turns = new Set<number>();
  const { listPosts } = t.store;
  const store = {
    ...t.store,
    async listPosts(tenantId: string, limit: number) {
      const [post] = await listPosts(tenantId, limit);
      return Array.from({ length: 30 }, (_, i) => ({
        ...post,
        externalId: null,
        canonicalUrl: null,
        get text() {
          turns.add(performance.nodeTiming.uvMetricsInfo.loopCount);
          t.clock.advance(10);
          return `${i}`;
        },
      })) as Awaited<ReturnType<typeof listPosts>>;
    },
  };
  await previewProfile({ store, clock: t.clock }, t.tenant.id, { limit: 1 });
  expect(turns.size).toBeGreaterThan(1); // short ones share a turn
});
