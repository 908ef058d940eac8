import { afterAll, beforeAll, expect, test } from 'vitest';
import { BASE_URL, buildTestApp, type TestApp } from '../support/app.ts';
import { aPage, aSite, PAGES_CHANGED_AT } from '../support/site-content.ts';

let t: TestApp;
beforeAll(async () => {
  t = await buildTestApp();
});
afterAll(() => t.app.close());

const site = aSite();
const markdown = { accept: 'text/markdown' };

test.each(site.pages.map(({ path, title }) => [path, title]))(
  '%s is served as HTML and as markdown',
  async (path, title) => {
    const html = await t.app.inject(path);
    expect(html.statusCode).toBe(200);
    expect(html.body).toContain(`<h1>${title}</h1>`);
    const text = await t.app.inject({ url: path, headers: markdown });
    expect(text.body).toBe(`# ${title}\n\nWhat the page ${title} is about.\n`);
  },
);

test.each([
  ['/', '/index.md'],
  ['/pricing', '/pricing.md'],
  ['/developers', '/developers.md'],
  ['/developers/errors', '/developers/errors.md'],
])('the markdown of %s is always at %s', async (path, twin) => {
  const negotiated = await t.app.inject({ url: path, headers: markdown });
  const fixed = await t.app.inject(twin);
  expect(fixed.statusCode).toBe(200);
  expect(fixed.body).toBe(negotiated.body);
  expect(negotiated.headers['content-location']).toBe(twin);
  expect(negotiated.headers.link).toContain(`<${BASE_URL}${twin}>; rel="alternate"; type="text/markdown"`);
});

test.each([
  ['as HTML', '/pricing', {}],
  ['as markdown', '/pricing', markdown],
  ['at its markdown address', '/pricing.md', {}],
])('a page %s has every required header', async (_name, url, headers) => {
  const answer = await t.app.inject({ url, headers });
  expect(answer.headers).toMatchObject({
    vary: 'Accept, Accept-Encoding',
    'cache-control': 'public, max-age=300',
    'last-modified': new Date(PAGES_CHANGED_AT).toUTCString(),
    'x-markdown-tokens': '12',
    'x-content-type-options': 'nosniff',
    'access-control-allow-origin': '*',
  });
  expect(answer.headers.etag).toMatch(/^"[A-Za-z0-9_-]{22}"$/);
  expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(answer.body)));
  expect(String(answer.headers.link).split(', ')).toEqual([
    `<${BASE_URL}/pricing>; rel="canonical"`,
    `<${BASE_URL}/pricing.md>; rel="alternate"; type="text/markdown"`,
    `<${BASE_URL}/llms.txt>; rel="describedby"; type="text/plain"`,
    `<${BASE_URL}/openapi.json>; rel="service-desc"; type="application/json"`,
    `<${BASE_URL}/v1/openapi.json>; rel="service-desc"; type="application/json"`,
    `<${BASE_URL}/v1>; rel="service-meta"; type="application/json"`,
    `<${BASE_URL}/.well-known/api-catalog>; rel="api-catalog"`,
  ]);
  const exposed = String(answer.headers['access-control-expose-headers']).split(', ');
  expect(exposed).toEqual(expect.arrayContaining(['ETag', 'Link', 'X-Markdown-Tokens', 'X-Request-Id']));
});

test('an HTML page may load files of this site and nothing else', async () => {
  const policy = String((await t.app.inject('/')).headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain('unsafe');
});

test('a file whose URL contains its hash can be cached forever', async () => {
  const answer = await t.app.inject('/assets/site.0123456789.css');
  expect(answer.statusCode).toBe(200);
  expect(answer.headers).toMatchObject({
    'content-type': 'text/css; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    etag: expect.stringMatching(/^"/),
  });
  expect(answer.body).toBe('p{}');
});

test('a query string does not change which page is served', async () => {
  expect((await t.app.inject('/pricing?utm_source=a&b')).body).toContain('<h1>Pricing</h1>');
});

test("a page's path may contain escapes; an escaped slash does not count as a slash", async () => {
  expect((await t.app.inject('/%70ricing')).statusCode).toBe(200);
  expect((await t.app.inject('/developers%2Ferrors')).statusCode).toBe(404);
  expect((await t.app.inject('/Pricing')).statusCode).toBe(404);
});

test('a page with the same bytes as its markdown still has a separate ETag for each', async () => {
  const same = { ...aPage('/same', 'Same', 'Pages'), html: 'same', markdown: 'same' };
  const other = await buildTestApp({ content: aSite({ pages: [...site.pages, same] }) });
  const html = await other.app.inject('/same');
  const text = await other.app.inject({ url: '/same', headers: markdown });
  await other.app.close();
  expect(html.body).toBe(text.body);
  expect(html.headers.etag).not.toBe(text.headers.etag);
});

test('the icon that browsers request by default exists, and can change with the site', async () => {
  const answer = await t.app.inject('/favicon.ico');
  expect(answer.statusCode).toBe(200);
  expect(answer.headers).toMatchObject({
    'content-type': 'image/svg+xml',
    'cache-control': 'public, max-age=300',
  });
});
