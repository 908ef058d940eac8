import { setTimeout as pause } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { HostileCase } from './case.ts';
import type { HostAnswer } from './host.ts';
import { SHAPES } from './texts.ts';
import type { World } from './world.ts';

/** The maximum size of a source's response, minus its frame. */
const ANSWER_BYTES = 4_900_000;

const FLAVOURS: Record<string, { fields: readonly string[]; of(item: string): string }> = {
  rss: {
    fields: [
      ...[
        'title',
        'description',
        'content:encoded',
        'author',
        'dc:creator',
        'link',
        'guid',
        'pubDate',
        'category',
      ],
      ...[
        'comments',
        'itunes:author',
        'media:description',
        'source',
        'managingEditor',
        'webMaster',
        'skipDays',
      ],
    ],
    of: (item) =>
      `<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>x</title>${channelPart(item)}<item><title>t</title><guid>1</guid>${item}</item></channel></rss>`,
  },
  atom: {
    fields: ['title', 'summary', 'content', 'id', 'updated', 'author', 'category'],
    of: (item) =>
      `<feed xmlns="http://www.w3.org/2005/Atom"><title>x</title><id>x</id><entry><title>t</title><id>1</id>${item}</entry></feed>`,
  },
  rdf: {
    fields: ['title', 'description', 'dc:creator', 'dc:date', 'link'],
    of: (item) =>
      `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>x</title></channel><item rdf:about="1"><title>t</title>${item}</item></rdf:RDF>`,
  },
};

/** Elements that also occur in the channel, where parsers read them with other code. */
function channelPart(item: string): string {
  return /^<(managingEditor|webMaster|skipDays)>/.test(item) ? item : '';
}

/** Feeds of every format with hostile text, framing, encoding or positions. */
export function feedCases(): HostileCase[] {
  const texts = Object.entries(FLAVOURS).flatMap(([flavour, { fields, of }]) =>
    fields.flatMap((field) =>
      SHAPES.map((shape) => {
        // The author is short in real feeds; a parser that compares its brackets gets slow early.
        const text = () => shape.of(field === 'author' ? 400_000 : 1_500_000);
        const inner = flavour === 'atom' && field === 'author' ? 'name' : null;
        const whole = () => (inner === null ? text() : `<${inner}>${text()}</${inner}>`);
        return feedCase(`feed of ${flavour}, ${field} of ${shape.name}`, () =>
          of(`<${field}>${whole()}</${field}>`),
        );
      }),
    ),
  );
  const json = SHAPES.map((shape) =>
    feedCase(`feed of JSON, all of ${shape.name}`, () =>
      JSON.stringify({
        version: 'https://jsonfeed.org/version/1.1',
        title: 'x',
        items: [
          {
            ...{ id: shape.of(100_000), title: shape.of(500_000), content_html: shape.of(500_000) },
            ...{ url: shape.of(100_000), authors: [{ name: shape.of(100_000) }] },
          },
        ],
      }).slice(0, ANSWER_BYTES),
    ),
  );
  return [...texts, ...json, ...frameCases(), ...pageCases(), ...editedCases()];
}

