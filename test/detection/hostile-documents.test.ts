import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { SourceKind, SourceSettings } from '../../src/model/source.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { tempFolder } from '../store/sqlite/temp-folder.ts';
import { slownessOfMachine } from '../support/cpu-time.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { startReceiver } from '../support/receiver.ts';
import { aTenant, T0 } from '../support/store.ts';
import { createHarness, rss, settings, wanting } from './harness.ts';

/** Below the maximum size that is read (`MAX_BODY_BYTES`). */
const BYTES = 5 * 1_000_000;
/** Maximum wait of other work, in CPU time, while a parser runs in its own thread. */
const MOST_HELD_MS = 250;

const fill = (piece: string, bytes = BYTES) => piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)));
const many = (count: number, piece: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => piece(i)).join('');
const channel = (inner: string, attributes = '') =>
  `<rss version="2.0"${attributes}><channel><title>x</title>${inner}</channel></rss>`;
const item = (inner: string) => channel(`<item><title>t</title>${inner}</item>`);
const described = (html: string) => item(`<description>${html}</description>`);

/** XML and HTML that keep one of the parsers busy or exhaust its memory. */
const FEEDS: Record<string, () => string> = {
  'an author of open brackets': () => item(`<author>${fill('(')}</author>`),
  'an author of escaped brackets': () => item(`<author>${fill('&lt;')}</author>`),
  'an author of words and brackets': () => item(`<author>${fill('a (')}</author>`),
  'brackets as marked text': () => item(`<author><![CDATA[${fill('[')}]]></author>`),
  'brackets in an element of the author': () => item(`<author><name>${fill('<(', 900)}</name></author>`),
  'thousands of authors of brackets': () =>
    channel(fill(`<item><title>t</title><author><name>${'('.repeat(970)}</name></author></item>`)),
  'an editor of brackets': () =>
    channel(`<managingEditor>${fill('(')}</managingEditor><item><title>t</title></item>`),
  'elements that are never closed': () => item(fill('<a>')),
  'elements within one another': () => item(fill('<a>', BYTES / 2) + fill('</a>', BYTES / 2)),
  'one attribute again and again': () => item(`<a ${fill('b="1" ')}/>`),
  'hundreds of thousands of attributes': () => item(`<a ${many(350_000, (i) => `b${i}="1" `)}/>`),
  'a hundred thousand namespaces': () =>
    channel(
      '',
      many(150_000, (i) => ` xmlns:a${i}="b${i}"`),
    ),
  'marked text that is never closed': () => described(fill('<![CDATA[')),
  'marked text in small pieces': () => described(fill('<![CDATA[x]]>')),
  'entities of entities': () =>
    `<!DOCTYPE x [<!ENTITY a "${'x'.repeat(1_000)}">${many(8, (i) => `<!ENTITY b${i} "${`&${i === 0 ? 'a' : `b${i - 1}`};`.repeat(10)}">`)}]>${described('&b7;'.repeat(100))}`,
  'entities that are never closed': () => `<!DOCTYPE x [${fill('<!ENTITY a "')}]>${item('')}`,
  ampersands: () => described(fill('&amp;')),
  'escaped tags that are never closed': () => described(fill('&lt;')),
  'escaped tags with open values': () => described(fill(`&lt;a b='`)),
  'escaped scripts': () => described(fill('&lt;script&gt;')),
  'comments that are never closed': () => item(fill('<!--')),
  'empty items': () => channel(fill('<item/>')),
  'short items': () => channel(fill('<item><title>t</title></item>')),
  'combining marks': () =>
    item(`<description>a${fill('\u0300', BYTES / 2)}${fill('\u0334', BYTES / 2)}</description>`),
  'items of combining marks': () =>
    channel(
      many(
        10,
        (i) =>
          `<item><guid>${i}</guid><title>${wanting('CRM')}</title><description>a${'\u0300'.repeat(10_000)}${'\u0334'.repeat(9_900)}</description></item>`,
      ),
    ),
  'a page with a feed that is never closed': () => `<html>${fill('<rss ')}`,
  'a page of links': () => `<!doctype html><html>${fill('<link ')}`,
  'a page of attributes': () => `<!doctype html><html><link ${fill('a   ')}>`,
  'a JSON feed of empty items': () =>
    `{"version":"https://jsonfeed.org/version/1.1","items":[${fill('{},')}{}]}`,
  'a JSON feed of brackets': () => `{"version":"https://jsonfeed.org/version/1.1","items":${fill('[')}`,
  'a giant text': () => described(fill('word ')),
  'giant texts': () =>
    channel(
      many(
        240,
        (i) =>
          `<item><guid>${i}</guid><title>${wanting('CRM')}</title><description>${many(2_000, (word) => `w${i}x${word} `)}</description></item>`,
      ),
    ),
  'two thousand requests': () =>
    channel(
      many(
        2_000,
        (i) =>
          `<item><guid>${i}</guid><title>${wanting(`CRM ${i}`)}</title><description>${'crm phone '.repeat(40)}${i}</description></item>`,
      ),
    ),
  'a giant title': () => channel(`<item><title>${fill('word ')}</title></item>`),
};

