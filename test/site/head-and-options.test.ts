import { afterAll, beforeAll, expect, test } from 'vitest';
import { sendRaw } from '../http/raw-http.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await buildTestApp({ env: { PUBLIC_RATE_LIMIT: '1000' } });
  await t.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => t.app.close());

const EVERYTHING = [
  '/',
  '/index.md',
  '/pricing',
  '/pricing.md',
  '/pricing/',
  '/assets/site.0123456789.css',
  '/openapi.json',
  '/llms.txt',
  '/llms-full.txt',
  '/sitemap.xml',
  '/sitemap.md',
  '/robots.txt',
  '/.well-known/api-catalog',
  '/.well-known/security.txt',
  '/nope',
  '/nope.md',
  '/%zz',
  '/api/health',
  '/api/v1/status',
  '/api/nope',
  '/api',
];
/** Headers that count or identify requests, and so differ between them. */
const OWN = new Set(['x-request-id', 'date', 'ratelimit-remaining', 'ratelimit', 'connection', 'keep-alive']);

const ask = (method: string, url: string, accept: string) =>
  sendRaw(t.app, `${method} ${url} HTTP/1.1\r\nHost: x\r\nAccept: ${accept}\r\nConnection: close\r\n\r\n`);

test.each(
  EVERYTHING.flatMap((url) => ['*/*', 'text/markdown', 'application/json'].map((accept) => [url, accept])),
)('HEAD %s with Accept: %s equals its GET without the body', async (url = '', accept = '') => {
  const get = await ask('GET', url, accept);
  const head = await ask('HEAD', url, accept);
  expect(head.status).toBe(get.status);
  expect(head.body).toBe('');
  const comparable = ({ headers }: typeof get) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN.has(name)));
  // A problem names its request: other IDs have the same length.
  expect(comparable(head)).toEqual(comparable(get));
});

test.each(EVERYTHING.filter((url) => !/nope|%zz|^\/api$/.test(url)))(
  'OPTIONS %s is 204 with Allow, and permits any origin',
  async (url) => {
    const answer = await t.app.inject({
      method: 'OPTIONS',
      url,
      headers: { origin: 'https://elsewhere.example', 'access-control-request-method': 'GET' },
    });
    expect(answer.statusCode).toBe(204);
    expect(answer.body).toBe('');
    expect(answer.headers).toMatchObject({
      allow: 'GET, HEAD, OPTIONS',
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD, OPTIONS',
    });
  },
);

test.each(EVERYTHING)('any origin may read GET %s', async (url) => {
  const answer = await t.app.inject({ url, headers: { origin: 'https://elsewhere.example' } });
  expect(answer.headers['access-control-allow-origin']).toBe('*');
});
