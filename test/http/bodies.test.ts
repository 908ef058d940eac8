import { setImmediate as nextTurn } from 'node:timers/promises';
import Fastify from 'fastify';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { addJsonBody } from '../../src/http/json-body.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { cpuOf } from '../support/cpu-time.ts';

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp();
});
afterEach(() => t.app.close());

function post(payload: string | Buffer, contentType = 'application/json', url = '/v1/signals') {
  return t.app.inject({ method: 'POST', url, headers: { ...t.auth, 'content-type': contentType }, payload });
}

test('malformed JSON is rejected', async () => {
  const answer = await post('{"text": ');
  expect(answer.statusCode).toBe(400);
  expect(answer.json()).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ pointer: '' }] });
});

test('an empty body is rejected with the missing members', async () => {
  expect((await post('')).json()).toMatchObject({ code: 'INVALID_REQUEST', status: 400 });
  const none = await t.app.inject({ method: 'POST', url: '/v1/signals', headers: t.auth });
  expect(none.json()).toMatchObject({ code: 'INVALID_REQUEST', status: 400 });
});

test.each(['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'nonsense'])(
  'a body of type %s is rejected with 415',
  async (contentType) => {
    const answer = await post('a=1', contentType);
    expect(answer.statusCode).toBe(415);
    expect(answer.json().code).toBe('UNSUPPORTED_MEDIA_TYPE');
  },
);

test('a charset next to the content type is accepted', async () => {
  expect((await post(JSON.stringify(aPost()), 'Application/JSON; charset=UTF-8')).statusCode).toBe(201);
});

test('a body over 1 MiB is rejected with 413, over 5 MiB for a batch', async () => {
  const mebibyte = 1024 * 1024;
  const one = await post(JSON.stringify({ pad: 'a'.repeat(mebibyte) }));
  expect(one.statusCode).toBe(413);
  expect(one.json()).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', detail: expect.stringContaining('1048576') });
  const pad = (size: number) => JSON.stringify({ signals: [{ pad: 'a'.repeat(size) }] });
  expect((await post(pad(4 * mebibyte), undefined, '/v1/signals/batch')).statusCode).toBe(200);
  expect((await post(pad(5 * mebibyte), undefined, '/v1/signals/batch')).statusCode).toBe(413);
});

test('a body nested deeper than 32 levels is rejected, not counting brackets within strings', async () => {
  const deep = await post('['.repeat(33) + ']'.repeat(33));
  expect(deep.json()).toMatchObject({ status: 400, detail: expect.stringContaining('32 levels') });
  expect((await post('['.repeat(200_000))).statusCode).toBe(400);
  const text = `We need a CRM \\" ${'[{'.repeat(50)}`;
  expect((await post(`{"platform":{"name":"x"},"text":"${text}"}`)).statusCode).toBe(201);
});

test.each([
  ['a list of empty objects', '{}'],
  ['a list of empty texts', '""'],
  ['a list of digits', '1'],
  ['a list of lists', '[]'],
  ['a list of objects of their own', '{"a":1}'],
])('a 5 MiB body that is %s is rejected before parsing, with or without a key', async (_, item) => {
  const list = `[${`${item},`.repeat(Math.floor((5 * 1024 * 1024 - 100) / (item.length + 1)))}${item}]`;
  for (const body of [
    list,
    `{"signals":${list}}`,
    `{"signals":[${list}]}`,
    `{"signals":[{"text":${list}}]}`,
  ]) {
    for (const headers of [{}, { 'idempotency-key': 'of-many-values' }]) {
      const cpuMs = await cpuMsOfAnswer(() =>
        t.app.inject({
          ...{ method: 'POST', url: '/v1/signals/batch', payload: body },
          headers: { ...t.auth, 'content-type': 'application/json', ...headers },
        }),
      );
      // Takes 25 ms; parsing and walking it would take 1 to 7 s.
      expect(cpuMs).toBeLessThan(500);
    }
  }
  const answer = await post(list, undefined, '/v1/signals/batch');
  expect(answer.json()).toMatchObject({ status: 400, detail: expect.stringContaining('50000 values') });
});

test('large bodies that arrive together are not parsed in one turn of the event loop, and small ones do not wait', async () => {
  const app = Fastify();
  onTestFinished(() => app.close());
  addJsonBody(app);
  const parsed: { turn: number; isLarge: boolean }[] = [];
  let turn = 0;
  app.post<{ Body: string[] }>('/', async ({ body }) => {
    parsed.push({ turn, isLarge: body.length > 1 });
    return {};
  });
  await app.ready();
  const send = (body: string[]) =>
    app.inject({
      ...{ method: 'POST', url: '/', headers: { 'content-type': 'application/json' } },
      payload: JSON.stringify(body).replaceAll('"a"', '"\\u0061"'),
    });
  const all = [...Array.from({ length: 100 }, () => send(Array(20_000).fill('a'))), send(['a'])];
  while (parsed.length < 101) {
    turn++;
    await nextTurn();
  }
  await Promise.all(all);
  const first = parsed[0]?.turn ?? 0;
  expect(parsed.filter((each) => each.turn === first).length).toBeLessThan(50);
  expect(parsed.findIndex(({ isLarge }) => !isLarge)).toBeLessThan(50);
});

async function cpuMsOfAnswer(ask: () => Promise<{ statusCode: number }>): Promise<number> {
  const { allMs } = await cpuOf(async () => expect((await ask()).statusCode).toBe(400));
  return allMs;
}

test('bytes that are not valid UTF-8 are rejected', async () => {
  const body = Buffer.concat([
    Buffer.from('{"platform":{"name":"x"},"text":"'),
    Buffer.from([0xff]),
    Buffer.from('"}'),
  ]);
  expect((await post(body)).json()).toMatchObject({ status: 400, detail: 'The body is not UTF-8.' });
});

test.each(['\\u0000', '\\ud800', '\\uDC00 a'])('text with %s is rejected with its pointer', async (bad) => {
  const answer = await post(`{"platform":{"name":"x"},"text":"a ${bad} b"}`);
  expect(answer.json()).toMatchObject({ status: 400, errors: [{ pointer: '/text' }] });
});

test('a member named __proto__ is rejected', async () => {
  const answer = await post('{"platform":{"name":"x","__proto__":{"a":1}},"text":"a"}');
  expect(answer.json()).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
});

test('an emoji written as an escaped surrogate pair is accepted', async () => {
  expect((await post('{"platform":{"name":"x"},"text":"we need a CRM \\ud83d\\ude00"}')).statusCode).toBe(
    201,
  );
});

test('DELETE with a content type and no body is accepted', async () => {
  const answer = await t.app.inject({
    method: 'DELETE',
    url: '/v1/webhooks/whk_none',
    headers: { ...t.auth, 'content-type': 'application/json' },
  });
  expect(answer.statusCode).toBe(404);
});
