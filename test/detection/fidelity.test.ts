import { expect, test } from 'vitest';
import { decodeText } from '../../src/detection/documents/decode-text.ts';
import { SourceFault } from '../../src/detection/source-item.ts';
import { feedLinkIn, readFeed, unwrapLink } from '../../src/detection/sources/feeds.ts';
import { createRefusals } from '../../src/detection/web.ts';
import { status } from '../support/receiver.ts';
import { T0 } from '../support/store.ts';
import { createHarness, rss, settings, wanting } from './harness.ts';

const feed = (body: string | Uint8Array, contentType = 'application/rss+xml') =>
  readFeed(
    decodeText(typeof body === 'string' ? Buffer.from(body) : body, contentType),
    'https://blog.example.com/feed',
  );
const channel = (items: string, more = '') =>
  `<rss version="2.0" ${more}><channel><title>t</title>${items}</channel></rss>`;

test('a discussion on another host is the post, but comments on the same host are not', () => {
  const talk = '<comments>https://news.ycombinator.com/item?id=1</comments>';
  const own = '<comments>https://blog.example.com/a#comments</comments>';
  const [hn, blog] = feed(
    channel(
      `<item><title>a</title><link>https://x.example.com/</link>${talk}</item><item><title>b</title><link>https://blog.example.com/a</link>${own}</item>`,
    ),
  );
  expect(hn).toMatchObject({ url: 'https://news.ycombinator.com/item?id=1', platform: 'hackernews' });
  expect(blog).toMatchObject({ url: 'https://blog.example.com/a' });
});

test('media and iTunes fields replace missing fields', () => {
  const media =
    'xmlns:media="http://search.yahoo.com/mrss/" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"';
  const [video, podcast] = feed(
    channel(
      `<item><title>v</title><media:group><media:description>About the video</media:description></media:group></item>
       <item><title>p</title><itunes:summary>About the talk</itunes:summary><itunes:author>Dana</itunes:author></item>`,
      media,
    ),
  );
  expect(video?.body).toBe('About the video');
  expect(podcast).toMatchObject({ body: 'About the talk', author: 'Dana' });
});

test.each([
  ['https://www.google.com/url?rct=j&url=https://a.example.com/x&ct=ga', 'https://a.example.com/x'],
  [
    'https://www.google.com/url?q=https%3A%2F%2Fout.reddit.com%2Ft3_1%3Furl%3Dhttps%253A%252F%252Fa.example.com%252F',
    'https://a.example.com/',
  ],
  [
    'https://www.google.com/url?url=javascript:alert(1)',
    'https://www.google.com/url?url=javascript:alert(1)',
  ],
  [
    'https://a.example.com/url?url=https://b.example.com/',
    'https://a.example.com/url?url=https://b.example.com/',
  ],
])('%s leads to %s', (link, target) => {
  expect(unwrapLink(link)).toBe(target);
});

test('incorrect encoding labels do not garble text', () => {
  const xml = channel('<item><title>Grüße aus Köln</title></item>');
  expect(feed(Buffer.from(xml), 'text/xml; charset=iso-8859-1')[0]?.title).toBe('Grüße aus Köln');
  expect(feed(Buffer.from(xml, 'latin1'), 'text/xml; charset=utf-8')[0]?.title).toBe('Grüße aus Köln');
});

test('text escaped twice is unescaped twice, and text about tags is kept', () => {
  const [twice, about] = feed(
    channel(
      `<item><title>R&amp;amp;D</title><description>&amp;lt;p&amp;gt;One&amp;lt;/p&amp;gt;&amp;lt;p&amp;gt;Two&amp;lt;/p&amp;gt;</description></item>
       <item><title>b</title><description>&lt;p&gt;Use &amp;lt;/p&amp;gt; to end&lt;/p&gt;</description></item>`,
    ),
  );
  expect(twice).toMatchObject({ title: 'R&D', body: 'One\n\nTwo' });
  expect(about?.body).toBe('Use </p> to end');
});

