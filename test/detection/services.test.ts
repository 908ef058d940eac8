import { expect, test } from 'vitest';
import type { SourceKind } from '../../src/model/source.ts';
import { status } from '../support/receiver.ts';
import { T0 } from '../support/store.ts';
import { createHarness, type Harness, settings, wanting } from './harness.ts';

const json = (body: unknown, headers = {}) =>
  status(200, { 'content-type': 'application/json', ...headers }, JSON.stringify(body));
const paramsOf = (h: Harness, index: number) => new URLSearchParams(h.asked()[index]?.path.split('?')[1]);

async function readOnce(h: Harness, kind: SourceKind, given: Parameters<typeof settings>[0]) {
  const id = await h.add({ kind, settings: settings(given) });
  await h.poller.start();
  await h.ended(1);
  return h.source(id);
}

const HN = '/api/v1/search_by_date';
const hit = (id: string, more: object) => ({ objectID: id, created_at: '2025-12-31T12:00:00Z', ...more });

test('Hacker News: stories and comments of the last week, page by page, then only new ones', async () => {
  const h = await createHarness();
  const pages = [
    {
      nbPages: 2,
      hits: [hit('3', { comment_text: `<p>${wanting('CRM')}`, author: 'dana', story_title: 'Old' })],
    },
    {
      nbPages: 2,
      hits: [hit('2', { title: wanting('van'), story_text: null }), hit('1', { title: 'Cats' })],
    },
  ];
  h.pages[HN] = (response, request, socket) => {
    const page = Number(new URLSearchParams(request.path.split('?')[1]).get('page'));
    json(pages[page])(response, request, socket);
  };
  expect(await readOnce(h, 'hackernews', { query: 'crm "field service"' })).toMatchObject({
    lastError: null,
    itemsSeen: 3,
    signalsMade: 2,
  });
  expect(Object.fromEntries(paramsOf(h, 0))).toMatchObject({
    query: 'crm "field service"',
    tags: '(story,comment)',
    numericFilters: `created_at_i>${T0 / 1_000 - 7 * 86_400}`,
  });
  expect(h.site.requests.some(({ path }) => path === '/robots.txt')).toBe(false);
  const [comment] = (await h.store.listPosts('ten_a', 10)).filter(({ externalId }) => externalId === '3');
  expect(JSON.parse(comment?.wire ?? '{}')).toMatchObject({
    platform: {
      name: 'hackernews',
      post_url: 'https://news.ycombinator.com/item?id=3',
      posted_at: '2025-12-31T12:00:00.000Z',
    },
    prospect: { name: 'dana' },
  });
  await h.pass(900_000);
  expect(paramsOf(h, 2).get('numericFilters')).toBe(`created_at_i>${Date.UTC(2025, 11, 31, 11) / 1_000}`);
  expect(await h.source('src_1')).toMatchObject({ itemsSeen: 3, signalsMade: 2 });
});

const SE = '/2.3/search/advanced';
const question = (id: number, title: string) => ({
  question_id: id,
  link: `https://softwarerecs.stackexchange.com/questions/${id}/x`,
  title,
  body: '<p>Thanks</p>',
  creation_date: T0 / 1_000 - 100 + id,
  owner: { display_name: 'Sam &amp; Co' },
});

test('Stack Exchange: questions by tag, oldest first, honouring the backoff', async () => {
  const h = await createHarness();
  h.pages[SE] = json({ items: [question(1, wanting('CRM &quot;x&quot;'))], has_more: true, backoff: 1_200 });
  const source = await readOnce(h, 'stackexchange', { site: 'softwarerecs', tagged: ['crm', 'mac'] });
  expect(source).toMatchObject({ lastError: null, signalsMade: 1, nextPollAt: T0 + 1_200_000 });
  expect(Object.fromEntries(paramsOf(h, 0))).toMatchObject({
    site: 'softwarerecs',
    tagged: 'crm;mac',
    order: 'asc',
    filter: 'withbody',
    fromdate: String(T0 / 1_000 - 7 * 86_400),
  });
  expect(h.asked()).toHaveLength(1);
  const [post] = await h.store.listPosts('ten_a', 10);
  expect(JSON.parse(post?.wire ?? '{}')).toMatchObject({
    signal_type: 'qa_forum',
    platform: { name: 'softwarerecs' },
    prospect: { name: 'Sam & Co' },
  });
  h.pages[SE] = json({ items: [question(1, 'again'), question(2, wanting('van'))] });
  await h.pass(1_200_000);
  expect(paramsOf(h, 1).get('fromdate')).toBe(String(T0 / 1_000 - 99));
  expect(await h.source('src_1')).toMatchObject({ itemsSeen: 2, signalsMade: 2 });
});

