import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createRobots } from '../../src/detection/robots.ts';
import { SourceFault } from '../../src/detection/source-item.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { type Answer, close, hang, raw, status } from '../support/receiver.ts';
import { T0 } from '../support/store.ts';
import { createHarness, type Harness, rss, settings, wanting } from './harness.ts';

const FEED = rss([['1', wanting('CRM')]]);

/** Reads a source at `url`, or at `/feed`, and returns its state. */
async function readOnce(h: Harness, url = `${h.origin}/feed`) {
  const id = await h.add({ settings: settings({ url }) });
  await h.poller.start();
  await h.ended(1);
  return h.source(id);
}

test('the User-Agent contains our name and a contact', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(200, {}, FEED);
  await readOnce(h);
  for (const { headers } of h.site.requests) {
    expect(headers['user-agent']).toBe('Signalpost/1.0 (+https://signals.example.com)');
  }
});

test('requests robots.txt first, obeys it, and caches it for a day', async () => {
  const h = await createHarness();
  h.pages['/robots.txt'] = status(200, {}, 'User-agent: Signalpost\nDisallow: /private\n');
  h.pages['/private'] = status(200, {}, FEED);
  h.pages['/feed'] = status(200, {}, FEED);
  await h.add({ id: 'src_2', settings: settings({ url: `${h.origin}/feed` }), nextPollAt: T0 + 1_000 });
  const forbidden = await readOnce(h, `${h.origin}/private`);
  expect(forbidden.lastError).toMatchObject({ code: 'robots_disallowed' });
  expect(h.asked()).toEqual([]);
  await h.pass(1_000);
  expect((await h.source('src_2')).lastError).toBeNull();
  expect(h.site.requests.map(({ path }) => path)).toEqual(['/robots.txt', '/feed']);
});

test('a robots.txt that returns an error disallows everything for now', async () => {
  const h = await createHarness();
  h.pages['/robots.txt'] = status(500);
  h.pages['/feed'] = status(200, {}, FEED);
  expect((await readOnce(h)).lastError).toMatchObject({ code: 'robots_unreachable' });
  expect(h.asked()).toEqual([]);
});

test('a robots.txt that redirects in a loop or endlessly counts as missing (RFC 9309, 2.3.1.2)', async () => {
  const h = await createHarness();
  h.pages['/robots.txt'] = status(301, { location: '/robots2.txt' });
  h.pages['/robots2.txt'] = status(301, { location: '/robots.txt' });
  h.pages['/feed'] = status(200, {}, FEED);
  expect(await readOnce(h)).toMatchObject({ lastError: null, signalsMade: 1 });
});

test('while robots.txt cannot be refreshed, its previous rules apply (RFC 9309, 2.4)', async () => {
  const h = await createHarness();
  h.pages['/robots.txt'] = status(200, {}, 'User-agent: *\nDisallow: /private\n');
  h.pages['/feed'] = status(200, {}, FEED);
  const id = (await readOnce(h)).id;
  h.pages['/robots.txt'] = status(500);
  await h.add({
    id: 'src_2',
    settings: settings({ url: `${h.origin}/private` }),
    nextPollAt: T0 + 86_400_001,
  });
  await h.pass(86_400_001, 2);
  expect((await h.source(id)).lastError).toBeNull();
  expect((await h.source('src_2')).lastError).toMatchObject({ code: 'robots_disallowed' });
});

test('reads only the first 512,000 bytes of robots.txt', async () => {
  const h = await createHarness();
  const long = `User-agent: *\nDisallow: /private\n${'# nothing\n'.repeat(600_000)}`;
  h.pages['/robots.txt'] = status(200, {}, long);
  h.pages['/feed'] = status(200, {}, FEED);
  expect((await readOnce(h)).lastError).toBeNull();
  await h.add({ id: 'src_2', settings: settings({ url: `${h.origin}/private` }), nextPollAt: T0 + 1 });
  await h.pass(1);
  expect((await h.source('src_2')).lastError).toMatchObject({ code: 'robots_disallowed' });
});

test('honours the crawl delay of a site without delaying other sites', async () => {
  const h = await createHarness();
  h.pages['/robots.txt'] = status(200, {}, 'User-agent: *\nCrawl-delay: 30\n');
  h.pages['/feed'] = status(200, {}, FEED);
  const id = await h.add();
  await h.poller.start();
  await h.site.received(1);
  await expect.poll(async () => (await h.source(id)).nextPollAt).toBe(T0 + 30_000);
  expect(await h.source(id)).toMatchObject({ lastRunAt: null, lastError: null });
  expect(h.asked()).toEqual([]);
  await h.pass(30_000);
  expect(await h.source(id)).toMatchObject({ lastError: null, signalsMade: 1 });
});