test('finds the feed to which a web page links', () => {
  const page = (link: string) => `<!doctype html><html><head>${link}</head></html>`;
  const find = (link: string) => feedLinkIn(page(link), 'https://a.example.com/blog/');
  expect(find('<link rel="alternate" type="application/atom+xml" href="feed.xml?a=1&amp;b=2">')).toBe(
    'https://a.example.com/blog/feed.xml?a=1&b=2',
  );
  expect(find("<LINK href='/f' TYPE='application/rss+xml' REL='alternate home'/>")).toBe(
    'https://a.example.com/f',
  );
  expect(find('<link rel="alternate" hreflang="de" href="/de">')).toBeNull();
  expect(feedLinkIn('<rss><channel/></rss>', 'https://a.example.com/')).toBeNull();
  const relative = '<link rel="alternate" type="application/rss+xml" href="feed.xml">';
  expect(find(`<base target="_top" href="/news/">${relative}`)).toBe('https://a.example.com/news/feed.xml');
  expect(find(`${relative}<base href='https://b.example.com'>`)).toBe('https://b.example.com/feed.xml');
  expect(find(`<base href="file:///etc/">${relative}`)).toBeNull();
});

test('reads a feed found on a page, remembers it, and requests it with its validators', async () => {
  const h = await createHarness();
  const link = '<link rel="alternate" type="application/rss+xml" href="/real">';
  h.pages['/feed'] = status(200, {}, `<!doctype html><html><head>${link}</head></html>`);
  h.pages['/real'] = status(200, { etag: '"1"' }, rss([['1', wanting('CRM')]]));
  const id = await h.add();
  await h.poller.start();
  await h.ended(1);
  expect(await h.source(id)).toMatchObject({ lastError: null, signalsMade: 1 });
  h.pages['/real'] = status(304, { 'content-encoding': 'gzip' });
  await h.pass(900_000);
  expect(h.asked().map(({ path }) => path)).toEqual(['/feed', '/real', '/real']);
  expect(h.asked()[2]?.headers).toMatchObject({ 'if-none-match': '"1"' });
  expect((await h.source(id)).lastError).toBeNull();
});

test('reads more than a thousand results of Hacker News in windows', async () => {
  const h = await createHarness();
  const hits = (from: number, count: number) =>
    Array.from({ length: count }, (_, n) => ({
      objectID: String(from - n),
      created_at: new Date(T0 - 1_000 * (20_000 - (from - n))).toISOString(),
      title: 'Cats',
    }));
  h.pages['/api/v1/search_by_date'] = (response, request) => {
    const asked = new URLSearchParams(request.path.split('?')[1]);
    const before = /created_at_i<=(\d+)/.exec(asked.get('numericFilters') ?? '')?.[1];
    const top = before === undefined ? 20_000 : Number(before) - T0 / 1_000 + 20_000;
    const page = Number(asked.get('page'));
    const total = Math.min(1_000, top - 18_500); // 1,500 in total
    const left = Math.max(0, Math.min(100, total - page * 100));
    response.end(JSON.stringify({ nbPages: Math.ceil(total / 100), hits: hits(top - page * 100, left) }));
  };
  const id = await h.add({ kind: 'hackernews', settings: settings({ query: 'cats' }) });
  await h.poller.start();
  await h.ended(1);
  expect(await h.source(id)).toMatchObject({ lastError: null, itemsSeen: 1_500 });
});

test('rejects a URL disallowed by robots.txt with an alternative, unless the rules are unknown', async () => {
  const h = await createHarness();
  const answer = (fault: SourceFault | null) =>
    createRefusals(h.clock, { demand: async () => { if (fault !== null) throw fault; } }); // biome-ignore format: one line
  const forbidden = new SourceFault('robots_disallowed', 'It says no.');
  expect(await answer(forbidden)('ten_a', 'https://www.reddit.com/r/x/.rss')).toBe(
    'It says no. Create a source of kind "reddit" with your own app.',
  );
  expect(await answer(forbidden)('ten_a', 'https://x.example.com/')).toMatch(/POST \/v1\/signals/);
  expect(await answer(new SourceFault('timeout', 'x'))('ten_a', 'https://x.example.com/')).toBeNull();
  expect(await answer(null)('ten_a', 'https://x.example.com/')).toBeNull();
});

test('checks four robots.txt files of a tenant at a time; further URLs are checked by the first run', async () => {
  const h = await createHarness();
  let asked = 0;
  const refusalOf = createRefusals(h.clock, {
    demand: (_, { signal }) => {
      asked++;
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  const checks = Array.from({ length: 10 }, () => refusalOf('ten_a', 'https://x.example.com/'));
  const other = refusalOf('ten_b', 'https://x.example.com/');
  expect(asked).toBe(5);
  h.clock.advance(5_000);
  expect(new Set(await Promise.all([...checks, other]))).toEqual(new Set([null]));
});
