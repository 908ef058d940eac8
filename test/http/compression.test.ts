import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chooseCoding } from '../../src/http/compression.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { loadStarterSite } from '../support/starter-site.ts';

let t: TestApp;
beforeAll(async () => {
  t = await buildTestApp({ content: await loadStarterSite(), env: { PUBLIC_RATE_LIMIT: '1000' } });
  for (let i = 0; i < 5; i++) {
    const payload = aPost({ platform: { name: 'reddit', post_url: `https://reddit.com/r/hvac/${i}` } });
    await t.app.inject({ method: 'POST', url: '/v1/signals', headers: t.auth, payload });
  }
});
afterAll(() => t.app.close());

const DECODE = { br: brotliDecompressSync, gzip: gunzipSync };
const KEPT = ['/', '/developers/errors.md', '/llms-full.txt', '/openapi.json', '/v1/openapi.json'];
const MADE = ['/v1/signals', '/api/v1/status', '/no-such-page'];

function get(url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') {
  return t.app.inject({ method, url, headers: { ...t.auth, ...headers } });
}

test.each([
  [undefined, null, false],
  ['', null, false],
  ['identity', null, false],
  ['gzip', 'gzip', false],
  ['x-gzip', 'gzip', false],
  ['GZIP;Q=0.5', 'gzip', false],
  ['gzip, deflate, br, zstd', 'br', false],
  ['gzip;q=1, br;q=0.5', 'gzip', false],
  ['br;q=0, gzip;q=0.1', 'gzip', false],
  ['gzip;q=0.5, identity;q=0.8', null, false],
  ['*', 'br', false],
  ['*;q=0.5, br;q=0', 'gzip', false],
  ['gzip, identity;q=0', 'gzip', true],
  ['gzip, *;q=0', 'gzip', true],
  ['gzip;q=0, br;q=0', null, false],
  ['deflate, zstd', null, false],
  ['gzip;q=nonsense', null, false],
  [`${'x'.repeat(5_000)}, gzip`, 'gzip', false],
  [`gzip${', x;q=0.1'.repeat(99)}`, 'gzip', false],
  [`gzip${', x;q=0.1'.repeat(100)}`, null, false],
])('Accept-Encoding %j selects %s', (header, coding, always) => {
  expect(chooseCoding(header)).toEqual({ coding, always });
});

test.each([...KEPT, ...MADE].flatMap((url) => (['br', 'gzip'] as const).map((coding) => ({ url, coding }))))(
  '$url in $coding has the same content, is smaller, and has a matching HEAD',
  async ({ url, coding }) => {
    const plain = await get(url);
    const coded = await get(url, { 'accept-encoding': coding });
    expect(coded.statusCode).toBe(plain.statusCode);
    expect(coded.headers['content-encoding']).toBe(coding);
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(String(coded.headers.vary)).toMatch(/(^|, )Accept-Encoding$/);
    expect(coded.headers.vary).toBe(plain.headers.vary);
    expect(DECODE[coding](coded.rawPayload).length).toBe(plain.rawPayload.length);
    expect(coded.rawPayload.length).toBeLessThan(plain.rawPayload.length * 0.7);
    expect(coded.headers['content-length']).toBe(String(coded.rawPayload.length));

    const head = await get(url, { 'accept-encoding': coding }, 'HEAD');
    expect(head.rawPayload.length).toBe(0);
    for (const name of ['content-encoding', 'content-length', 'content-type', 'etag', 'vary']) {
      expect(head.headers[name]).toBe(coded.headers[name]);
    }
  },
);

test.each(KEPT)(
  '%s has a strong ETag per coding, each returning 304 for its own coding only',
  async (url) => {
    const codings = ['identity', 'gzip', 'br'];
    const tags = await Promise.all(
      codings.map(async (coding) => String((await get(url, { 'accept-encoding': coding })).headers.etag)),
    );
    expect(new Set(tags).size).toBe(3);
    for (const tag of tags) expect(tag).toMatch(/^"[\w-]+"$/);
    for (const [i, coding] of codings.entries()) {
      for (const [j, tag] of tags.entries()) {
        const again = await get(url, { 'accept-encoding': coding, 'if-none-match': tag });
        expect([coding, again.statusCode]).toEqual([coding, i === j ? 304 : 200]);
        expect(again.headers.etag).toBe(tags[i]);
        expect(String(again.headers.vary)).toContain('Accept-Encoding');
        if (i === j) expect(again.headers).not.toHaveProperty('content-encoding');
      }
    }
  },
);

test('a short response is not compressed unless the client rejects identity', async () => {
  const short = await get('/v1/signals/none', { 'accept-encoding': 'gzip' });
  expect(short.headers).not.toHaveProperty('content-encoding');
  const forced = await get('/v1/signals/none', { 'accept-encoding': 'gzip, identity;q=0' });
  expect(forced.headers['content-encoding']).toBe('gzip');
  expect(JSON.parse(gunzipSync(forced.rawPayload).toString())).toMatchObject({ code: 'NOT_FOUND' });
});

test('a long problem document is compressed like any response', async () => {
  const payload = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`unknown_${i}`, 1]));
  const headers = { ...t.auth, 'accept-encoding': 'br' };
  const answer = await t.app.inject({ method: 'POST', url: '/v1/signals', headers, payload });
  expect([answer.statusCode, answer.headers['content-encoding']]).toEqual([400, 'br']);
  expect(JSON.parse(brotliDecompressSync(answer.rawPayload).toString()).code).toBe('INVALID_REQUEST');
});

test('a response that shows a new secret is never compressed', async () => {
  const post = (url: string, payload?: object) =>
    t.app.inject({
      method: 'POST',
      url,
      headers: { ...t.auth, 'accept-encoding': 'gzip, br, identity;q=0' },
      ...(payload && { payload }),
    });
  const label = 'x'.repeat(200);
  const webhook = await post('/v1/webhooks', {
    url: `https://receiver.example.com/${'y'.repeat(1_500)}`,
    label,
  });
  const { id } = webhook.json().data;
  for (const answer of [webhook, await post(`/v1/webhooks/${id}/secret`)]) {
    expect(answer.rawPayload.length).toBeGreaterThan(1_024);
    expect(answer.headers).not.toHaveProperty('content-encoding');
    expect(answer.json().data.secret).toMatch(/^whsec_/);
  }
  const key = await post('/v1/keys', { name: 'k', preset: 'admin' });
  expect(key.headers).not.toHaveProperty('content-encoding');
  expect(key.json().data.api_key).toMatch(/^sp_live_/);
});

test('a repeated request gets the stored response in the coding that it accepts', async () => {
  const payload = aPost({
    platform: { name: 'reddit', post_url: 'https://reddit.com/r/hvac/again' },
    text: `We need a new CRM now. ${'Any advice? '.repeat(100)}`,
  });
  const send = (coding: string) =>
    t.app.inject({
      method: 'POST',
      url: '/v1/signals',
      headers: { ...t.auth, 'idempotency-key': 'once', 'accept-encoding': coding },
      payload,
    });
  const first = await send('gzip');
  expect(first.headers['content-encoding']).toBe('gzip');
  const replayed = await send('br');
  expect(replayed.headers['idempotent-replayed']).toBe('true');
  expect(replayed.headers['content-encoding']).toBe('br');
  expect(brotliDecompressSync(replayed.rawPayload)).toEqual(gunzipSync(first.rawPayload));
  expect((await send('identity')).rawPayload).toEqual(gunzipSync(first.rawPayload));
});
