import { expect, test } from 'vitest';
import type { Reader, ReadingTask } from '../../src/detection/reader.ts';
import { SITES } from '../../src/detection/reader.ts';
import { readDiscourse } from '../../src/detection/sources/discourse.ts';
import { readLemmy, readMastodon } from '../../src/detection/sources/fediverse.ts';
import { readGitHub } from '../../src/detection/sources/github.ts';
import { readHackerNews } from '../../src/detection/sources/hackernews.ts';
import { readSmartRecruiters } from '../../src/detection/sources/job-boards.ts';
import { readLobsters } from '../../src/detection/sources/lobsters.ts';
import { readReddit } from '../../src/detection/sources/reddit.ts';
import { readStackExchange } from '../../src/detection/sources/stack-exchange.ts';
import type { FetchedPage } from '../../src/detection/web.ts';
import { defaultProfile } from '../../src/model/icp.ts';
import type { SourceKind } from '../../src/model/source.ts';
import { status } from '../support/receiver.ts';
import { aSource } from '../support/sources.ts';
import { T0 } from '../support/store.ts';
import { createHarness, parse, rss, settings, wanting } from './harness.ts';

/** A response close to the maximum size that is read. */
const TEXT = 'x'.repeat(20_000);
const PER_PAGE = 200;
const HALF_A_SECOND = 500;
const many = <T>(item: (id: number) => T, page: number) =>
  Array.from({ length: PER_PAGE }, (_, i) => item(1_000_000 - page * PER_PAGE - i));
const at = (id: number) => new Date(T0 - 1_000_000 * HALF_A_SECOND + id * HALF_A_SECOND).toISOString();
const later = (id: number) => new Date(T0 - id * HALF_A_SECOND).toISOString();

/** The reader of each kind that requests several pages, and a page that is full of long texts. */
const KINDS: [kind: SourceKind, reader: Reader, page: (n: number) => unknown][] = [
  [
    'discourse',
    readDiscourse,
    (n) => ({ latest_posts: many((id) => ({ id, topic_id: 1, created_at: at(id), cooked: TEXT }), n) }),
  ],
  [
    'lemmy',
    readLemmy,
    (n) => ({ posts: many((id) => ({ post: { id, name: 't', body: TEXT, published: at(id) } }), n) }),
  ],
  ['mastodon', readMastodon, (n) => many((id) => ({ id: `${id}`, created_at: at(id), content: TEXT }), n)],
  [
    'lobsters',
    readLobsters,
    (n) =>
      many(
        (id) => ({ short_id: `${id}`, title: 't', created_at: at(id), description: TEXT, comments_url: 'x' }),
        n,
      ),
  ],
  [
    'reddit',
    readReddit,
    (n) => ({
      access_token: 'token',
      data: {
        after: `t${n}`,
        children: many(
          (id) => ({
            kind: 't3',
            data: {
              id: `${id}`,
              name: `t3_${id}`,
              title: 't',
              selftext: TEXT,
              permalink: '/x',
              created_utc: T0 / 1_000,
            },
          }),
          n,
        ),
      },
    }),
  ],
  [
    'github',
    readGitHub,
    (n) => ({
      items: many(
        (id) => ({ html_url: `https://e.x/${id}`, title: 't', body: TEXT, created_at: later(id) }),
        n,
      ).slice(0, 100),
    }),
  ],
  [
    'stackexchange',
    readStackExchange,
    (n) => ({
      has_more: true,
      items: many(
        (id) => ({
          question_id: id,
          link: 'https://e.x',
          title: 't',
          body: TEXT,
          creation_date: T0 / 1_000 - id,
        }),
        n,
      ),
    }),
  ],
  [
    'hackernews',
    readHackerNews,
    (n) => ({
      nbPages: 10,
      hits: many((id) => ({ objectID: `${id}`, title: 't', story_text: TEXT, created_at: at(id) }), n),
    }),
  ],
  [
    'smartrecruiters',
    readSmartRecruiters,
    (n) => ({ totalFound: 10_000, content: many((id) => ({ id: `${id}`, name: TEXT }), n) }),
  ],
];

test.each(KINDS)(
  'a run of kind %s requests no further page once it holds much text',
  async (kind, reader, page) => {
    let pages = 0;
    const read = async (url: string): Promise<FetchedPage> => {
      const body = Buffer.from(JSON.stringify(page(url.includes('access_token') ? 0 : pages++)));
      return { status: 200, headers: {}, url, body } as FetchedPage;
    };
    const source = aSource({
      kind,
      settings: settings({
        url: 'https://e.x',
        tag: 't',
        query: kind === 'discourse' || kind === 'lemmy' ? null : 'x',
        board: 'b',
        site: 's',
        subreddit: 's',
        client_id: 'c',
      }),
    });
    const task = {
      ...{ source, now: T0, oldest: 0, sites: SITES, secrets: {}, parse },
      position: { etag: null, lastModified: null, newestAt: null, cursor: null, seen: [] },
      web: { read, hold: async () => {}, listen: async () => {} },
      isNew: () => kind !== 'smartrecruiters',
      isOver: () => false,
    } as ReadingTask;

    const { items } = await reader(task);

    expect(items.length).toBeGreaterThan(0);
    expect(pages).toBeLessThanOrEqual(3);
  },
);

// 32 runs that hold a thousand signals each took more than 1 GB.
test('a run holds a few hundred signals, however many profiles its posts match', async () => {
  let [made, stored, most] = [0, 0, 0];
  const h = await createHarness({
    idMade: (id) => {
      if (id.startsWith('sig_')) made++;
      most = Math.max(most, made - stored);
    },
    wrap: (store) => ({
      ...store,
      addRunSignals: async (run, signals) => {
        stored += signals.length;
        return store.addRunSignals(run, signals);
      },
    }),
  });
  for (let i = 0; i < 40; i++) {
    const profile = { ...defaultProfile(`icp_${i}`, 'ten_a', T0), name: `Profile ${i}` };
    await h.store.createProfile(profile, 100);
  }
  const long = 'word '.repeat(2_000); // few enough signals of each post not to be counted
  h.pages['/feed'] = status(
    200,
    {},
    rss(Array.from({ length: 30 }, (_, i) => [`${i}`, `${wanting(`CRM ${i}`)} ${long}`])),
  );
  const id = await h.add();
  await h.poller.start();
  await h.ended(1);
  expect(await h.source(id)).toMatchObject({ itemsSeen: 30, signalsMade: 30 * 41 });
  expect(most).toBeLessThanOrEqual(300);
});
