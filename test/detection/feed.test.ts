import { expect, test } from 'vitest';
import { decodeText } from '../../src/detection/documents/decode-text.ts';
import { SourceFault, toPost } from '../../src/detection/source-item.ts';
import { feedLinkIn, readFeed } from '../../src/detection/sources/feeds.ts';

const URL = 'https://blog.example.com/feeds/all.xml';

function read(body: string | Uint8Array, contentType = '') {
  return readFeed(decodeText(typeof body === 'string' ? Buffer.from(body) : body, contentType), URL);
}

function faultOf(body: string): SourceFault {
  try {
    read(body);
  } catch (error) {
    if (error instanceof SourceFault) return error;
  }
  throw new Error('no fault');
}

const RSS = `
<?xml version="1.0"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>HVAC</title>
<item><guid isPermaLink="false">g-1</guid><link>/posts/1?a=1&amp;b=2</link><title>A &amp;amp; B</title>
<description>&lt;p&gt;Which &lt;b&gt;CRM&lt;/b&gt;?&lt;/p&gt;&lt;script&gt;x()&lt;/script&gt;</description>
<dc:creator>Dana</dc:creator><pubDate>Wed, 31 Dec 2025 21:40:00 GMT</pubDate></item></channel></rss>`;

test.each<[string, string, object]>([
  [
    'RSS 2.0',
    RSS.trim(),
    {
      id: 'g-1',
      url: 'https://blog.example.com/posts/1?a=1&b=2',
      title: 'A & B',
      body: 'Which CRM?',
      author: 'Dana',
      postedAt: Date.UTC(2025, 11, 31, 21, 40),
      platform: 'blog.example.com',
    },
  ],
  ['RSS behind a blank line', RSS, { id: 'g-1' }],
  [
    'Atom of Reddit',
    `<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><entry><id>t3_1</id><title>New CRM?</title>
     <author><name>/u/dana</name></author><published>2025-12-31T21:40:00+00:00</published>
     <link href="https://www.reddit.com/r/HVAC/comments/1/"/>
     <content type="html">&lt;!-- SC_OFF --&gt;&lt;div class="md"&gt;&lt;p&gt;It&amp;#39;s time&lt;/p&gt;&lt;/div&gt;</content></entry></feed>`,
    {
      id: 't3_1',
      platform: 'reddit',
      author: 'dana',
      title: 'New CRM?',
      body: "It's time",
      postedAt: Date.UTC(2025, 11, 31, 21, 40),
    },
  ],
  [
    'Atom with XHTML and links of its own base',
    `<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://other.example.com/x/"><title>t</title><entry>
     <id>tag:1</id><title>One</title><link rel="alternate" href="one"/><updated>2026-01-01T00:00:00Z</updated>
     <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>First</p><p>Second</p></div></content></entry></feed>`,
    { url: 'https://other.example.com/x/one', body: 'First\n\nSecond', platform: 'other.example.com' },
  ],
  [
    'RSS 1.0',
    `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
     xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="x"><title>t</title></channel>
     <item rdf:about="https://a.example.com/1"><title>One</title><link>https://a.example.com/1</link>
     <dc:date>2026-01-01T00:00:00Z</dc:date></item></rdf:RDF>`,
    { id: 'https://a.example.com/1', title: 'One', postedAt: Date.UTC(2026, 0, 1) },
  ],
  [
    'RSS 0.91, without ids and dates',
    '<rss version="0.91"><channel><title>t</title><item><title>One</title><link>https://a.example.com/1</link></item></channel></rss>',
    { id: 'https://a.example.com/1', postedAt: null },
  ],
  [
    'JSON Feed',
    JSON.stringify({
      version: 'https://jsonfeed.org/version/1.1',
      title: 't',
      items: [{ id: '1', url: 'https://github.com/a/b/discussions/1', content_html: '<p>Hi</p>' }],
    }),
    { id: '1', platform: 'github', title: '', body: 'Hi' },
  ],
  ['a feed inside a web page', `<html><body>${RSS.replace(/.*\?>/, '')}</body></html>`, { id: 'g-1' }],
])('%s is parsed', (_, text, item) => {
  expect(read(text)).toEqual([expect.objectContaining(item)]);
});