const objects = fill('{},');
/** JSON in the format of the services, and in others. */
const ANSWERS: [
  name: string,
  kind: SourceKind,
  given: (origin: string) => Partial<SourceSettings>,
  body: () => string,
][] = [
  ['1,660,000 empty posts', 'discourse', url, () => `{"latest_posts":[${objects}{}]}`],
  ['posts of all but the limit', 'discourse', url, () => `{"latest_posts":[${'{},'.repeat(390_000)}{}]}`],
  [
    'a post of members',
    'discourse',
    url,
    () => `{"latest_posts":[{${many(300_000, (i) => `"a${i}":1,`)}"b":1}]}`,
  ],
  ['1,660,000 empty posts', 'lemmy', url, () => `{"posts":[${objects}{}]}`],
  ['1,660,000 empty statuses', 'mastodon', tagged, () => `[${objects}{}]`],
  ['nested lists', 'mastodon', tagged, () => fill('[')],
  ['nested objects', 'mastodon', tagged, () => fill('{"a":')],
  ['a number of 5 MB', 'mastodon', tagged, () => `[${fill('9')}]`],
  ['a text of escapes', 'mastodon', tagged, () => `["${fill('\\u0041')}"]`],
  ['a status with an endless id', 'mastodon', tagged, () => `[{"id":"${fill('1')}"}]`],
  [
    'a hundred thousand statuses',
    'mastodon',
    tagged,
    () => `[${many(100_000, (i) => `{"id":"${i}","content":"x"},`)}{"id":"z"}]`,
  ],
  [
    'statuses of tags',
    'mastodon',
    tagged,
    () =>
      JSON.stringify(
        Array.from({ length: 40 }, (_, i) => ({ id: `${i}`, content: fill("<a b='", BYTES / 50) })),
      ),
  ],
  ['stories without members', 'lobsters', () => ({ tag: 'ask' }), () => `[${objects}{}]`],
  ['jobs without members', 'greenhouse', () => ({ board: 'acme' }), () => `{"jobs":[${objects}{}]}`],
  [
    'jobs of names of tools',
    'greenhouse',
    () => ({ board: 'acme' }),
    () =>
      JSON.stringify({
        jobs: Array.from({ length: 50 }, (_, id) => ({
          id,
          absolute_url: '',
          title: 'x',
          content: fill('Sale Salesforc ', BYTES / 60),
        })),
      }),
  ],
  ['jobs within jobs', 'lever', () => ({ board: 'acme' }), () => fill('[{"lists":')],
  ['hits without members', 'hackernews', () => ({ query: 'crm' }), () => `{"hits":[${objects}{}]}`],
  ['notices that are no feed', 'sec_form_d', () => ({ query: 'crm' }), () => fill('<relatedPersonInfo>')],
];

function url(origin: string): Partial<SourceSettings> {
  return { url: `${origin}/` };
}

function tagged(origin: string): Partial<SourceSettings> {
  return { url: `${origin}/`, tag: 'crm' };
}