test('rejects a redirect to an extremely long URL', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(301, { location: `/${'a'.repeat(3_000)}` });
  expect((await readOnce(h)).lastError).toMatchObject({ code: 'blocked_target' });
});

test.each<[string, Answer, number]>([
  ['429 with seconds', status(429, { 'retry-after': '7200' }), 7_200_000],
  ['503 with a date', status(503, { 'retry-after': new Date(T0 + 3_600_000).toUTCString() }), 3_600_000],
])('%s: no source reads the host during the pause', async (_, answer, pause) => {
  const h = await createHarness();
  h.pages['/feed'] = answer;
  const held = await readOnce(h);
  expect(held).toMatchObject({ lastError: { code: 'rate_limited' }, nextPollAt: T0 + pause });
  await h.store.runSource('ten_a', held.id, T0 + 1);
  expect((await h.source(held.id)).nextPollAt).toBe(T0 + pause);
  await h.add({ id: 'src_2', settings: settings({ url: `${h.origin}/other` }) });
  await h.pass(0);
  expect(await h.source('src_2')).toMatchObject({
    lastError: { code: 'rate_limited' },
    nextPollAt: T0 + pause,
  });
  expect(h.asked()).toHaveLength(1);
  h.pages['/feed'] = status(200, {}, FEED);
  h.pages['/other'] = status(200, {}, FEED);
  await h.pass(pause, 2);
  expect(await h.source(held.id)).toMatchObject({ lastError: null, failures: 0 });
});

test('a host gets one request at a time, regardless of how many of its sources are due', async () => {
  const h = await createHarness();
  for (let n = 1; n <= 5; n++) {
    h.pages[`/feed${n}`] = status(200, {}, FEED);
    await h.add({ id: `src_${n}`, settings: settings({ url: `${h.origin}/feed${n}` }) });
  }
  await h.poller.start();
  await h.ended(5);
  expect([h.asked().length, h.site.mostAtOnce]).toEqual([5, 1]);
});

test('follows at most five redirects, and checks each of them', async () => {
  const h = await createHarness();
  for (let n = 0; n < 6; n++) h.pages[`/hop${n}`] = status(302, { location: `hop${n + 1}` });
  h.pages['/hop6'] = status(200, {}, FEED);
  const five = await h.add({ id: 'src_5', settings: settings({ url: `${h.origin}/hop1` }) });
  const six = await h.add({ id: 'src_6', settings: settings({ url: `${h.origin}/hop0` }) });
  h.pages['/inside'] = status(301, { location: 'http://10.0.0.1/feed' });
  const inside = await h.add({ id: 'src_in', settings: settings({ url: `${h.origin}/inside` }) });
  h.pages['/file'] = status(301, { location: 'file:///etc/passwd' });
  const file = await h.add({ id: 'src_file', settings: settings({ url: `${h.origin}/file` }) });
  await h.poller.start();
  await h.ended(4);
  expect((await h.source(five)).lastError).toBeNull();
  expect((await h.source(six)).lastError).toMatchObject({ code: 'too_many_redirects' });
  expect((await h.source(inside)).lastError).toMatchObject({ code: 'blocked_target' });
  expect((await h.source(file)).lastError).toMatchObject({ code: 'blocked_target' });
});

test('does not contact a name that resolves to our own network', async () => {
  const h = await createHarness({ allow: false, lookup: async () => ['127.0.0.1'] });
  const source = await readOnce(h, 'http://feeds.example.com/feed');
  expect(source.lastError).toMatchObject({ code: 'blocked_target' });
  expect(h.site.connections).toBe(0);
});

test.each<[string, Answer, string]>([
  ['an answer that is too large', status(200, {}, 'x'.repeat(5 * 1024 * 1024 + 1)), 'too_large'],
  [
    'one that is too large unpacked',
    (response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(6 * 1024 * 1024)));
    },
    'too_large',
  ],
  ['broken packing', status(200, { 'content-encoding': 'gzip' }, 'no gzip'), 'invalid_response'],
  ['a web page', status(200, {}, '<!doctype html><title>Hi</title>'), 'invalid_feed'],
  ['nothing there', status(404), 'http_status'],
  ['a closed connection', close, 'connection_reset'],
  ['no HTTP', raw('SSH-2.0-OpenSSH\r\n\r\n', true), 'invalid_response'],
])('%s has its own error code', async (_, answer, code) => {
  const h = await createHarness();
  h.pages['/feed'] = answer;
  expect((await readOnce(h)).lastError).toMatchObject({ code });
});

