import { afterAll, beforeAll, expect, test } from 'vitest';
import { BASE_URL, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await buildTestApp();
});
afterAll(() => t.app.close());

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
const ask = (url: string, accept?: string, method: Method = 'GET') =>
  t.app.inject({ method, url, headers: accept === undefined ? {} : { accept } });

const WAYS = ['/sitemap.md', '/sitemap.xml', '/llms.txt', '/developers', '/openapi.json', '/api/v1/status'];
const HTML = 'text/html; charset=utf-8';
const MARKDOWN = 'text/markdown; charset=utf-8';

test('an unknown page is a short markdown document with suggestions if markdown is requested', async () => {
  const answer = await ask('/pricng', 'text/markdown');
  expect(answer.statusCode).toBe(404);
  expect(answer.headers).toMatchObject({
    'content-type': MARKDOWN,
    vary: 'Accept',
    'cache-control': 'no-store',
    link: expect.stringContaining('rel="describedby"'),
  });
  for (const way of WAYS) expect(answer.body).toContain(`](${BASE_URL}${way})`);
  expect(answer.body).toContain('There is no page at `/pricng`');
  expect(answer.body).toContain(`[Pricing](${BASE_URL}/pricing.md)`);
  expect(answer.body.length).toBeLessThan(1_500);
});

test.each([undefined, '*/*', 'text/html', 'application/json', 'image/png'])(
  'an unknown page is an HTML page with the same suggestions for Accept: %s',
  async (accept) => {
    const answer = await ask('/pricng', accept);
    expect(answer.statusCode).toBe(404);
    expect(answer.headers).toMatchObject({
      'content-type': HTML,
      vary: 'Accept',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    });
    for (const way of [...WAYS, '/pricing']) expect(answer.body).toContain(`href="${BASE_URL}${way}"`);
  },
);

test('an unknown markdown URL is markdown, unless HTML is requested explicitly', async () => {
  expect((await ask('/nope.md')).headers['content-type']).toBe(MARKDOWN);
  expect((await ask('/nope.md', '*/*')).headers['content-type']).toBe(MARKDOWN);
  expect((await ask('/nope.md', 'text/html')).headers['content-type']).toBe(HTML);
});

test.each([
  ['/price', '/pricing'],
  ['/Pricing', '/pricing'],
  ['/pricing.html', '/pricing'],
  ['/errors', '/developers/errors'],
  ['/docs/errors', '/developers/errors'],
  ['/developer/versionning', '/developers/versioning'],
  ['/wholly-unlike-anything', '/index'],
])('the closest page to %s is %s', async (asked, nearest) => {
  const { body } = await ask(asked, 'text/markdown');
  const list = body.slice(body.indexOf('## Nearest pages'), body.indexOf('## Ways on'));
  expect(/\]\(([^)]+)\)/.exec(list)?.[1]).toBe(`${BASE_URL}${nearest}.md`);
});

test('the requested path is escaped in the document', async () => {
  const { body } = await ask('/a`b](x)<script>', 'text/markdown');
  expect(body).toContain('`/a%60b](x)%3Cscript%3E`');
  const page = await ask('/<script>alert(1)</script>', 'text/html');
  expect(page.body).not.toContain('<script>alert');
});

test.each(['POST', 'PUT', 'DELETE'] as const)(
  '%s on a page is 405 with Allow, before its body is read',
  async (method) => {
    for (const url of ['/', '/pricing', '/pricing.md', '/pricing/', '/llms.txt', '/robots.txt']) {
      const answer = await t.app.inject({
        method,
        url,
        headers: { 'content-type': 'application/json' },
        payload: '{broken',
      });
      expect(answer.statusCode).toBe(405);
      expect(answer.headers.allow).toBe('GET, HEAD, OPTIONS');
      expect(answer.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED', status: 405, instance: url });
    }
  },
);

test.each([
  ['text/html', HTML],
  ['text/markdown', MARKDOWN],
  ['application/json', 'application/problem+json'],
  ['*/*', 'application/problem+json'],
])('an error for Accept: %s is %s', async (accept, type) => {
  for (const [url, method, status] of [
    ['/pricing', 'POST', 405],
    ['/%zz', 'GET', 400],
  ] as const) {
    const answer = await ask(url, accept, method);
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([status, type]);
    expect(answer.headers.vary).toBe('Accept');
  }
});

test.each([
  ['/pricing/', '/pricing'],
  ['/pricing//', '/pricing'],
  ['/pricing/?a=b&c', '/pricing?a=b&c'],
  ['/developers/errors/', '/developers/errors'],
  ['/pricing.md/', '/pricing.md'],
  ['/llms.txt/', '/llms.txt'],
])('%s is a single 308 to %s', async (url, location) => {
  for (const method of ['GET', 'HEAD'] as const) {
    const answer = await ask(url, 'text/markdown', method);
    expect([answer.statusCode, answer.headers.location]).toEqual([308, location]);
  }
  expect((await ask(location)).statusCode).toBe(200);
});

test.each(['/nope/', '//', '//evil.example', '//evil.example/', '///evil.example//', '/%2Fevil.example/'])(
  '%s redirects to no other page or host',
  async (url) => {
    const answer = await ask(url);
    expect(answer.statusCode === 404 || answer.headers.location === '/').toBe(true);
  },
);
