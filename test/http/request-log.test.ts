import { afterEach, beforeEach, expect, test } from 'vitest';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
});
afterEach(() => t.app.close());

const lines = () => t.logLines.map((line) => JSON.parse(line));

test('each request logs one line with its details and outcome', async () => {
  const answer = await t.app.inject({ url: '/v1/signals/sig_1', headers: t.auth });
  expect(lines()).toEqual([
    expect.objectContaining({
      msg: 'request',
      request_id: answer.headers['x-request-id'],
      method: 'GET',
      route: '/v1/signals/:id',
      status: 404,
      ms: expect.any(Number),
      tenant_id: t.tenant.id,
      key_id: expect.stringMatching(/^key_/),
    }),
  ]);
});

test('a request without a key logs no tenant, and an unknown path is logged without its query', async () => {
  await t.app.inject('/api/health?a=1');
  await t.app.inject('/nope?token=abc');
  expect(lines().map(({ route, status }) => [route, status])).toEqual([
    ['/api/health', 200],
    ['/nope', 404],
  ]);
  expect(lines()[0]).not.toHaveProperty('tenant_id');
});

test('no key, secret, query or body is ever logged', async () => {
  const webhook = { url: 'http://127.0.0.1:9/hook?token=hush' };
  const made = await t.app.inject({ method: 'POST', url: '/v1/webhooks', headers: t.auth, payload: webhook });
  await t.app.inject({
    method: 'POST',
    url: '/v1/signals',
    headers: t.auth,
    payload: aPost({ text: 'We need a plumber' }),
  });
  await t.app.inject({
    method: 'POST',
    url: '/v1/signals',
    headers: t.auth,
    payload: { text: 'We need a plumber' },
  });
  await t.app.inject({ url: '/v1/signals?cursor=hush', headers: t.auth });
  await t.app.inject({ url: '/v1/me', headers: { authorization: `Basic ${t.apiKey}` } });
  const log = t.logLines.join('');
  expect(t.logLines).toHaveLength(5);
  for (const secret of [t.apiKey, made.json().data.secret, 'hush', 'plumber', 'Bearer']) {
    expect(log).not.toContain(secret);
  }
});

test('a valid request id of the client is kept, any other is replaced', async () => {
  const answer = async (id: string) =>
    (await t.app.inject({ url: '/api/health', headers: { 'x-request-id': id } })).headers['x-request-id'];
  expect(await answer('trace-1.A_b')).toBe('trace-1.A_b');
  for (const bad of ['a b', 'a"b', 'x'.repeat(65), '', 'é']) expect(await answer(bad)).toMatch(/^req_/);
});

test('a page is logged too, whether sent, unchanged or without a body', async () => {
  const first = await t.app.inject('/pricing');
  await t.app.inject({ url: '/pricing', headers: { 'if-none-match': String(first.headers.etag) } });
  await t.app.inject({ method: 'HEAD', url: '/pricing.md?token=abc' });
  expect(lines().map(({ method, route, status }) => [method, route, status])).toEqual([
    ['GET', '/pricing', 200],
    ['GET', '/pricing', 304],
    ['HEAD', '/pricing.md', 200],
  ]);
});

test('only the first segment of an unrouted URL is logged, because the rest may be a one-time link', async () => {
  const token = 'x'.repeat(132);
  const addresses = [
    `/feedback/${token}/`,
    `/feedback/${token}/a`,
    `/feedback//${token}`,
    `/setup/${token}`,
    `/${token}`,
  ];
  for (const method of ['OPTIONS', 'PROPFIND', 'DELETE', 'GET', 'POST'] as const) {
    await t.app.inject({ method: method as 'GET', url: `/feedback/${token}` });
    for (const url of addresses) await t.app.inject({ method: method as 'GET', url });
  }
  const log = t.logLines.join('');
  expect(t.logLines.length).toBeGreaterThan(25);
  expect(log).not.toContain(token.slice(0, 41));
  expect(lines().map(({ route }) => route)).toContain('/feedback/…');
});
