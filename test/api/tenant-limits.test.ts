import { afterEach, expect, test } from 'vitest';
import type { Plan } from '../../src/model/tenant.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
afterEach(() => t.app.close());

const open = async (plan: Plan) => {
  t = await buildTestApp({ plan });
};
const me = (headers = t.auth) => t.app.inject({ url: '/v1/me', headers });
const post = (url: string, payload: object, headers: Record<string, string> = t.auth) =>
  t.app.inject({ method: 'POST', url, headers, payload });
const rejected = (count: number) => ({ signals: Array.from({ length: count }, () => ({})) });

test('all keys of a tenant share the limit of its plan, and other tenants are not affected', async () => {
  await open('starter');
  const keys = [t.auth, (await t.addKey({})).auth];
  for (let i = 0; i < 600; i++) expect((await me(keys[i % 2])).statusCode).toBe(200);
  for (const key of [...keys, (await t.addKey({})).auth]) {
    const answer = await me(key);
    expect(answer.statusCode).toBe(429);
    expect(answer.headers).toMatchObject({
      'retry-after': '60',
      'ratelimit-limit': '600',
      'ratelimit-remaining': '0',
      'ratelimit-policy': '600;w=60',
    });
    expect(answer.json()).toMatchObject({
      code: 'RATE_LIMITED',
      detail: expect.stringContaining('of all keys'),
    });
  }
  expect((await me((await t.addTenant('starter')).auth)).statusCode).toBe(200);
  t.clock.advance(60_000);
  expect((await me()).statusCode).toBe(200);
});

test("requests rejected by a key's limit do not count for its tenant", async () => {
  await open('starter');
  const wild = await t.addKey({ rateLimit: 1 });
  for (let i = 0; i < 700; i++) await me(wild.auth);
  const answer = await me();
  expect([answer.statusCode, answer.headers['ratelimit-remaining']]).toEqual([200, '598']);
});

test('the headers show the limit with the fewest requests left', async () => {
  await open('starter');
  expect((await me((await t.addKey({ rateLimit: 5 })).auth)).headers['ratelimit-policy']).toBe('5;w=60');
  const wide = (await t.addKey({ rateLimit: 100_000 })).auth;
  expect((await me(wide)).headers).toMatchObject({
    'ratelimit-policy': '600;w=60',
    'ratelimit-remaining': '598',
  });
});

test.each([
  [1, 599],
  [10, 599],
  [11, 598],
  [500, 550],
])('a batch of %i leaves %i of 600', async (items, left) => {
  await open('starter');
  const answer = await post('/v1/signals/batch', rejected(items));
  expect([answer.statusCode, answer.headers['ratelimit-remaining']]).toEqual([200, String(left)]);
  expect((await me()).headers['ratelimit-remaining']).toBe(String(left - 1));
});

test.each([
  ['/v1/leads/batch', 'leads'],
  ['/v1/campaigns/ID/events', 'events'],
])('%s counts by its items too', async (path, member) => {
  await open('starter');
  const { id } = (await post('/v1/campaigns', { name: 'Spring' })).json().data;
  const body = { [member]: Array.from({ length: 100 }, () => ({})) };
  const answer = await post(path.replace('ID', id), body);
  expect([answer.statusCode, answer.headers['ratelimit-remaining']]).toEqual([200, '589']);
});

test('a batch over the limit is 429 and starts nothing, and a smaller one still passes', async () => {
  await open('starter');
  for (let i = 0; i < 11; i++) await post('/v1/signals/batch', rejected(500));
  for (let i = 0; i < 40; i++) await me();
  const posts = Array.from({ length: 101 }, (_, i) =>
    aPost({ platform: { name: 'reddit', post_url: `https://reddit.com/${i}` } }),
  );
  const batch = { signals: posts };
  const refused = await post('/v1/signals/batch', batch, { ...t.auth, 'idempotency-key': 'k' });
  expect(refused.statusCode).toBe(429);
  expect(refused.headers).toMatchObject({ 'retry-after': '60', 'ratelimit-remaining': '9' });
  expect(refused.json().detail).toContain('every 10 items');
  const fits = await post('/v1/signals/batch', { signals: posts.slice(0, 80) });
  expect([fits.statusCode, fits.json().data.created]).toEqual([200, 80]);

  t.clock.advance(60_000);
  const again = await post('/v1/signals/batch', batch, { ...t.auth, 'idempotency-key': 'k' });
  expect(again.json().data).toMatchObject({ created: 21, duplicates: 80 });
  expect(again.headers['ratelimit-remaining']).toBe('589');
  const replayed = await post('/v1/signals/batch', batch, { ...t.auth, 'idempotency-key': 'k' });
  expect(replayed.headers).toMatchObject({ 'idempotent-replayed': 'true', 'ratelimit-remaining': '588' });
});

test('a batch that fails validation counts as one request', async () => {
  await open('starter');
  expect((await post('/v1/signals/batch', rejected(501))).headers['ratelimit-remaining']).toBe('599');
});
