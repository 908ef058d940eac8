import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { aPost, buildTestApp, type TestApp, type TestAppOptions } from '../support/app.ts';

let t: TestApp;
/** Called each time a request starts to wait. */
let onWait: () => void;
/** Resolves when the most recent request to wait stops waiting. */
let lastWait: Promise<void>;

async function open(options: TestAppOptions = {}) {
  t = await buildTestApp({
    ...options,
    wrapStore: (store) => ({
      ...store,
      untilStored(...args) {
        lastWait = store.untilStored(...args);
        onWait();
        return lastWait;
      },
    }),
  });
}

beforeEach(async () => {
  onWait = () => undefined;
  await open();
});
afterEach(() => t.app.close());

const get = (url: string, headers: Record<string, string> = t.auth) => t.app.inject({ url, headers });

/** Resolves when the next request starts to wait. */
function nextWait(): Promise<void> {
  return new Promise((resolve) => {
    onWait = resolve;
  });
}

async function observe(...ids: string[]) {
  for (const id of ids) {
    const payload = aPost({ platform: { name: 'hn' }, external_id: id, text: `${aPost().text} ${id}` });
    const answer = await t.app.inject({ method: 'POST', url: '/v1/signals', headers: t.auth, payload });
    expect(answer.statusCode).toBe(201);
  }
}

const externalIds = (answer: Awaited<ReturnType<typeof get>>) =>
  answer.json().data.map((row: { external_id: string }) => row.external_id);

function nextOf(answer: Awaited<ReturnType<typeof get>>): string {
  const { next_cursor: cursor } = answer.json().pagination;
  expect(cursor).toEqual(expect.any(String));
  return cursor;
}

test('signals come in the order they were stored, and every page has a cursor, even an empty one', async () => {
  const none = await get('/v1/signals?order=stored&limit=2');
  expect(none.json()).toEqual({
    data: [],
    pagination: { next_cursor: expect.any(String), has_more: false, limit: 2 },
  });
  expect(none.headers.link).toBeUndefined();
  await observe('a', 'b', 'c');
  const first = await get(`/v1/signals?order=stored&limit=2&cursor=${nextOf(none)}`);
  expect(externalIds(first)).toEqual(['a', 'b']);
  expect(first.json().pagination.has_more).toBe(true);
  expect(first.headers.link).toContain('rel="next"');
  const last = await get(`/v1/signals?order=stored&limit=100&cursor=${nextOf(first)}`);
  expect(externalIds(last)).toEqual(['c']);
  expect(last.json().pagination.has_more).toBe(false);
  await observe('d');
  expect(externalIds(await get(`/v1/signals?order=stored&cursor=${nextOf(last)}`))).toEqual(['d']);
});

test('cursor=now skips existing signals', async () => {
  await observe('a');
  const now = await get('/v1/signals?order=stored&cursor=now');
  expect(externalIds(now)).toEqual([]);
  await observe('b');
  expect(externalIds(await get(`/v1/signals?order=stored&cursor=${nextOf(now)}`))).toEqual(['b']);
});

test('events come in the order they were stored, too', async () => {
  await observe('a');
  const first = await get('/v1/events?order=stored&type=signal.detected');
  expect(first.json().data).toHaveLength(1);
  await observe('b');
  const second = await get(`/v1/events?order=stored&type=signal.detected&cursor=${nextOf(first)}`);
  expect(second.json().data).toHaveLength(1);
  expect(second.json().data[0].id).not.toBe(first.json().data[0].id);
});

test('a cursor is bound to order, filters, list and tenant, but not to limit and wait', async () => {
  await observe('a', 'b');
  const cursor = nextOf(await get('/v1/signals?order=stored&platform=hn&limit=1'));
  const other = await t.addTenant();
  expect((await get(`/v1/signals?order=stored&platform=hn&limit=9&wait=0&cursor=${cursor}`)).statusCode).toBe(
    200,
  );
  const refused = await Promise.all([
    get(`/v1/signals?order=stored&cursor=${cursor}`),
    get(`/v1/signals?platform=hn&cursor=${cursor}`),
    get(`/v1/events?order=stored&cursor=${cursor}`),
    get(`/v1/signals?order=stored&platform=hn&cursor=${cursor}`, other.auth),
    get('/v1/signals?cursor=now'),
  ]);
  for (const answer of refused) {
    expect(answer.statusCode).toBe(400);
    expect(answer.json().code).toBe('INVALID_CURSOR');
  }
});

test.each([
  ['order=stored&sort=timestamp', 'sort', /cannot be combined with "sort"/],
  ['order=stored&sort=-timestamp', 'sort', /cannot be combined with "sort"/],
  ['wait=5', 'wait', /order=stored/],
  ['order=commit', 'order', /stored/],
  ['order=stored&wait=21', 'wait', /from 0 to 20/],
  ['order=stored&wait=0.5', 'wait', /whole number/],
])('%s is rejected with an alternative', async (query, parameter, detail) => {
  const answer = await get(`/v1/signals?${query}`);
  expect(answer.statusCode).toBe(400);
  expect(answer.json().errors).toEqual([{ parameter, detail: expect.stringMatching(detail) }]);
});

