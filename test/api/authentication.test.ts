import { afterEach, beforeEach, expect, test } from 'vitest';
import { generateApiKey, hashApiKey } from '../../src/accounts/keys.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { standInLine, unknownOwner } from '../../src/lib/yielding.ts';
import { bearer, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

function me(headers: Record<string, string>) {
  return t.app.inject({ url: '/v1/me', headers });
}

test('GET /v1/me returns the identity and permissions of the key', async () => {
  const answer = await me(t.auth);
  expect(answer.statusCode).toBe(200);
  expect(answer.json().data).toMatchObject({
    tenant: { id: t.tenant.id, name: 'Acme' },
    plan: 'pro',
    trial_ends_at: null,
    key: { id: expect.stringMatching(/^key_/), name: 'First key' },
    scopes: expect.arrayContaining(['signals:read', 'keys:write']),
    limits: { rate_limit: 600, webhook_endpoints: 10 },
    usage: { webhook_endpoints: 0 },
  });
});

test('an expired trial is shown as starter with the limits of starter', async () => {
  await t.app.close();
  t = await buildTestApp({ plan: 'trial' });
  expect((await me(t.auth)).json().data).toMatchObject({
    plan: 'trial',
    trial_ends_at: '2026-01-15T00:00:00.000Z',
  });
  t.clock.advance(14 * 24 * 3_600_000);
  expect((await me(t.auth)).json().data).toMatchObject({ plan: 'starter', limits: { webhook_endpoints: 1 } });
});

test.each([
  ['none', {}],
  ['another scheme', { authorization: 'Basic YTpi' }],
  ['a mistyped one', { authorization: 'Bearer sp_live_abc' }],
  ['one that was never made', bearer(generateApiKey(systemRandom))],
])('%s as a key is rejected with 401 and how to send one', async (_name, headers) => {
  const answer = await me(headers as Record<string, string>);
  expect(answer.statusCode).toBe(401);
  expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
  expect(answer.headers).toMatchObject({
    'x-api-version': 'v1',
    'ratelimit-limit': '600',
    'ratelimit-remaining': '599',
  });
  expect(answer.json()).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 });
});

test('a key is not looked up behind those of all requests of another', async () => {
  await t.app.close();
  const looked: string[] = [];
  t = await buildTestApp({
    wrapStore: (store) => ({
      ...store,
      async findKey(hash) {
        await standInLine(); // as while much else runs
        looked.push(hash);
        const until = performance.now() + 6; // longer than several may take of one turn of the event loop
        while (performance.now() < until);
        return store.findKey(hash);
      },
    }),
  });
  const ownerOf = ({ authorization }: { authorization: string }) =>
    unknownOwner(hashApiKey(authorization.slice('Bearer '.length)));
  let other = await t.addTenant();
  for (let n = 0; n < 5 && ownerOf(other.auth) === ownerOf(t.auth); n++) other = await t.addTenant();
  const answers = await Promise.all([...Array.from({ length: 20 }, () => me(t.auth)), me(other.auth)]);
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(21).fill(200));
  expect(new Set(looked).size).toBe(2);
  expect(looked.findIndex((hash) => hash !== looked[0])).toBeLessThan(3);
});

test('a mistyped key is rejected without querying the store', async () => {
  await t.app.close();
  const asked: string[] = [];
  t = await buildTestApp({
    wrapStore: (store) => ({
      ...store,
      findKey: (hash) => {
        asked.push(hash);
        return store.findKey(hash);
      },
    }),
  });
  const typo = t.apiKey.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
  expect((await me(bearer(typo))).statusCode).toBe(401);
  expect(asked).toEqual([]);
});

test('a revoked key is rejected from the next request on', async () => {
  const key = await t.addKey({ scopes: ['signals:read'] });
  expect((await me(key.auth)).statusCode).toBe(200);
  await t.store.revokeKey(key.id, t.clock.now());
  expect((await me(key.auth)).json()).toMatchObject({ code: 'UNAUTHENTICATED' });
});

test('a key is rejected from the moment it expires', async () => {
  const key = await t.addKey({ expiresAt: t.clock.now() + 1_000 });
  t.clock.advance(999);
  expect((await me(key.auth)).statusCode).toBe(200);
  t.clock.advance(1);
  expect((await me(key.auth)).statusCode).toBe(401);
});

test.each([
  ['GET', '/v1/signals', 'signals:read'],
  ['GET', '/v1/signals/sig_1', 'signals:read'],
  ['POST', '/v1/signals', 'signals:write'],
  ['POST', '/v1/signals/batch', 'signals:write'],
  ['GET', '/v1/webhooks', 'webhooks:read'],
  ['POST', '/v1/webhooks', 'webhooks:write'],
  ['GET', '/v1/webhooks/whk_1', 'webhooks:read'],
  ['DELETE', '/v1/webhooks/whk_1', 'webhooks:write'],
] as const)('%s %s requires the scope %s and says so', async (method, url, scope) => {
  const key = await t.addKey({ scopes: ['leads:write'] });
  const answer = await t.app.inject({ method, url, headers: key.auth });
  expect(answer.statusCode).toBe(403);
  expect(answer.json()).toMatchObject({
    code: 'INSUFFICIENT_SCOPE',
    detail: expect.stringContaining(scope),
    required_scope: scope,
  });
});

test('a write scope includes reading', async () => {
  const key = await t.addKey({ scopes: ['signals:write'] });
  expect((await t.app.inject({ url: '/v1/signals', headers: key.auth })).statusCode).toBe(200);
});

test('the last use of a key is recorded', async () => {
  const key = await t.addKey({});
  await me(key.auth);
  await expect
    .poll(async () => (await t.store.listKeys(t.tenant.id)).find(({ id }) => id === key.id)?.lastUsedAt)
    .toBe(t.clock.now());
});

test('each key has its own rate limit, which rejected requests count toward too', async () => {
  const key = await t.addKey({ scopes: ['leads:read'], rateLimit: 3 });
  expect((await me(key.auth)).headers).toMatchObject({
    'ratelimit-remaining': '2',
    'ratelimit-policy': '3;w=60',
  });
  const refused = await t.app.inject({ url: '/v1/signals', headers: key.auth });
  expect(refused.headers['ratelimit-remaining']).toBe('1');
  await t.app.inject({ method: 'HEAD', url: '/v1/me', headers: key.auth });
  const answer = await me(key.auth);
  expect(answer.statusCode).toBe(429);
  expect(answer.headers).toMatchObject({
    'retry-after': '60',
    'ratelimit-remaining': '0',
    'x-api-version': 'v1',
  });
  expect((await me(t.auth)).statusCode).toBe(200);
});

test('requests without a key are limited per client, so that keys cannot be guessed', async () => {
  for (let i = 0; i < 600; i++) await t.app.inject('/v1/nope');
  expect((await me({})).statusCode).toBe(429);
  expect((await me(t.auth)).statusCode).toBe(200);
});
