import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp({ env: { PUBLIC_RATE_LIMIT: '1000' } });
});
afterEach(() => t.app.close());

test.each([
  '/api',
  '/api/',
  '/api/nope',
  '/api/health/',
  '/api/v9/status',
  '/api/%zz',
  '/api/a%20b',
  `/api/${'x'.repeat(4_000)}`,
])('GET %s is exactly the documented 404', async (path) => {
  const answer = await t.app.inject({ url: `${path}?q=1`, headers: { accept: 'text/html' } });
  expect(answer.statusCode).toBe(404);
  expect(answer.headers['content-type']).toBe('application/problem+json');
  expect(answer.headers['x-api-version']).toBe('v1');
  expect(answer.json()).toEqual({
    type: 'https://signals.example.com/developers/errors#not-found',
    title: 'Not Found',
    status: 404,
    code: 'NOT_FOUND',
    detail: `Unknown API path: ${path}`,
    hint: 'See the OpenAPI description at https://signals.example.com/openapi.json',
    instance: path,
    request_id: answer.headers['x-request-id'],
  });
});

test.each(['HEAD', 'OPTIONS'] as const)('%s on an unknown path is 404', async (method) => {
  const answer = await t.app.inject({
    method,
    url: '/api/nope',
    headers: { 'content-type': 'application/json' },
    ...(method === 'OPTIONS' ? { payload: '{broken' } : {}),
  });
  expect(answer.statusCode).toBe(404);
  expect(answer.headers['ratelimit-limit']).toBe('1000');
});

test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY'])(
  '%s is 405 with Allow on any path under /api, before its body is read',
  async (method) => {
    for (const url of ['/api/health', '/api/nope', '/api/%zz']) {
      const answer = await t.app.inject({
        method: method as 'POST',
        url,
        headers: { 'content-type': 'application/json' },
        payload: '{broken',
      });
      expect(answer.statusCode).toBe(405);
      expect(answer.headers).toMatchObject({
        allow: 'GET, HEAD, OPTIONS',
        'x-api-version': 'v1',
        'ratelimit-limit': '1000',
      });
      expect(answer.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED', status: 405, instance: url });
    }
  },
);
