import { afterEach, beforeEach, expect, test } from 'vitest';
import { statusResponseSchema } from '../../src/model/public-api.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

const BASE = 'https://signals.example.com';

test('GET /api/v1/status returns exactly the documented response', async () => {
  const answer = await t.app.inject('/api/v1/status');
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toEqual({
    success: true,
    data: {
      service: 'Brook Electrical',
      website: `${BASE}/`,
      description: 'Electricians in Brookford: rewires, boards and chargers.',
      docs: `${BASE}/developers`,
      openapi: `${BASE}/openapi.json`,
      llms: `${BASE}/llms.txt`,
      signalApi: {
        url: `${BASE}/v1`,
        openapi: `${BASE}/v1/openapi.json`,
        operations: `${BASE}/v1/operations`,
        docs: `${BASE}/developers/signal-api`,
      },
      contact: 'hello@brook.example',
      apiVersion: 'v1',
      versioningPolicy: expect.stringContaining('12 months'),
      deprecationPolicy: `${BASE}/developers/versioning`,
      endpoints: [
        { method: 'GET', path: '/api/health', description: expect.any(String) },
        { method: 'GET', path: '/api/v1/status', description: expect.any(String) },
      ],
      time: '2026-01-01T00:00:00.000Z',
    },
  });
  expect(statusResponseSchema.safeParse(answer.json()).success).toBe(true);
});

test('the time is that of the response', async () => {
  await t.app.inject('/api/v1/status');
  t.clock.advance(1_234);
  expect((await t.app.inject('/api/v1/status')).json().data.time).toBe('2026-01-01T00:00:01.234Z');
});

test('a name with quotes and line breaks is returned unchanged', async () => {
  const { aSite } = await import('../support/site-content.ts');
  const site = aSite();
  const name = 'Brook "&" <Sons>\n\u2028';
  const other = await buildTestApp({ content: { ...site, identity: { ...site.identity, name } } });
  expect((await other.app.inject('/api/v1/status')).json().data.service).toBe(name);
  await other.app.close();
});

test('GET /api/v1/status has every required API header', async () => {
  const { headers } = await t.app.inject('/api/v1/status');
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'x-api-version': 'v1',
    'cache-control': 'no-store',
    'ratelimit-limit': '60',
    'ratelimit-remaining': '59',
    'ratelimit-reset': String(Date.UTC(2026, 0, 1, 0, 1) / 1000),
    'ratelimit-policy': '60;w=60',
    ratelimit: '"default";r=59;t=60',
    'access-control-allow-origin': '*',
  });
});

test('everything the status links to exists', async () => {
  const { data } = (await t.app.inject('/api/v1/status')).json();
  for (const link of ['website', 'docs', 'openapi', 'llms', 'deprecationPolicy']) {
    const answer = await t.app.inject(String(data[link]).slice(BASE.length));
    expect([link, answer.statusCode]).toEqual([link, 200]);
  }
});

test('GET /api/health returns exactly the documented response', async () => {
  const answer = await t.app.inject('/api/health');
  expect(answer.statusCode).toBe(200);
  expect(answer.json()).toEqual({
    success: true,
    data: { status: 'ok', service: 'signals.example.com', time: '2026-01-01T00:00:00.000Z' },
  });
});

test('GET /api/health has every required API header exactly once', async () => {
  const { headers } = await t.app.inject('/api/health');
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'x-api-version': 'v1',
    'cache-control': 'no-store',
    'ratelimit-limit': '60',
    'ratelimit-remaining': '59',
    'ratelimit-reset': String(Date.UTC(2026, 0, 1, 0, 1) / 1000),
    'ratelimit-policy': '60;w=60',
    ratelimit: '"default";r=59;t=60',
    'access-control-allow-origin': '*',
    'x-content-type-options': 'nosniff',
  });
  expect(headers['x-request-id']).toMatch(/^req_[0-9a-z]{25}$/);
  const exposed = String(headers['access-control-expose-headers']).split(', ');
  expect(exposed).toEqual(
    expect.arrayContaining([
      'X-API-Version',
      'RateLimit-Limit',
      'RateLimit-Remaining',
      'RateLimit-Reset',
      'RateLimit-Policy',
      'RateLimit',
      'Retry-After',
    ]),
  );
});

test('HEAD equals GET without the body', async () => {
  const get = await t.app.inject('/api/health');
  const head = await t.app.inject({ method: 'HEAD', url: '/api/health' });
  expect(head.statusCode).toBe(200);
  expect(head.body).toBe('');
  const counted = ['ratelimit-remaining', 'ratelimit', 'x-request-id', 'date'];
  for (const name of Object.keys(get.headers)) {
    if (!counted.includes(name)) expect(head.headers[name]).toBe(get.headers[name]);
  }
});

test('OPTIONS returns 204 with Allow, and permits browsers from any origin', async () => {
  const answer = await t.app.inject({
    method: 'OPTIONS',
    url: '/api/health',
    headers: { origin: 'https://elsewhere.example', 'access-control-request-method': 'GET' },
  });
  expect(answer.statusCode).toBe(204);
  expect(answer.body).toBe('');
  expect(answer.headers).toMatchObject({
    allow: 'GET, HEAD, OPTIONS',
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET, HEAD, OPTIONS',
    'x-api-version': 'v1',
    'ratelimit-remaining': '59',
  });
});
