import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { PAGES_CHANGED_AT } from '../support/site-content.ts';

let t: TestApp;
beforeAll(async () => {
  t = await buildTestApp({ env: { PUBLIC_RATE_LIMIT: '1000' } });
});
afterAll(() => t.app.close());

const get = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
  t.app.inject({ method, url, headers });

const CACHED = [
  '/',
  '/pricing',
  '/pricing.md',
  '/assets/site.0123456789.css',
  '/openapi.json',
  '/llms.txt',
  '/llms-full.txt',
  '/sitemap.xml',
  '/sitemap.md',
  '/robots.txt',
  '/.well-known/api-catalog',
  '/.well-known/security.txt',
];

test.each(CACHED)(
  '%s is 304 for clients that have it, with the headers a cache needs and no body',
  async (url) => {
    const first = await get(url);
    const { etag = '', ...headers } = first.headers as Record<string, string>;
    for (const method of ['GET', 'HEAD'] as const) {
      const again = await get(url, { 'if-none-match': etag }, method);
      expect(again.statusCode).toBe(304);
      expect(again.body).toBe('');
      expect(again.headers.etag).toBe(etag);
      for (const name of ['cache-control', 'last-modified', 'vary', 'link']) {
        expect(again.headers[name]).toBe(headers[name]);
      }
      for (const name of ['content-type', 'content-length']) expect(again.headers).not.toHaveProperty(name);
    }
  },
);

test.each([
  ['a list that holds the tag', (etag: string) => ({ 'if-none-match': `"x", ${etag}` }), 304],
  ['the tag marked as weak by a proxy', (etag: string) => ({ 'if-none-match': `W/${etag}` }), 304],
  ['any', () => ({ 'if-none-match': '*' }), 304],
  ['another tag', () => ({ 'if-none-match': '"other"' }), 200],
  ['the tag without its quotes', (etag: string) => ({ 'if-none-match': etag.replaceAll('"', '') }), 200],
  [
    'the moment of the change',
    () => ({ 'if-modified-since': new Date(PAGES_CHANGED_AT).toUTCString() }),
    304,
  ],
  ['a later moment', () => ({ 'if-modified-since': new Date(PAGES_CHANGED_AT + 5_000).toUTCString() }), 304],
  [
    'an earlier moment',
    () => ({ 'if-modified-since': new Date(PAGES_CHANGED_AT - 1_000).toUTCString() }),
    200,
  ],
  ['no date', () => ({ 'if-modified-since': 'yesterday' }), 200],
  [
    'another tag and a later moment',
    () => ({ 'if-none-match': '"other"', 'if-modified-since': new Date(PAGES_CHANGED_AT).toUTCString() }),
    200,
  ],
])('a condition of %s is evaluated as specified', async (_name, conditions, status) => {
  const { etag } = (await get('/pricing')).headers;
  expect((await get('/pricing', conditions(String(etag)))).statusCode).toBe(status);
});

test('the ETag of one representation does not match the other', async () => {
  const html = String((await get('/pricing')).headers.etag);
  const text = await get('/pricing', { accept: 'text/markdown', 'if-none-match': html });
  expect(text.statusCode).toBe(200);
  expect(text.headers.etag).not.toBe(html);
  const again = await get('/pricing', {
    accept: 'text/markdown',
    'if-none-match': String(text.headers.etag),
  });
  expect(again.statusCode).toBe(304);
  expect(again.headers.vary).toBe('Accept, Accept-Encoding');
});

test('a 404 is never 304', async () => {
  expect((await get('/nope', { 'if-none-match': '*' })).statusCode).toBe(404);
  expect((await get('/api/nope', { 'if-none-match': '*' })).statusCode).toBe(404);
});

test.each(['/api/health', '/api/v1/status', '/api/nope'])(
  'a response of %s may not be cached',
  async (url) => {
    const answer = await get(url, { 'if-none-match': '*' });
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers).not.toHaveProperty('etag');
    expect(answer.statusCode).not.toBe(304);
  },
);
