import { describe, expect, test } from 'vitest';
import { advanced, markItems } from '../../src/detection/memory.ts';
import type { Reader, ReadingTask } from '../../src/detection/reader.ts';
import { SITES } from '../../src/detection/reader.ts';
import { itemKey, keyOfMark } from '../../src/detection/source-item.ts';
import { readDiscourse } from '../../src/detection/sources/discourse.ts';
import { readLemmy, readMastodon } from '../../src/detection/sources/fediverse.ts';
import { readLobsters } from '../../src/detection/sources/lobsters.ts';
import { readReddit } from '../../src/detection/sources/reddit.ts';
import type { FetchedPage } from '../../src/detection/web.ts';
import { START_POSITION } from '../../src/model/constants.ts';
import type { SourceKind, SourcePosition } from '../../src/model/source.ts';
import { aSource } from '../support/sources.ts';
import { T0 } from '../support/store.ts';
import { parse, settings } from './harness.ts';

interface Post {
  id: number;
  text: string;
}

const timeOf = ({ id }: Post) => T0 - 3_600_000 + id * 1_000;
const at = (post: Post) => new Date(timeOf(post)).toISOString();
const pageOf = (posts: Post[], query: URLSearchParams, size: number, path = '') => {
  const page = Number(query.get('page') ?? /page\/(\d+)/.exec(path)?.[1] ?? 1);
  return posts.slice((page - 1) * size, page * size);
};

/** Each kind's reader, its response with posts newest first, and the ID of a post as its reader returns it. */
const KINDS: [
  kind: SourceKind,
  reader: Reader,
  answer: (posts: Post[], url: URL) => unknown,
  idOf: (id: number) => string,
][] = [
  [
    'discourse',
    readDiscourse,
    (posts, { searchParams }) => {
      const before = Number(searchParams.get('before') ?? Number.POSITIVE_INFINITY);
      const shown = posts.filter(({ id }) => id <= before).slice(0, 50);
      return {
        latest_posts: shown.map((post) => ({
          id: post.id,
          topic_id: 1,
          created_at: at(post),
          cooked: post.text,
        })),
      };
    },
    String,
  ],
  [
    'lemmy',
    readLemmy,
    (posts, { searchParams }) => ({
      posts: pageOf(posts, searchParams, 50).map((post) => ({
        post: { id: post.id, name: 't', body: post.text, published: at(post) },
      })),
    }),
    String,
  ],
  [
    'lobsters',
    readLobsters,
    (posts, { pathname, searchParams }) =>
      pageOf(posts, searchParams, 25, pathname).map((post) => ({
        short_id: String(post.id),
        title: 't',
        created_at: at(post),
        description: post.text,
      })),
    String,
  ],
  [
    'reddit',
    readReddit,
    (posts, { searchParams }) => {
      const after = Number(searchParams.get('after')?.slice(3) ?? Number.POSITIVE_INFINITY);
      const shown = posts.filter(({ id }) => id < after).slice(0, 100);
      const children = shown.map((post) => ({
        kind: 't3',
        data: {
          name: `t3_${post.id}`,
          title: 't',
          selftext: post.text,
          permalink: '/x',
          created_utc: timeOf(post) / 1_000,
        },
      }));
      const last = shown.length < 100 ? undefined : shown.at(-1);
      return { access_token: 'token', data: { after: last && `t3_${last.id}`, children } };
    },
    (id) => `t3_${id}`,
  ],
  [
    'mastodon',
    readMastodon,
    (posts, { searchParams }) => {
      const since = Number(searchParams.get('since_id') ?? 0);
      const below = Number(searchParams.get('max_id') ?? Number.POSITIVE_INFINITY);
      // This instance returns at most 20 at a time.
      const shown = posts.filter(({ id }) => id > since && id < below).slice(0, 20);
      return shown.map((post) => ({ id: String(post.id), created_at: at(post), content: post.text }));
    },
    String,
  ],
];

describe.each(KINDS)('a run of kind %s', (kind, reader, answer, idOf) => {
  const source = aSource({
    kind,
    settings: settings({ url: 'https://e.x', tag: 't', query: null, subreddit: 's', client_id: 'c' }),
  });

  /** Reads `posts` in as many runs as it asks for, and returns the IDs in order. */
  async function readAll(
    posts: Post[],
    given: SourcePosition = START_POSITION,
    failing: Partial<typeof source> = {},
  ) {
    let position = given;
    const read = new Set<string>();
    let runs = 0;
    for (let more = true; more && runs < 20; runs++) {
      const known = new Set(position.seen.map(keyOfMark));
      const newestFirst = [...posts].sort((a, b) => b.id - a.id);
      const task = {
        ...{
          source: { ...source, ...failing },
          position,
          now: T0,
          oldest: 0,
          sites: SITES,
          secrets: {},
          parse,
        },
        web: {
          read: async (url: string) => {
            const body = Buffer.from(JSON.stringify(answer(newestFirst, new URL(url))));
            return { status: 200, headers: {}, url, body } as FetchedPage;
          },
          hold: async () => {},
          listen: async () => {},
        },
        isNew: (id) => !known.has(itemKey({ id })),
        isOver: () => false,
      } as ReadingTask;
      const reading = await reader(task);
      for (const { id } of reading.items) read.add(id);
      position = advanced(position, reading, await markItems(reading.items, async () => {}));
      more = reading.more === true;
    }
    return { read, position, runs };
  }

  const many = (from: number, count: number, text: string) =>
    Array.from({ length: count }, (_, i) => ({ id: from + i, text: `${from + i} ${text}` }));

  test('that holds enough text leaves older pages to the next ones', async () => {
    const posts = many(1, 200, '😀'.repeat(20_000));
    const { read, runs } = await readAll(posts);
    expect(read.size).toBe(posts.length);
    expect(runs).toBeGreaterThan(1);
  });

  test('after a pause reads everything since the last one, however many pages that are', async () => {
    const first = await readAll(many(1, 10, 'short'));
    const posts = many(1, 1_510, 'short');
    const second = await readAll(posts, first.position);
    const missing = posts.filter(({ id }) => id > 10 && !second.read.has(idOf(id)));
    expect(missing).toEqual([]);
    const third = await readAll([...posts, ...many(1_511, 3, 'short')], second.position);
    expect(third.runs).toBe(1);
    for (const id of [1_511, 1_512, 1_513]) expect(third.read).toContain(idOf(id));
  });

  test('starts at the top again when the page where an earlier one stopped keeps failing', async () => {
    const first = await readAll(many(1, 10, 'short'));
    const rest =
      kind === 'mastodon'
        ? { since: '1', below: '5', newest: '10' }
        : { at: '99', since: 1, newestAt: 2, pages: 1 };
    const cursor = JSON.stringify(rest);
    const lastError = { code: 'http_status', message: '', at: T0 };
    const posts = many(1, 12, 'short');
    const again = await readAll(posts, { ...first.position, cursor }, { failures: 3, lastError });
    for (const id of [11, 12]) expect(again.read).toContain(idOf(id));
  });
});
