import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNegotiation } from '../../src/site/pages.ts';
import { BASE_URL, buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await buildTestApp();
});
afterAll(() => t.app.close());

const get = (url: string, accept?: string, method: 'GET' | 'HEAD' = 'GET') =>
  t.app.inject({ method, url, headers: accept === undefined ? {} : { accept } });

const HTML = 'text/html; charset=utf-8';
const MARKDOWN = 'text/markdown; charset=utf-8';
const CHROME =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8';

test.each([
  [undefined, HTML],
  ['', HTML],
  ['*/*', HTML],
  ['text/*', HTML],
  ['*/*;q=0.1', HTML],
  [CHROME, HTML],
  ['text/html', HTML],
  ['text/markdown', MARKDOWN],
  ['TEXT/Markdown', MARKDOWN],
  ['text/markdown;charset=utf-8', MARKDOWN],
  ['text/markdown; charset="utf-8"; variant=GFM', MARKDOWN],
  ['text/markdown;variant="a,b;q=0"', MARKDOWN],
  [' text/markdown ; q=0.5 ', MARKDOWN],
  ['text/markdown, text/html;q=0.9', MARKDOWN],
  ['text/html;q=0.9, text/markdown', MARKDOWN],
  ['text/html, text/markdown;q=0.9', HTML],
  ['text/markdown;q=0.9, text/html', HTML],
  ['text/html, text/markdown', HTML],
  ['text/markdown, text/html', MARKDOWN],
  ['text/markdown;q=0.5, text/html;q=0.5', MARKDOWN],
  ['text/markdown, text/html, */*', MARKDOWN],
  ['text/markdown, */*', MARKDOWN],
  ['*/*, text/markdown', MARKDOWN],
  ['text/markdown;q=0.5, */*', HTML],
  ['text/html;q=0, */*', MARKDOWN],
  ['text/markdown;q=0, text/*', HTML],
  ['application/json, text/markdown;q=0.1', MARKDOWN],
  ['text/markdown;q=0.123', MARKDOWN],
  ['text/html;Q=0.1, text/markdown;Q=0.2', MARKDOWN],
  ['not a media range', HTML],
  ['text/markdown, rubbish', MARKDOWN],
])('Accept: %s returns %s', async (accept, type) => {
  const answer = await get('/pricing', accept);
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-type']).toBe(type);
  expect(answer.headers.vary).toBe('Accept, Accept-Encoding');
  expect(answer.body.startsWith(type === HTML ? '<!doctype html>' : '# Pricing')).toBe(true);
});

test.each(['application/json', '*/*;q=0', 'text/html;q=0, text/markdown;q=0', 'image/png, text/plain'])(
  'Accept: %s is 406, with the available types',
  async (accept) => {
    for (const method of ['GET', 'HEAD'] as const) {
      const answer = await get('/pricing', accept, method);
      expect(answer.statusCode).toBe(406);
      expect(answer.headers).toMatchObject({
        'content-type': 'application/problem+json',
        vary: 'Accept',
        link: expect.stringContaining('rel="alternate"; type="text/markdown"'),
      });
      if (method === 'HEAD') continue;
      expect(answer.json()).toMatchObject({
        code: 'NOT_ACCEPTABLE',
        status: 406,
        instance: '/pricing',
        available: [
          { type: 'text/html', url: `${BASE_URL}/pricing` },
          { type: 'text/markdown', url: `${BASE_URL}/pricing.md` },
        ],
      });
    }
  },
);

test.each(['/nope', '/pricing/nope', '/nope.md'])('%s is 404 regardless of Accept', async (url) => {
  for (const accept of [undefined, 'application/json', '*/*;q=0', 'text/markdown', 'text/html']) {
    const answer = await get(url, accept);
    expect(answer.statusCode).toBe(404);
    expect(answer.headers.vary).toBe('Accept');
  }
});

test('the markdown URL is markdown regardless of Accept', async () => {
  for (const accept of [undefined, 'text/html', 'application/json', '*/*;q=0']) {
    const answer = await get('/pricing.md', accept);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-type']).toBe(MARKDOWN);
  }
});

test('any header gets a response, and the same header always the same one', () => {
  const negotiate = createNegotiation();
  fc.assert(
    fc.property(fc.string({ maxLength: 400 }), (accept) => {
      const first = negotiate(accept);
      expect(negotiate(accept)).toEqual(first);
      expect(createNegotiation()(accept)).toEqual(first);
    }),
  );
});

test('the higher of two explicit weights wins, in either order', () => {
  const weight = fc.integer({ min: 1, max: 1000 }).map((n) => n / 1000);
  fc.assert(
    fc.property(weight, weight, fc.boolean(), (html, markdown, htmlFirst) => {
      const parts = [`text/html;q=${html}`, `text/markdown;q=${markdown}`];
      const accept = (htmlFirst ? parts : parts.toReversed()).join(', ');
      const wins = html === markdown ? htmlFirst : html > markdown;
      expect(createNegotiation()(accept)).toEqual({
        type: wins ? 'text/html' : 'text/markdown',
        named: true,
      });
    }),
  );
});

test('headers that are too long to parse cheaply are disregarded', async () => {
  const accept = `${'a/b;q=0.1,'.repeat(200)}text/markdown`;
  const coding = `${'x;q=0.1,'.repeat(125)}gzip`;
  const answer = await t.app.inject({ url: '/', headers: { accept, 'accept-encoding': coding } });
  expect(answer.headers['content-type']).toBe(HTML);
  expect(answer.headers['content-encoding']).toBeUndefined();
});
