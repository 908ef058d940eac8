import { afterEach, expect, test } from 'vitest';
import { DomainError } from '../../src/model/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
afterEach(() => t.app.close());

async function startWith(broken: Partial<Store>) {
  t = await buildTestApp({ wrapStore: (store) => ({ ...store, ...broken }) });
}

test('a full store is 503 with Retry-After, never a false yes', async () => {
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

test('a store that names no time still gives one to wait', async () => {
  await startWith({
    listSignals: () => Promise.reject(new DomainError('UNAVAILABLE', 'The storage is busy.')),
  });
  const answer = await t.app.inject({ url: '/v1/signals', headers: t.auth });
  expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
});

test('a store that cannot look keys up is 503 with the limit of who asks without one', async () => {
  await startWith({ findKey: () => Promise.reject(new DomainError('UNAVAILABLE', 'The storage is busy.')) });
  const answer = await t.app.inject({ url: '/v1/me', headers: t.auth });
  expect(answer.statusCode).toBe(503);
  expect(answer.headers).toMatchObject({ 'ratelimit-limit': '600', 'ratelimit-remaining': '599' });
});

test('a bug is 500 without its internals, logged with the id that the caller got', async () => {
  await startWith({ listSignals: () => Promise.reject(new Error('SELECT secret FROM inside')) });
  const answer = await t.app.inject({ url: '/v1/signals', headers: t.auth });
  expect(answer.statusCode).toBe(500);
  expect(answer.json()).toMatchObject({ code: 'INTERNAL', request_id: answer.headers['x-request-id'] });
  expect(answer.body).not.toContain('inside');
  const line = t.logLines.find((text) => text.includes('request failed'));
  expect(line).toContain('inside');
  expect(line).toContain(String(answer.headers['x-request-id']));
});

test('an error with a status of its own is a bug too, not a refusal', async () => {
  const thrown = Object.assign(new Error('inside'), { code: 'SQLITE_ERROR', statusCode: 404 });
  await startWith({ listSignals: () => Promise.reject(thrown) });
  expect((await t.app.inject({ url: '/v1/signals', headers: t.auth })).statusCode).toBe(500);
});

test('a key whose use cannot be written down still opens the door', async () => {
  await startWith({ touchKey: () => Promise.reject(new DomainError('UNAVAILABLE', 'The storage is full.')) });
  expect((await t.app.inject({ url: '/v1/me', headers: t.auth })).statusCode).toBe(200);
});