test.each([
  '"constructor":"Acme"',
  '"constructor":null',
  '"c\\u006fnstructor":{}',
  '"__proto__":{"constructor":1}',
])('reads items of a JSON feed with a member %s', (member) => {
  const items = [`{"id":"1",${member},"content_text":"one"}`, '{"id":"2","content_text":"two"}'];
  const version = '"version":"https://jsonfeed.org/version/1.1","title":"t"';
  expect(read(`{${version},"items":[${items}]}`).map(({ body }) => body)).toEqual(['one', 'two']);
  expect(read(`{${version},${member},"items":[${items}]}`).map(({ body }) => body)).toEqual(['one', 'two']);
});

test('skips an item without title and text', () => {
  expect(
    read('<rss version="2.0"><channel><title>t</title><item><guid>1</guid></item></channel></rss>'),
  ).toEqual([]);
});

test('omits a link that is not a web address', () => {
  const item = '<item><title>x</title><link>javascript:alert(1)</link></item>';
  expect(read(`<rss version="2.0"><channel><title>t</title>${item}</channel></rss>`)).toMatchObject([
    { url: '' },
  ]);
});

const inEncoding = (declared: string, bytes: number[]) =>
  Buffer.concat([
    Buffer.from(`<?xml version="1.0"${declared}?><rss version="2.0"><channel><title>t</title><item><title>`),
    Buffer.from(bytes),
    Buffer.from('</title></item></channel></rss>'),
  ]);

test.each<[string, Uint8Array, string, string]>([
  ['KOI8-R', inEncoding(' encoding="KOI8-R"', [0xeb, 0xc1, 0xcb]), '', 'Как'],
  ['windows-1255', inEncoding(" encoding='windows-1255'", [0xf9, 0xec, 0xe5, 0xed]), '', 'שלום'],
  ['Shift_JIS', inEncoding(' encoding="Shift_JIS"', [0x83, 0x65, 0x83, 0x58]), '', 'テス'],
  ['Shift_JIS without a word of it', inEncoding('', [0x83, 0x65, 0x83, 0x58]), '', 'テス'],
  ['ISO-8859-1', inEncoding(' encoding="ISO-8859-1"', [0xe9]), '', 'é'],
  ['Latin letters without a word of it', inEncoding('', [0xe9]), '', 'é'],
  ['what Content-Type says', inEncoding('', [0xc1]), 'application/xml; charset=koi8-r', 'а'],
  ['an encoding that nobody knows', inEncoding(' encoding="x-none"', [0xc3, 0xa9]), '', 'é'],
  ['UTF-8 labelled as UTF-16', inEncoding(' encoding="utf-16"', [0xc3, 0xa9]), '', 'é'],
  [
    'UTF-8 sent as UTF-16',
    inEncoding(' encoding="utf-8"', [0xc3, 0xa9]),
    'application/xml; charset=UTF-16LE',
    'é',
  ],
  [
    'big-endian UTF-16 without its mark',
    Buffer.from(
      inEncoding(' encoding="utf-16"', []).toString().replace('<title></title>', '<title>é</title>'),
      'utf16le',
    ).swap16(),
    'text/xml; charset=utf-16',
    'é',
  ],
  [
    'UTF-16 with its mark',
    Buffer.from(
      `\ufeff${inEncoding(' encoding="utf-16"', []).toString().replace('<title></title>', '<title>é</title>')}`,
      'utf16le',
    ),
    '',
    'é',
  ],
])('%s is decoded', (_, bytes, contentType, title) => {
  expect(read(bytes, contentType).map((item) => item.title)).toEqual([title]);
});

