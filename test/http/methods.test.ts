import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

test.each([
  ['PUT', '/v1/signals', 'GET, HEAD, POST, OPTIONS'],
  ['PATCH', '/v1/signals/sig_1', 'GET, HEAD, DELETE, OPTIONS'],
  ['GET', '/v1/signals/batch/', null],
  ['POST', '/', 'GET, HEAD, OPTIONS'],
  ['DELETE', '/v1/me', 'GET, HEAD, OPTIONS'],
  ['PROPFIND', '/v1/webhooks/whk_1', 'GET, HEAD, PATCH, DELETE, OPTIONS'],
] as const)('%s %s returns Allow: %s, with or without a key', async (method, url, allow) => {
  for (const headers of [{}, t.auth]) {
    const answer = await t.app.inject({ method: method as 'PUT', url, headers });
    expect(answer.statusCode).toBe(allow === null ? 404 : 405);
    expect(answer.headers.allow ?? null).toBe(allow);
    expect(answer.json().code).toBe(allow === null ? 'NOT_FOUND' : 'METHOD_NOT_ALLOWED');
  }
});

test('a wrong method is rejected before the body is read', async () => {
  const answer = await t.app.inject({
    method: 'PUT',
    url: '/v1/signals',
    headers: { 'content-type': 'application/json' },
    payload: '{not json',
  });
  expect(answer.statusCode).toBe(405);
});

test('OPTIONS on an existing path returns 204 with Allow and needs no key', async () => {
  const answer = await t.app.inject({ method: 'OPTIONS', url: '/v1/webhooks' });
  expect(answer.statusCode).toBe(204);
  expect(answer.headers.allow).toBe('GET, HEAD, POST, OPTIONS');
  expect(answer.headers['x-api-version']).toBe('v1');
});

test('HEAD equals GET without the body under /v1 too', async () => {
  const get = await t.app.inject({ url: '/v1/signals', headers: t.auth });
  const head = await t.app.inject({ method: 'HEAD', url: '/v1/signals', headers: t.auth });
  expect(head.statusCode).toBe(200);
  expect(head.body).toBe('');
  expect(head.headers['content-length']).toBe(get.headers['content-length']);
  expect(head.headers['ratelimit-remaining']).toBe('598');
});

test.each(['/dashboard', '/api', '/v1'])(
  '%s decodes no segment of an address longer than all paths',
  async (face) => {
    const decode = vi.spyOn(globalThis, 'decodeURIComponent');
    onTestFinished(() => void decode.mockRestore());
    const answer = await t.app.inject({ method: 'OPTIONS', url: `${face}${'/%'.repeat(5_000)}` });
    expect([400, 404]).toContain(answer.statusCode);
    expect(decode.mock.calls.length).toBeLessThan(20);
  },
);