test('Stack Exchange: waits when throttled, and shows other errors with their reason', async () => {
  const h = await createHarness();
  const throttled = {
    error_id: 502,
    error_message: 'too many requests from this IP, more requests available in 5000 seconds',
  };
  h.pages[SE] = status(400, {}, JSON.stringify(throttled));
  const source = await readOnce(h, 'stackexchange', { site: 'x', query: 'crm' });
  expect(source).toMatchObject({ lastError: { code: 'rate_limited' }, nextPollAt: T0 + 5_000_000 });
  h.pages[SE] = status(
    400,
    {},
    JSON.stringify({ error_id: 400, error_message: 'No site found for name `x`' }),
  );
  await h.pass(5_000_000);
  expect((await h.source('src_1')).lastError).toMatchObject({
    code: 'http_status',
    message: expect.stringContaining('No site found'),
  });
});

test.each<[SourceKind, string, unknown, object]>([
  [
    'greenhouse',
    '/v1/boards/acme/jobs',
    {
      jobs: [
        {
          id: 7,
          absolute_url: 'https://boards.example.com/7',
          title: 'Buyer',
          content: `&lt;p&gt;${wanting('CRM')}&lt;/p&gt;`,
          company_name: 'Acme Inc',
          location: { name: 'London' },
          first_published: '2025-12-31T12:00:00-04:00',
        },
      ],
    },
    {
      external_id: '7',
      company: { name: 'Acme Inc', location: 'London' },
      platform: { posted_at: '2025-12-31T16:00:00.000Z' },
    },
  ],
  [
    'lever',
    '/v0/postings/acme',
    [
      {
        id: 'a-1',
        text: 'Buyer',
        hostedUrl: 'https://jobs.example.com/a-1',
        createdAt: T0,
        descriptionPlain: wanting('CRM'),
        categories: {},
      },
    ],
    {
      external_id: 'a-1',
      company: { name: 'acme', location: '' },
      platform: { posted_at: '2026-01-01T00:00:00.000Z' },
    },
  ],
  [
    'ashby',
    '/posting-api/job-board/acme',
    {
      jobs: [
        {
          title: 'Secret',
          jobUrl: 'https://jobs.example.com/s',
          isListed: false,
          descriptionPlain: wanting('van'),
        },
        {
          title: 'Buyer',
          jobUrl: 'https://jobs.example.com/b',
          publishedAt: 'some day',
          descriptionHtml: `<p>${wanting('CRM')}</p>`,
        },
      ],
    },
    {
      external_id: 'https://jobs.example.com/b',
      company: { name: 'acme' },
      platform: { name: 'ashby', posted_at: '' },
    },
  ],
])(
  '%s: open jobs with their company, read again only if they have changed',
  async (kind, path, body, wire) => {
    const h = await createHarness();
    h.pages[path] = json(body, { etag: '"1"' });
    expect(await readOnce(h, kind, { board: 'acme' })).toMatchObject({
      lastError: null,
      itemsSeen: 1,
      signalsMade: 1,
    });
    const [post] = await h.store.listPosts('ten_a', 10);
    expect(post?.text).toBe(`Buyer\n\n${wanting('CRM')}`);
    expect(JSON.parse(post?.wire ?? '{}')).toMatchObject(wire);
    h.pages[path] = status(304);
    await h.pass(900_000);
    expect(h.asked()[1]?.headers).toMatchObject({ 'if-none-match': '"1"' });
    expect(await h.source('src_1')).toMatchObject({ lastError: null, signalsMade: 1 });
  },
);

test.each<[SourceKind, string, string, Parameters<typeof settings>[0]]>([
  ['hackernews', HN, '<html>', { query: 'x' }],
  ['stackexchange', SE, '{"items": 1}', { site: 'x', query: 'x' }],
  ['lever', '/v0/postings/acme', '{"ok": false}', { board: 'acme' }],
])('%s: a response in another format is an error, and nothing is stored', async (kind, path, body, given) => {
  const h = await createHarness();
  h.pages[path] = status(200, {}, body);
  expect((await readOnce(h, kind, given)).lastError).toMatchObject({ code: 'invalid_answer' });
});