function frameCases(): HostileCase[] {
  const rss = (items: string) => FLAVOURS.rss?.of(items) ?? '';
  const many = (piece: (n: number) => string, bytes = ANSWER_BYTES) => {
    const pieces: string[] = [];
    for (let n = 0, length = 0; length < bytes; n++) {
      const one = piece(n);
      pieces.push(one);
      length += one.length;
    }
    return pieces.join('');
  };
  const frames: Record<string, () => HostAnswer> = {
    'very many items': () => rss(many((n) => `</item><item><guid>${n}</guid><title>a${n}</title>`)),
    'very many items of nothing': () => rss(many(() => '</item><item>')),
    'very many authors of an item': () => rss(many(() => '<author>a (b)</author>')),
    'very many links of an item': () => rss(many((n) => `<link>http://a/${n}</link>`)),
    'very many entities': () => rss(`<title>${many(() => '&lt;')}</title>`),
    'very many unknown elements': () => rss(many((n) => `<x${n}/>`)),
    'very many attributes': () => rss(`<title ${many((n) => `a${n}="" `)}>a</title>`),
    'very many namespaces': () => rss(`<title ${many((n) => `xmlns:a${n}="b${n}" `)}>a</title>`),
    'a very long attribute': () => rss(`<title a="${'<'.repeat(ANSWER_BYTES - 1_000)}">a</title>`),
    'a very deep tree': () => rss('<a>'.repeat(ANSWER_BYTES / 8) + '</a>'.repeat(ANSWER_BYTES / 8)),
    'a very deep tree that never closes': () => rss('<a>'.repeat(ANSWER_BYTES / 3)),
    'very many comments': () => rss(many(() => '<!-- -->')),
    'very many processing instructions': () => rss(many(() => '<?a b?>')),
    'a document type of entities': () =>
      `<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "${'b'.repeat(100_000)}">]>${rss(`<title>${'&a;'.repeat(100_000)}</title>`)}`,
    'a document type that never ends': () => `<!DOCTYPE r ${'['.repeat(ANSWER_BYTES)}`,
    'a base that is very long, and many links': () =>
      `<rss version="2.0"><channel><link>http://a.example/${'a'.repeat(2_000_000)}</link>${many((n) => `<item><title>${n}</title><link>b${n}</link></item>`, 2_500_000)}</channel></rss>`,
    'a base of many parts, and many links': () =>
      `<rss version="2.0"><channel><link>http://a.example/${'a/'.repeat(1_000_000)}</link>${many((n) => `<item><title>${n}</title><link>b${n}</link></item>`, 2_500_000)}</channel></rss>`,
    'links that climb': () => rss(`<link>${'../'.repeat(1_600_000)}</link>`),
    'wrapped links': () =>
      rss(
        many(
          (n) =>
            `</item><item><title>${n}</title><link>https://www.google.com/url?${'a=b&amp;'.repeat(100)}url=http://a</link>`,
        ),
      ),
    'a tail of spaces': () => `${rss('')}${' '.repeat(ANSWER_BYTES - 1_000)}`,
    'a head of spaces': () => ' '.repeat(ANSWER_BYTES - 1_000) + rss(''),
    'the same inside a page, never closed': () => `<html>${'<feed '.repeat(ANSWER_BYTES / 6)}`,
    'bytes that are no UTF-8': () => ({
      headers: { 'content-type': 'application/xml; charset=utf-8' },
      body: Buffer.alloc(ANSWER_BYTES, 0xff),
    }),
    'bytes half of which are no UTF-8': () => ({
      headers: { 'content-type': 'application/xml; charset=utf-8' },
      body: Buffer.from('ä\xff'.repeat(ANSWER_BYTES / 3), 'latin1'),
    }),
    'an encoding of two bytes': () => ({
      headers: { 'content-type': 'application/xml; charset=utf-16' },
      body: Buffer.from(rss('<title>a</title>'), 'utf16le'),
    }),
    'an encoding of states': () => ({
      headers: { 'content-type': 'application/xml; charset=iso-2022-jp' },
      body: Buffer.from('\x1b$B\x1b(B'.repeat(ANSWER_BYTES / 7)),
    }),
    'a body in chunks of a byte': () => ({ raw: inChunks('1\r\na\r\n', 5_000_000) }),
    'a body in chunks with long extensions': () => ({
      raw: inChunks(`1;${'a'.repeat(5_000)}\r\na\r\n`, 6_000),
    }),
    'zeros after the end of Brotli data': () => inCoding('br', brotliCompressSync(rss('')), Buffer.alloc(1)),
    'zeros after the end of gzip data': () => inCoding('gzip', gzipSync(rss('')), Buffer.alloc(1)),
    'zeros after the end of deflate data': () => inCoding('deflate', deflateSync(rss('')), Buffer.alloc(1)),
    'compressed data of nothing': () =>
      inCoding('deflate', Buffer.from([0x78, 0x9c]), Buffer.from([0, 0, 0, 0xff, 0xff])),
    'trailers without an end': () => ({
      raw: inChunks(`0\r\n${'a: b\r\n'.repeat(2_000_000)}`, 1),
    }),
    'informational answers without an end': () => ({
      raw: Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(400_000)),
    }),
    'headers of many values': () => ({
      headers: { etag: `"${'a'.repeat(15_000)}"`, 'last-modified': 'a'.repeat(10_000) },
      body: rss('<title>a</title>'),
    }),
    'JSON nested very deep': () => '[{"a":'.repeat(ANSWER_BYTES / 6),
    'JSON of very many items': () =>
      `{"version":"https://jsonfeed.org/version/1.1","title":"x","items":[${many((n) => `{"id":"${n}","title":"a"},`).slice(0, -1)}]}`,
    'JSON of very many empty items': () =>
      `{"version":"https://jsonfeed.org/version/1.1","title":"x","items":[${'{},'.repeat(1_600_000)}{}]}`,
  };
  return Object.entries(frames).map(([name, answer]) => feedCase(`feed: ${name}`, answer));
}

/** A response whose body is the same wire chunk, repeated many times. */
function inChunks(chunk: string, count: number): Buffer {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/xml\r\ntransfer-encoding: chunked\r\n\r\n';
  return Buffer.concat([
    Buffer.from(head),
    Buffer.alloc(chunk.length * count, chunk),
    Buffer.from('0\r\n\r\n'),
  ]);
}

