import { expect, test } from 'vitest';
import { status } from '../support/receiver.ts';
import { createHarness, type Harness, rss, settings, wanting } from './harness.ts';

const page = (feed: string | null) =>
  status(
    200,
    { 'content-type': 'text/html' },
    `<!doctype html><head>${feed === null ? '' : `<link rel="alternate" type="application/rss+xml" href="${feed}">`}</head>`,
  );
const feed = (text: string) => status(200, { etag: '"v1"' }, rss([[text, wanting(text)]]));

/** A source whose URL is a page that links to a feed, read once. */
async function discovered(): Promise<{ h: Harness; id: string }> {
  const h = await createHarness();
  h.pages['/'] = page('/old.xml');
  h.pages['/old.xml'] = feed('CRM');
  const id = await h.add({ settings: settings({ url: `${h.origin}/` }) });
  await h.poller.start();
  await h.ended(1);
  expect(await h.source(id)).toMatchObject({ signalsMade: 1, lastError: null });
  return { h, id };
}

const GONE = {
  'a page': page(null),
  'a page that links to itself': page('/old.xml'),
  'a page that links to another': page('/trap.xml'),
  'no feed': status(200, {}, '<rss'),
  nothing: status(404),
};

test.each(Object.entries(GONE))('a feed that became %s is looked for again', async (_, gone) => {
  const { h, id } = await discovered();
  h.pages['/old.xml'] = gone;
  h.pages['/'] = page('/new.xml');
  h.pages['/new.xml'] = feed('van');
  h.pages['/trap.xml'] = feed('trap');
  await h.pass(900_000);
  expect(await h.source(id)).toMatchObject({ signalsMade: 2, lastError: null });
  expect(h.asked().map(({ path }) => path)).toEqual(['/', '/old.xml', '/old.xml', '/', '/new.xml']);
  await h.pass(900_000);
  expect(h.asked().slice(5)).toMatchObject([{ path: '/new.xml', headers: { 'if-none-match': '"v1"' } }]);
});

test('a page whose feed is gone says so, and is checked less often until it links to one again', async () => {
  const { h, id } = await discovered();
  h.pages['/old.xml'] = page('/old.xml');
  const waits = [];
  for (let wait = 900_000; waits.length < 3; ) {
    await h.pass(wait);
    wait = (await h.source(id)).nextPollAt - h.clock.now();
    waits.push(wait);
  }
  expect(waits).toEqual([900_000, 1_800_000, 3_600_000]);
  expect((await h.source(id)).lastError).toMatchObject({
    code: 'invalid_feed',
    message: expect.stringContaining('no longer a feed'),
  });
  h.pages['/'] = page(null);
  await h.pass(3_600_000);
  expect((await h.source(id)).lastError?.message).toMatch(/links to no other/);
  h.pages['/'] = feed('van');
  await h.pass(7_200_000);
  expect(await h.source(id)).toMatchObject({ signalsMade: 2, lastError: null });
});

test('a page whose first link leads to a page says so', async () => {
  const h = await createHarness();
  h.pages['*'] = page('/other');
  const id = await h.add({ settings: settings({ url: `${h.origin}/` }) });
  await h.poller.start();
  await h.ended(1);
  expect((await h.source(id)).lastError).toMatchObject({
    code: 'invalid_feed',
    message: expect.stringContaining('the response there is not a feed'),
  });
  expect(h.asked().map(({ path }) => path)).toEqual(['/', '/other']);
});