test('cancels a response that is incomplete after 30 seconds', async () => {
  const h = await createHarness();
  h.pages['/feed'] = hang;
  const id = await h.add();
  await h.poller.start();
  await h.site.received(2);
  h.clock.advance(30_000);
  await h.ended(1);
  expect((await h.source(id)).lastError).toMatchObject({ code: 'timeout' });
});

test('does not ask for deflate, which some servers send in another form', async () => {
  const h = await createHarness();
  h.pages['/feed'] = status(200, {}, FEED);
  await readOnce(h);
  expect(h.asked()[0]?.headers['accept-encoding']).toBe('gzip, br');
});

test('reads compressed responses', async () => {
  const h = await createHarness();
  h.pages['/feed'] = (response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(FEED));
  };
  expect(await readOnce(h)).toMatchObject({ lastError: null, signalsMade: 1 });
});

test('a robots.txt is read and parsed for the tenant that needs it first, so that tenants take turns', async () => {
  const readers: string[] = [];
  const owners: string[] = [];
  const robots = createRobots({
    clock: createManualClock(T0),
    get: async (_url, owner) => {
      readers.push(owner);
      return { status: 200, headers: {}, body: Buffer.from('User-agent: *') };
    },
    pace: () => {},
    documents: {
      parse(_parser, _document, _args, owner) {
        owners.push(owner);
        return Promise.reject(new SourceFault('document_too_costly', 'It takes too long.'));
      },
      close: async () => {},
    },
  });
  await expect(robots.demand(new URL('https://a.example.com/'), 'ten_a', null)).rejects.toThrow('too long');
  await expect(robots.demand(new URL('https://b.example.com/'), 'ten_b', null)).rejects.toThrow('too long');
  expect(readers).toEqual(['ten_a', 'ten_b']);
  expect(owners).toEqual(['ten_a', 'ten_b']);
});

test('of those who waited for the rules of a site, few look up their address in the same turn', async () => {
  const turns: number[] = [];
  /** An address whose look-up takes longer than a turn. */
  const costlyUrl = () =>
    Object.defineProperty(new URL('https://a.example.com/feed'), 'pathname', {
      get() {
        const until = performance.now() + 6;
        while (performance.now() < until);
        turns.push(performance.nodeTiming.uvMetricsInfo.loopCount);
        return '/feed';
      },
    });
  const read = Promise.withResolvers<void>();
  const robots = createRobots({
    clock: createManualClock(T0),
    get: async () => {
      await read.promise;
      return { status: 404, headers: {}, body: Buffer.of() };
    },
    pace: () => {},
    documents: { parse: () => Promise.reject(new Error('not read')), close: async () => {} },
  });
  const asked = Array.from({ length: 8 }, (_, i) => robots.demand(costlyUrl(), `ten_${i}`, null));
  read.resolve();
  await Promise.all(asked);
  expect(turns).toHaveLength(8);
  expect(new Set(turns).size).toBe(8);
});

test('reading a robots.txt ends when nobody waits for it any more, and says nothing about the site', async () => {
  const signals: AbortSignal[] = [];
  const robots = createRobots({
    clock: createManualClock(T0),
    get: (_url, _owner, signal) => {
      signals.push(signal);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    pace: () => {},
    documents: { parse: () => Promise.reject(new Error('not read')), close: async () => {} },
  });
  const url = new URL('https://a.example.com/');
  const ends = [new AbortController(), new AbortController()];
  const waits = ends.map((end) => robots.demand(url, 'ten_a', end.signal));
  const [first, second] = waits.map((wait) => wait.catch((error: unknown) => error));
  ends[0]?.abort(new SourceFault('timeout', 'first'));
  expect(await first).toMatchObject({ message: 'first' });
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  ends[1]?.abort(new SourceFault('timeout', 'second'));
  expect(await second).toMatchObject({ message: 'second' });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  const again = new AbortController();
  const third = robots.demand(url, 'ten_a', again.signal).catch(() => {});
  expect(signals).toHaveLength(2);
  again.abort(new SourceFault('timeout', 'third'));
  await third;
});