/** As in a server, writing takes no time in the measured thread. */
async function openWithWriterThread() {
  const clock = createManualClock(T0);
  const file = join(tempFolder(), 'signalpost.db');
  return { clock, store: await openSqliteStore({ file, clock, writerThread: true }) };
}

/**
 * Reads a source of one tenant next to an ordinary feed of another, and returns the longest block of the
 * event loop.
 */
async function readBeside(
  kind: SourceKind,
  given: (origin: string) => Partial<SourceSettings>,
  body: string,
  robots?: string,
) {
  const h = await createHarness({ opened: await openWithWriterThread() });
  await h.store.createTenant(aTenant('ten_b'));
  const other = await startReceiver((response, request) =>
    response.writeHead(request.path === '/robots.txt' ? 404 : 200).end(rss([['g', wanting('phone system')]])),
  );
  const bytes = Buffer.from(body);
  h.pages['*'] = (response) => void response.end(bytes);
  if (robots !== undefined) h.pages['/robots.txt'] = (response) => void response.end(robots);
  await h.add({ kind, settings: settings(given(h.origin)), intervalSeconds: 60 });
  const beside = await h.add({
    id: 'src_2',
    tenantId: 'ten_b',
    settings: settings({ url: `http://127.0.0.1:${other.port}/feed` }),
  });
  let held = 0;
  let last = process.threadCpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.threadCpuUsage(last);
    held = Math.max(held, (user + system) / 1_000);
    last = process.threadCpuUsage();
  }, 5);
  await h.poller.start();
  await h.ended(2);
  clearInterval(timer);
  await other.close();
  const found = await h.store.getSource('ten_b', beside);
  return {
    held,
    source: await h.source('src_1'),
    beside: found,
    wait: (await h.source('src_1')).nextPollAt - h.clock.now(),
  };
}

async function expectNobodyHeld(read: Awaited<ReturnType<typeof readBeside>>): Promise<void> {
  console.log(
    'HELD',
    Math.round(read.held),
    read.source.lastError?.code,
    read.source.itemsSeen,
    read.source.signalsMade,
  );
  expect(read.held).toBeLessThan(MOST_HELD_MS * slownessOfMachine());
  expect(read.beside).toMatchObject({ lastError: null, signalsMade: 1 });
  const { lastError } = read.source;
  if (lastError !== null)
    expect(lastError.code).toMatch(/^(document_too_costly|invalid_feed|invalid_answer)$/);
  if (lastError?.code === 'document_too_costly') expect(read.wait).toBeGreaterThanOrEqual(15 * 60_000);
}

// Runs first, so that one-time loading and compiling is not attributed to a document.
test('reads two ordinary feeds', async () => {
  const body = rss([['g', wanting('CRM')]]);
  const { source, beside } = await readBeside('rss', (origin) => ({ url: `${origin}/feed` }), body);
  expect([source, beside]).toMatchObject([{ signalsMade: 1 }, { signalsMade: 1 }]);
});

const OPTIONS = { timeout: 60_000 };

test.each(Object.entries(FEEDS))('a feed of %s delays nobody', OPTIONS, async (_, body) => {
  await expectNobodyHeld(await readBeside('rss', (origin) => ({ url: `${origin}/feed` }), body()));
});

test.each(ANSWERS)('%s, in a response of %s, delay nobody', OPTIONS, async (_, kind, given, body) => {
  await expectNobodyHeld(await readBeside(kind, given, body()));
});

test.each([
  ['rules', `User-agent: *\n${fill('Allow:/a\n', 512_000)}`],
  ['patterns', `User-agent: *\n${fill('Disallow:/x*a*b*c\n', 512_000)}`],
  ['one pattern of asterisks', `User-agent: *\nDisallow:/x${fill('*a', 500_000)}`],
  ['short lines', fill('\n\r', 512_000)],
])('a robots.txt of %s delays nobody', OPTIONS, async (_, robots) => {
  const body = rss([['g', wanting('CRM')]]);
  await expectNobodyHeld(await readBeside('rss', (origin) => ({ url: `${origin}/feed` }), body, robots));
});
