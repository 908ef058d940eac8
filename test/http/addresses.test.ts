import { afterEach, beforeEach, expect, test } from 'vitest';
import { isMalformed, pathOf, routableTarget } from '../../src/http/request-path.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

test.each(['/%zz', '/a/%', '/%ff', '/v1/%zz', '/v1/signals/%zz'])(
  '%s cannot be decoded: 400',
  async (url) => {
    const answer = await t.app.inject({ url, headers: t.auth });
    expect(answer.statusCode).toBe(400);
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(answer.json()).toMatchObject({ code: 'INVALID_REQUEST', instance: url });
  },
);

test.each(['/v1/', '/v1/nope', '/v1/%00'])('%s is unknown: 404', async (url) => {
  const answer = await t.app.inject(url);
  expect(answer.statusCode).toBe(404);
  expect(answer.json()).toMatchObject({ code: 'NOT_FOUND', status: 404, instance: url });
});

test('a URL that cannot be decoded is logged and gets a request id like any other', async () => {
  const answer = await t.app.inject('/%zz');
  expect(answer.headers['x-request-id']).toMatch(/^req_/);
  expect(t.logLines).toHaveLength(1);
});

test('a path of any length that fits into the headers is answered like a short one', async () => {
  const answer = await t.app.inject({ url: `/v1/signals/${'a'.repeat(5_000)}`, headers: t.auth });
  expect(answer.statusCode).toBe(404);
  expect(answer.headers['ratelimit-limit']).toBe('600');
});

test('the path is extracted from any form of request target', () => {
  expect(pathOf('/a?b')).toBe('/a');
  expect(pathOf('/a#b')).toBe('/a');
  expect(pathOf('http://h:80/a?b')).toBe('/a');
  expect(pathOf('http://h')).toBe('/');
  expect(isMalformed('*')).toBe(true);
  expect(isMalformed('/a?%zz')).toBe(false);
  expect(routableTarget('/a/%zz')).toBe('/a/%25zz');
});