test('neither expands nor fetches entities of a DOCTYPE', () => {
  const item = '<item><title>a &b; c</title></item>';
  const bomb = `<!DOCTYPE rss [<!ENTITY a "boom"><!ENTITY b "&a;&a;">]>`;
  const body = `<rss version="2.0"><channel><title>t</title>${item}</channel></rss>`;
  expect(read(`<?xml version="1.0"?>${bomb}${body}`)[0]?.title).not.toContain('boom');
  const outside = '<!DOCTYPE rss [<!ENTITY b SYSTEM "file:///etc/passwd">]>';
  expect(read(`${outside}${body}`)[0]?.title).toBe('a &b; c');
});

test.each<[string, string, string]>([
  ['nothing', ' \n', 'empty'],
  ['a web page', '<!DOCTYPE html><html><title>x</title></html>', 'web page'],
  ['a truncated feed', RSS.trim().slice(0, -60), 'truncated'],
  ['an unclosed CDATA section', '<rss version="2.0"><channel><item><title><![CDATA[x', 'truncated'],
  ['another kind of JSON', '{"jobs": []}', 'not RSS'],
  ['an XML declaration alone', '<?xml version="1.0"?>', 'not RSS'],
])('%s is explained in the error', (_, text, words) => {
  const fault = faultOf(text);
  expect([fault.code, fault.message]).toEqual(['invalid_feed', expect.stringContaining(words)]);
});

test.each([
  ['g-1', 'feeds.example.com/a?x=1'],
  ['https://a.example.com/?p=1', undefined],
  ['tag:a.example.com,2026:1', undefined],
  ['t3_1', undefined],
])('the ID %s is unique in %s', (id, scope) => {
  const body = RSS.trim().replace('g-1', id);
  const url = 'https://feeds.example.com/a?x=1';
  const [item] = readFeed(body, url);
  expect([item?.id, item?.idScope]).toEqual([id, scope]);
});

test('limits a post to its schema: shortens long texts and IDs, and omits invalid URLs', () => {
  const item = {
    id: `urn:${'x'.repeat(400)}`,
    platform: 'reddit',
    url: `https://example.com/${'x'.repeat(3_000)}`,
    postedAt: null,
    title: 'T',
    body: '🙂'.repeat(30_000),
    author: '',
  };
  const post = toPost(item);
  expect(Array.from(post?.text ?? '')).toHaveLength(20_000);
  expect(post?.external_id).toHaveLength(16);
  expect(post?.platform).toEqual({ name: 'reddit' });
  expect(toPost({ ...item, title: '', body: '' })).toBeNull();
});

test('truncates a very long author name, and reads the rest of the feed as usual', () => {
  const item = (author: string) => `<item><title>t</title><author>${author}</author></item>`;
  const feed = [
    item('dana@a.example.com (Dana Doe)'),
    item('('.repeat(1_000_000)),
    item(`<![CDATA[${'<('.repeat(500_000)}]]>`),
    item(`${'x'.repeat(297)}&amp;${'y'.repeat(100)}`),
    '<item><title>t</title><author/></item>',
    item('Kim'),
  ].join('');
  const startedAt = performance.now();
  const authors = read(`<rss version="2.0"><channel><title>c</title>${feed}</channel></rss>`).map(
    ({ author }) => author,
  );
  expect(authors).toMatchObject(['Dana Doe', expect.any(String), '', 'x'.repeat(297), '', 'Kim']);
  expect(authors[1]?.length).toBeLessThanOrEqual(300);
  // In quadratic time, a million brackets would take an hour.
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

test('finds the feed link in a page in linear time', () => {
  const startedAt = performance.now();
  const links = '<link '.repeat(30_000);
  expect(feedLinkIn(`<!doctype html><head>${links}`, URL)).toBeNull();
  const named = '<link rel="alternate" type="application/rss+xml" href="/feed">';
  expect(feedLinkIn(`<!doctype html><head><link ${named}`, URL)).toBe('https://blog.example.com/feed');
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});
