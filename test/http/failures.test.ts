import { afterEach, expect, test } from 'vitest';
import { DomainError } from '../../src/model/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
afterEach(() => t.app.close());

async function startWith(broken: Partial<Store>) {
  t = await buildTestApp({ wrapStore: (store) => ({ ...store, ...broken }) });
}

test('a full store returns 503 with Retry-After and never a false success', async () => {
  await startWith({
    commitSignals: () =>
      Promise.reject(new DomainError('UNAVAILABLE', 'The storage is full.', { retryAfterSeconds: 30 })),
  });
  const answer = await t.app.inject({
    method: 'POST',
    url: '/v1/signals',
    headers: t.auth,
    payload: aPost(),
  });
  expect(answer.statusCode).toBe(503);
  expect(answer.headers).toMatchObject({
    'retry-after': '30',
    'x-api-version': 'v1',
    'ratelimit-limit': '600',
  });
  expect(answer.json()).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
  expect(t.nudged).toEqual([]);
});

test('a store error without a retry time still sets Retry-After', async () => {
  await startWith({
    listSignals: () => Promise.reject(new DomainError('UNAVAILABLE', 'The storage is busy.')),
  });
  const answer = await t.app.inject({ url: '/v1/signals', headers: t.auth });
  expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
});

test('a store that cannot look up keys returns 503 with the rate limit of anonymous clients', async () => {
  await startWith({ findKey: () => Promise.reject(new DomainError('UNAVAILABLE', 'The storage is busy.')) });
  const answer = await t.app.inject({ url: '/v1/me', headers: t.auth });
  expect(answer.statusCode).toBe(503);
  expect(answer.headers).toMatchObject({ 'ratelimit-limit': '600', 'ratelimit-remaining': '599' });
});

test('a bug returns 500 without internals and is logged with the request id of the response', async () => {
  await startWith({ listSignals: () => Promise.reject(new Error('SELECT secret FROM inside')) });
  const answer = await t.app.inject({ url: '/v1/signals', headers: t.auth });
  expect(answer.statusCode).toBe(500);
  expect(answer.json()).toMatchObject({ code: 'INTERNAL', request_id: answer.headers['x-request-id'] });
  expect(answer.body).not.toContain('inside');
  const line = t.logLines.find((text) => text.includes('request failed'));
  expect(line).toContain('inside');
  expect(line).toContain(String(answer.headers['x-request-id']));
});

test('an error with a status of its own is still a bug and returns 500', async () => {
  const thrown = Object.assign(new Error('inside'), { code: 'SQLITE_ERROR', statusCode: 404 });
  await startWith({ listSignals: () => Promise.reject(thrown) });
  expect((await t.app.inject({ url: '/v1/signals', headers: t.auth })).statusCode).toBe(500);
});

test('a key is accepted even if its use cannot be recorded', async () => {
  await startWith({ touchKey: () => Promise.reject(new DomainError('UNAVAILABLE', 'The storage is full.')) });
  expect((await t.app.inject({ url: '/v1/me', headers: t.auth })).statusCode).toBe(200);
});