test('with wait the response is held until something that matches is stored', async () => {
  await observe('a');
  const cursor = nextOf(await get('/v1/signals?order=stored'));
  const waits = nextWait();
  const held = get(`/v1/signals?order=stored&wait=20&cursor=${cursor}`);
  await waits;
  await observe('b');
  expect(externalIds(await held)).toEqual(['b']);
});

test('anything else does not end the wait, which times out at the end', async () => {
  const waits = nextWait();
  const held = get('/v1/signals?order=stored&platform=elsewhere&wait=3');
  await waits;
  const again = nextWait();
  await observe('a');
  await again;
  t.clock.advance(3_000);
  const answer = await held;
  expect(externalIds(answer)).toEqual([]);
  expect(answer.json().pagination.has_more).toBe(false);
  const now = nextOf(await get('/v1/signals?order=stored&platform=elsewhere'));
  expect(nextOf(answer)).toBe(now);
});

test('a waiting request counts once toward its limit, and its wait is not part of its duration', async () => {
  const waits = nextWait();
  const held = get('/v1/signals?order=stored&wait=20');
  await waits;
  t.clock.advance(20_000);
  const { headers } = await held;
  expect(Number(headers['ratelimit-remaining'])).toBe(599);
  const line = JSON.parse(t.logLines.find((each) => each.includes('waited_ms')) ?? '{}');
  expect(line).toMatchObject({ route: '/v1/signals', waited_ms: 20_000 });
});

test('the number of waiting requests per tenant is limited; others are answered immediately', async () => {
  await t.app.close();
  await open({ longPollLimits: { most: 2, ofTenant: 1 } });
  const other = await t.addTenant();
  const third = await t.addTenant();
  const url = '/v1/signals?order=stored&wait=20';
  let waits = nextWait();
  const held = [get(url)];
  await waits;
  const refused = await get(url);
  expect(refused.statusCode).toBe(429);
  expect(refused.headers['retry-after']).toBe('1');
  waits = nextWait();
  held.push(get(url, other.auth));
  await waits;
  expect((await get(url, third.auth)).statusCode).toBe(503);
  expect((await get('/v1/signals?order=stored')).statusCode).toBe(200); // without wait
  t.clock.advance(20_000);
  for (const answer of await Promise.all(held)) expect(answer.statusCode).toBe(200);
  waits = nextWait();
  const again = get(url);
  await waits;
  t.clock.advance(20_000);
  expect((await again).statusCode).toBe(200);
});

test('waiting requests are answered when the server stops', async () => {
  const waits = nextWait();
  const held = get('/v1/signals?order=stored&wait=20');
  await waits;
  await t.app.close();
  expect((await held).statusCode).toBe(200);
});

test('a client that disconnects stops waiting', async () => {
  await t.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = t.app.server.address() as AddressInfo;
  const waits = nextWait();
  const caller = request({ port, path: '/v1/signals?order=stored&wait=20', headers: t.auth });
  caller.on('error', () => undefined);
  caller.end();
  await waits;
  caller.destroy();
  await lastWait; // the clock stands still, so nothing else ends the wait
});

test('HEAD returns the headers of GET without the body', async () => {
  await observe('a');
  const url = '/v1/signals?order=stored';
  const [head, full] = [await t.app.inject({ method: 'HEAD', url, headers: t.auth }), await get(url)];
  expect(head.statusCode).toBe(200);
  expect(head.body).toBe('');
  expect(head.headers['content-length']).toBe(full.headers['content-length']);
});

test('deliveries, those of one endpoint, and dead letters can be followed like signals', async () => {
  const payload = { url: 'https://93.184.216.34/hook', classifications: ['hot', 'warm', 'cold'] };
  const made = await t.app.inject({ method: 'POST', url: '/v1/webhooks', headers: t.auth, payload });
  expect(made.statusCode, made.body).toBe(201);
  const lists = [
    '/v1/deliveries',
    `/v1/webhooks/${made.json().data.id}/deliveries`,
    '/v1/deliveries?status=pending',
  ];
  const readOn = (url: string, cursor: string) =>
    get(`${url}${url.includes('?') ? '&' : '?'}order=stored&cursor=${cursor}`);
  const cursors: string[] = [];
  for (const url of lists) cursors.push(nextOf(await readOn(url, 'now')));
  await observe('1', '2');
  for (const [n, url] of lists.entries()) {
    const page = await readOn(url, cursors[n] ?? '');
    expect(page.json().data).toHaveLength(2);
    expect((await readOn(url, nextOf(page))).json().data).toEqual([]);
  }
  const dead = await get('/v1/dead-letters?order=stored');
  expect(dead.json()).toMatchObject({ data: [], pagination: { has_more: false } });
  expect(nextOf(dead)).not.toBe('');
});
