import { expect, test } from 'vitest';
import { markItems, unseen } from '../../src/detection/memory.ts';
import { keyOfMark, type SourceItem } from '../../src/detection/source-item.ts';
import type { SourceKind } from '../../src/model/source.ts';
import { status } from '../support/receiver.ts';
import { createHarness, rss, wanting } from './harness.ts';

const itemOf = (id: string, text: string, url: string): SourceItem => ({
  ...{ id, platform: 'rss', url, postedAt: null, title: '', body: text, author: '' },
});

/** The texts of those items of `shown` that are unseen after `before` were read. */
async function newAfter(before: SourceItem[], shown: SourceItem[], kind: SourceKind = 'rss') {
  const nextTurn = async () => {};
  const marks = new Map((await markItems(before, nextTurn)).map(({ mark }) => [keyOfMark(mark), mark]));
  const source = { kind, lastSuccessAt: READ_AT };
  return unseen(await markItems(shown, nextTurn), marks, source).map(({ item }) => item.body);
}

test('items whose IDs change with each reading create each signal once', async () => {
  const h = await createHarness();
  let reading = 0;
  let items = ['CRM', 'van'];
  h.pages['/feed'] = (response, request, socket) => {
    reading++;
    const feed = rss(items.map((text) => [`${text}-${reading}`, wanting(text)]));
    status(200, {}, feed)(response, request, socket);
  };
  const id = await h.add();
  await h.poller.start();
  await h.ended(1);
  for (let i = 0; i < 3; i++) await h.pass(900_000);
  items = ['help desk', ...items];
  for (let i = 0; i < 3; i++) await h.pass(900_000);
  expect(await h.source(id)).toMatchObject({ signalsMade: 3, itemsSeen: 3 });
  expect(await h.texts()).toHaveLength(3);
});

test('a long feed whose IDs change is read to its end, and then after its interval', async () => {
  const h = await createHarness();
  let reading = 0;
  h.pages['/feed'] = (response, request, socket) => {
    reading++;
    const items = Array.from(
      { length: 4_500 },
      (_, i) => [`${i}-${reading}`, `Text ${i}`] as [string, string],
    );
    status(200, {}, rss(items))(response, request, socket);
  };
  const id = await h.add();
  await h.poller.start();
  await h.ended(1);
  for (let i = 0; i < 3; i++) await h.pass(900_000);
  expect(await h.source(id)).toMatchObject({ itemsSeen: 4_500, nextPollAt: h.clock.now() + 900_000 });
});

test('a long feed whose IDs and texts change is not read sooner than asked', async () => {
  const h = await createHarness();
  let reading = 0;
  h.pages['/feed'] = (response, request, socket) => {
    reading++;
    const items = Array.from(
      { length: 2_100 },
      (_, i) => [`${i}-${reading}`, `Text ${i} at ${reading}`] as [string, string],
    );
    status(200, {}, rss(items))(response, request, socket);
  };
  const id = await h.add();
  await h.poller.start();
  await h.ended(1);
  expect((await h.source(id)).nextPollAt).toBe(h.clock.now() + 60_000);
  await h.pass(60_000);
  expect((await h.source(id)).nextPollAt).toBe(h.clock.now() + 900_000);
});

test('a feed whose IDs and texts change creates each signal once', async () => {
  const h = await createHarness();
  let reading = 0;
  let items = ['CRM', 'van'];
  h.pages['/feed'] = (response, request, socket) => {
    reading++;
    const xml = items.map(
      (name) =>
        `<item><guid isPermaLink="false">${name}-${reading}</guid><link>https://blog.example.com/${name.replace(' ', '-')}</link>` +
        `<title>A new ${name}</title><description>${wanting(name)} Read ${reading} times.</description></item>`,
    );
    const feed = `<rss version="2.0"><channel><title>t</title>${xml.join('')}</channel></rss>`;
    status(200, {}, feed)(response, request, socket);
  };
  const id = await h.add();
  await h.poller.start();
  await h.ended(1);
  for (let i = 0; i < 3; i++) await h.pass(900_000);
  items = ['help desk', ...items];
  for (let i = 0; i < 3; i++) await h.pass(900_000);
  expect(await h.source(id)).toMatchObject({ signalsMade: 3, itemsSeen: 3 });
});

const READ_AT = Date.UTC(2026, 0, 1);
const A = itemOf('1', 'A', 'https://a.example.com/1');
const B = itemOf('2', 'B', 'https://a.example.com/2');
const OTHERS = [itemOf('3', 'X', 'https://a.example.com/3'), itemOf('4', 'Y', 'https://a.example.com/4')];

const SAME_URL = ['S', 'T'].map((text, n) => itemOf(`${n + 5}`, text, 'https://a.example.com/'));

/** As a feed shows them that generates IDs and texts for each response. */
const changed = (items: SourceItem[], overrides: Partial<SourceItem> = {}) =>
  items.map((item) => ({ ...item, id: `${item.id}+`, body: `${item.body}.`, ...overrides }));

test.each<[string, SourceItem[], string[], SourceKind?, SourceItem[]?]>([
  ['one of several IDs changes', [B, { ...A, id: '9' }], []],
  ['the IDs and URLs of all items change', [{ ...A, id: '8', url: 'u' }, { ...B, id: '9', url: 'v' }], []], // biome-ignore format: one line
  [
    'the IDs, URLs and dates of all items change',
    [
      { ...A, id: '8', url: 'u', postedAt: READ_AT + 1 },
      { ...B, id: '9', url: 'v', postedAt: READ_AT + 1 },
    ],
    [],
  ],
  ['a text is repeated at another URL', [B, { ...A, id: '9', url: 'u' }], ['A']],
  ['a text is repeated while the first is shown', [A, B, { ...A, id: '9' }], ['A']],
  ['one of several new items repeats a text', [itemOf('7', 'C', ''), itemOf('8', 'D', ''), itemOf('9', 'E', ''), { ...A, id: '6', url: 'u' }], ['C', 'D', 'E', 'A']], // biome-ignore format: one line
  ['the text at a URL is another', [{ ...A, id: '9', body: 'C' }], ['C']],
  ['the service has lasting IDs', [{ ...A, id: '9' }], ['A'], 'mastodon'],
  ['the IDs and texts of all items change', changed([A, B, ...OTHERS]), []],
  [
    'the IDs, texts and URLs of all items change',
    changed([
      { ...A, url: 'u' },
      { ...B, url: 'v' },
    ]),
    ['A.', 'B.'],
  ],
  [
    'most items are others at other URLs',
    changed([{ ...A, url: 'u' }, { ...B, url: 'v' }, ...OTHERS].slice(0, 3)),
    ['A.', 'B.', 'X.'],
  ],
  ['items with one URL change', changed(SAME_URL), ['S.', 'T.'], 'rss', SAME_URL],
  ['items with the same URLs are younger', changed([A, B], { postedAt: READ_AT + 1 }), ['A.', 'B.']],
  ['items with the same URLs are older', changed([A, B], { postedAt: READ_AT - 1 }), []],
])('if %s, only new items are new', async (_, shown, expected, kind, before = [A, B, ...OTHERS]) => {
  expect(await newAfter(before, shown, kind)).toEqual(expected);
});