/** A compressed response of 20 MB: `start`, and then the same bytes over and over. */
function inCoding(coding: string, start: Buffer, more: Buffer): HostAnswer {
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/xml\r\ncontent-encoding: ${coding}\r\n\r\n`;
  return { raw: Buffer.concat([Buffer.from(head), start, Buffer.alloc(20_000_000, more)]) };
}

/** Web pages whose head is searched for a feed, robots.txt, and endless redirects. */
function pageCases(): HostileCase[] {
  const pages = SHAPES.flatMap((shape) => [
    feedCase(`page, head of ${shape.name}`, () => `<html><head>${shape.of(4_000_000)}`),
    feedCase(`page, links of ${shape.name}`, () => `<html><head>${`<link ${shape.of(3_000)}>`.repeat(60)}`),
    feedCase(`page, comment of ${shape.name}`, () => `<!--${shape.of(200_000)}<html>`),
  ]);
  const tags = [
    '<link',
    '<link ',
    '<link a="',
    "<link rel='alternate' ",
    '<link rel=',
    '<!--',
    '<!-- -->',
    '<link href="a" ',
  ];
  const runs = tags.map((tag) =>
    feedCase(`page, very many of ${tag}`, () => `<html><head>${tag.repeat(400_000)}`),
  );
  const robots = SHAPES.flatMap((shape) =>
    ['User-agent: *\nDisallow: ', 'User-agent: *\nAllow: /*', 'User-agent: ', 'Sitemap: '].map((line) =>
      sourceCase(`robots.txt, ${JSON.stringify(line)} and ${shape.name}`, {
        size: 512_000,
        answer: (path) => (path === '/robots.txt' ? `${line}${shape.of(500_000)}$` : '<rss/>'),
      }),
    ),
  );
  const redirects = SHAPES.map((shape) =>
    sourceCase(`redirect to ${shape.name}`, {
      size: 8_000,
      answer: (path) => {
        const location = encodeURI(shape.of(8_000).toWellFormed()).slice(0, 8_000);
        return path === '/feed' ? { status: 302, headers: { location: `/${location}` }, body: '' } : null;
      },
    }),
  );
  return [...pages, ...runs, ...robots, ...redirects];
}

/** Feeds whose items are all edited between two runs, each of which compares, converts and looks up all of them. */
function editedCases(): HostileCase[] {
  const request = 'Looking for a CRM, budget approved. ';
  const feeds: Record<string, { count: number; text: string }> = {
    'as many items as may be': { count: 5_000, text: request },
    'items of many quotes': { count: 5_000, text: 'é"'.repeat(280) },
    'items of the longest text': { count: 240, text: request.repeat(550) },
    'items of the longest text of emoji': { count: 60, text: '😀 '.repeat(9_900) },
  };
  return Object.entries(feeds).map(([name, { count, text }]) => ({
    name: `source: feed, edited ${name}`,
    size: ANSWER_BYTES,
    async run({ host, call }) {
      const version = (word: string) => {
        const items = Array.from(
          { length: count },
          (_, n) =>
            `<item><guid>${n}</guid><title>${word} ${n}</title><description>${text}</description></item>`,
        );
        return `<rss version="2.0"><channel><title>x</title>${items.join('')}</channel></rss>`;
      };
      const versions = ['first', 'second', 'third'].map(version);
      host.answer = (path) => (path === '/robots.txt' ? null : (versions[0] ?? null));
      const url = `${host.origin}/edited`;
      const made = await call('POST', '/v1/sources', { kind: 'rss', name: 'Edited', url });
      if (made.status !== 201) return `broken: ${made.status} ${made.body.slice(0, 200)}`;
      const { id } = JSON.parse(made.body).data;
      const outcomes: string[] = [];
      for (const [place, body] of versions.entries()) {
        host.answer = (path) => (path === '/robots.txt' ? null : body);
        if (place > 0) await call('POST', `/v1/sources/${id}/run`);
        outcomes.push(await endOfRun(call, id, place + 1));
      }
      await call('DELETE', `/v1/sources/${id}`);
      return brokenIfOurs(outcomes.find((outcome) => outcome !== 'read') ?? 'read');
    },
  }));
}

/** How the latest of `count` runs ended. */
async function endOfRun(call: World['call'], id: string, count: number): Promise<string> {
  for (let tried = 0; tried < 600; tried++) {
    const { data } = JSON.parse((await call('GET', `/v1/sources/${id}/runs`)).body);
    if (data.length >= count) return data[0].error?.code ?? 'read';
    await pause(100);
  }
  return 'no run ended';
}

function feedCase(name: string, answer: () => HostAnswer): HostileCase {
  return sourceCase(name, { size: ANSWER_BYTES, answer: (path) => (path === '/feed' ? answer() : null) });
}

function sourceCase(
  name: string,
  { size, answer }: { size: number; answer(path: string): HostAnswer | null },
): HostileCase {
  return {
    name: `source: ${name}`,
    size,
    async run({ host, read }) {
      // Generated once, in advance, because the time it takes in this process is not the server's.
      const made = new Map<string, HostAnswer | null>();
      host.answer = (path) => {
        const known = made.get(path);
        if (known !== undefined) return known;
        const answered = answer(path);
        made.set(path, answered);
        return answered;
      };
      host.answer('/feed');
      return brokenIfOurs(await read('rss', { url: `${host.origin}/feed` }));
    },
  };
}

/** How a run of a source ended; a run that failed by our fault or never ended is broken. */
export function brokenIfOurs(ended: string): string {
  return /^internal|^no run ended|^\d/.test(ended) ? `broken: ${ended}` : ended;
}
