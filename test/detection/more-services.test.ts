import { expect, test } from 'vitest';
import { sitesWith } from '../../src/detection/reader.ts';
import { readFormD } from '../../src/detection/sources/sec-form-d.ts';
import { createWeb } from '../../src/detection/web.ts';
import { createAddressSet, parseCidr } from '../../src/lib/network.ts';
import { START_POSITION } from '../../src/model/constants.ts';
import type { SourceKind, SourceSettings } from '../../src/model/source.ts';
import { type Answer, status } from '../support/receiver.ts';
import { aSource } from '../support/sources.ts';
import { T0 } from '../support/store.ts';
import { createHarness, DOCUMENTS, type Harness, parse, SECRET_BOX, settings, wanting } from './harness.ts';

const json = (body: unknown, headers: Record<string, string> = {}) =>
  status(200, { 'content-type': 'application/json', ...headers }, JSON.stringify(body));
const query = ({ path }: { path: string }) => Object.fromEntries(new URLSearchParams(path.split('?')[1]));
const AT = '2025-12-31T12:00:00Z';
const OLD = '2025-12-01T12:00:00Z';

async function readOnce(
  h: Harness,
  kind: SourceKind,
  given: Partial<SourceSettings>,
  secrets: Record<string, string> = {},
) {
  const sealed = Object.entries(secrets).map(([name, value]) => [
    name,
    SECRET_BOX.seal(value, `source/src_1/${name}`).toString('base64'),
  ]);
  await h.add({ kind, settings: settings(given), secrets: Object.fromEntries(sealed) });
  await h.poller.start();
  await h.ended(1);
  return h.source('src_1');
}

async function wires(h: Harness) {
  return (await h.store.listPosts('ten_a', 50)).map(({ wire }) => JSON.parse(wire));
}

type Pages = Record<string, Answer>;

const ONE_EACH: [SourceKind, (origin: string) => Partial<SourceSettings>, Pages, object][] = [
  [
    'smartrecruiters',
    () => ({ board: 'acme' }),
    {
      '/v1/companies/acme/postings': json({
        totalFound: 2,
        content: [
          {
            id: '74',
            name: 'Buyer',
            releasedDate: AT,
            company: { name: 'Acme Inc' },
            location: { city: 'Berlin', country: 'de' },
            department: { label: 'Procurement' },
          },
          { id: '73', name: 'Old', releasedDate: OLD },
        ],
      }),
      '/v1/companies/acme/postings/74': json({
        postingUrl: 'https://jobs.example.com/74',
        jobAd: { sections: { jobDescription: { title: 'x', text: `<p>${wanting('CRM')}</p>` } } },
      }),
    },
    {
      company: { name: 'Acme Inc', location: 'Berlin, de' },
      platform: { post_url: 'https://jobs.example.com/74' },
    },
  ],
  [
    'recruitee',
    () => ({ board: 'acme' }),
    {
      '/api/offers/': json({
        offers: [
          {
            id: 5,
            title: 'Buyer',
            careers_url: 'https://acme.example.com/o/buyer',
            description: `<p>${wanting('CRM')}</p>`,
            requirements: '<p>Salesforce</p>',
            department: 'Sales',
            location: 'Delft',
            company_name: 'Acme BV',
            published_at: '2025-12-31 12:00:00 UTC',
          },
        ],
      }),
    },
    { company: { name: 'Acme BV', location: 'Delft' }, platform: { posted_at: '2025-12-31T12:00:00.000Z' } },
  ],
  [
    'workable',
    () => ({ board: 'acme' }),
    {
      '/api/v1/widget/accounts/acme': json({
        name: 'Acme',
        jobs: [
          {
            shortcode: 'AB12',
            title: 'Buyer',
            department: 'Ops',
            url: 'https://apply.example.com/j/AB12',
            published_on: '2025-12-31',
            city: 'Athens',
            country: 'Greece',
            description: `<p>${wanting('CRM')}</p>`,
          },
        ],
      }),
    },
    { external_id: 'AB12', company: { name: 'Acme', location: 'Athens, Greece' } },
  ],
  [
    'lobsters',
    () => ({ tag: 'ask' }),
    {
      '/t/ask.json': json([
        {
          short_id: 'abc',
          comments_url: 'https://lobste.rs/s/abc/x',
          url: 'https://elsewhere.example.com/',
          created_at: '2025-12-31T06:00:00.000-06:00',
          title: 'Ask',
          description_plain: wanting('CRM'),
          submitter_user: 'dana',
        },
      ]),
      '/t/ask/page/2.json': json([]),
    },
    {
      platform: {
        name: 'lobsters',
        post_url: 'https://lobste.rs/s/abc/x',
        posted_at: '2025-12-31T12:00:00.000Z',
      },
    },
  ],
  [
    'lemmy',
    (url) => ({ url: `${url}/`, query: 'crm' }),
    {
      '/api/v3/search': json({
        posts: [
          {
            post: {
              id: 1,
              name: 'Ask',
              body: wanting('CRM'),
              ap_id: 'https://lemmy.example.com/post/1',
              published: '2025-12-31T12:00:00.5',
            },
            creator: { name: 'dana' },
          },
        ],
      }),
    },
    { platform: { name: 'lemmy', posted_at: '2025-12-31T12:00:00.500Z' }, prospect: { name: 'dana' } },
  ],
  [
    'mastodon',
    (url) => ({ url: `${url}/`, tag: 'crm' }),
    {
      '/api/v1/timelines/tag/crm': json([
        {
          id: '9',
          created_at: AT,
          url: 'https://m.example.com/@d/9',
          content: `<p>${wanting('CRM')}</p>`,
          account: { display_name: 'Dana', acct: 'd' },
        },
      ]),
    },
    { platform: { name: 'mastodon', post_url: 'https://m.example.com/@d/9' }, prospect: { name: 'Dana' } },
  ],
  [
    'hackernews_hiring',
    () => ({ query: 'crm' }),
    {
      '/api/v1/search_by_date': json({
        hits: [
          { objectID: '100', title: 'Ask HN: Who wants to be hired? (January 2026)' },
          { objectID: '101', title: 'Ask HN: Who is hiring? (January 2026)' },
        ],
      }),
      '/api/v1/items/101': json({
        children: [
          { id: 7, author: 'd', created_at: AT, text: `Acme | Buyer | Remote<p>${wanting('CRM')}` },
          { id: 8, author: 'e', created_at: AT, text: 'Other | Nothing of it' },
          { id: 9, author: null, created_at: AT, text: null },
        ],
      }),
    },
    { external_id: '7', company: { name: 'Acme' } },
  ],
];

test.each(ONE_EACH)('reads %s in the format of the service', async (kind, given, pages, wire) => {
  const h = await createHarness();
  Object.assign(h.pages, pages);
  expect(await readOnce(h, kind, given(h.origin))).toMatchObject({ lastError: null, signalsMade: 1 });
  expect((await wires(h))[0]).toMatchObject(wire);
  const asked = h.asked().length;
  await h.pass(900_000);
  expect(await h.source('src_1')).toMatchObject({ lastError: null, signalsMade: 1 });
  expect(h.asked().length - asked).toBeLessThanOrEqual(asked); // known items are not requested in detail again
});

test('a job includes its department', async () => {
  const h = await createHarness();
  Object.assign(h.pages, ONE_EACH[1]?.[2]);
  await readOnce(h, 'recruitee', { board: 'acme' });
  expect((await h.texts())[0]).toContain('Department: Sales');
});

const discoursePost = (id: number, at = AT) => ({
  id,
  username: 'dana',
  created_at: at,
  cooked: `<p>${wanting(`CRM ${id}`)}</p>`,
  topic_id: 3,
  topic_slug: 'ask',
  topic_title: 'Ask',
  post_number: 2,
});

test('Discourse: newest posts, page by page until one is too old, and a search', async () => {
  const h = await createHarness();
  h.pages['/posts.json'] = (response, request, socket) => {
    const { before } = query(request);
    const posts = before === undefined ? [discoursePost(12), discoursePost(11)] : [discoursePost(10, OLD)];
    json({ latest_posts: posts })(response, request, socket);
  };
  expect(await readOnce(h, 'discourse', { url: `${h.origin}/` })).toMatchObject({
    lastError: null,
    signalsMade: 2,
  });
  expect(h.asked().map(({ path }) => path)).toEqual(['/posts.json', '/posts.json?before=11']);
  expect((await wires(h)).map((wire) => wire.platform.post_url)).toContain(`${h.origin}/t/ask/3/2`);
  h.pages['/search.json'] = json({
    posts: [{ id: 20, username: 'e', created_at: AT, blurb: wanting('van'), topic_id: 4, post_number: 1 }],
    topics: [{ id: 4, title: 'Vans', slug: 'vans' }],
  });
  await h.add({
    id: 'src_2',
    kind: 'discourse',
    settings: settings({ url: `${h.origin}/`, query: 'van' }),
    nextPollAt: T0 + 1,
  });
  await h.pass(1);
  expect(await h.source('src_2')).toMatchObject({ lastError: null, signalsMade: 1 });
  expect(query(h.asked()[2] ?? { path: '' })).toMatchObject({ q: 'van after:2025-12-25 order:latest' });
});

test('GitHub: issues, and discussions with a token; an exhausted quota applies per token', async () => {
  const h = await createHarness();
  const issue = {
    html_url: 'https://github.com/a/b/issues/1',
    title: 'Ask',
    body: wanting('CRM'),
    created_at: AT,
    user: { login: 'dana' },
  };
  h.pages['/search/issues'] = json(
    { items: [issue] },
    { 'x-ratelimit-remaining': '29', 'x-ratelimit-limit': '30' },
  );
  const node = {
    url: 'https://github.com/a/b/discussions/2',
    title: 'D',
    bodyText: wanting('van'),
    createdAt: AT,
  };
  h.pages['/graphql'] = json({ data: { search: { nodes: [node, {}] } } });
  const source = await readOnce(h, 'github', { query: 'crm' }, { token: 'ghp_x' });
  expect(source).toMatchObject({
    lastError: null,
    signalsMade: 2,
    quota: { remaining: 29, limit: 30, at: T0 },
  });
  expect(h.asked()[0]?.headers).toMatchObject({ authorization: 'Bearer ghp_x' });
  expect(query(h.asked()[0] ?? { path: '' }).q).toBe('crm is:issue created:>=2025-12-25T00:00:00Z');
  const reset = String(T0 / 1_000 + 3_600);
  h.pages['/search/issues'] = status(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset });
  await h.pass(900_000);
  expect(await h.source('src_1')).toMatchObject({
    lastError: { code: 'rate_limited' },
    nextPollAt: T0 + 3_600_000,
  });
});

test("Reddit: the OAuth API with the tenant's own app, whose secret is never returned", async () => {
  const h = await createHarness();
  h.pages['/api/v1/access_token'] = json({ access_token: 'tok', token_type: 'bearer', expires_in: 86_400 });
  const post = {
    name: 't3_1',
    title: 'Ask',
    selftext: wanting('CRM'),
    author: 'dana',
    created_utc: T0 / 1_000 - 60,
    permalink: '/r/hvac/comments/1/',
  };
  h.pages['/r/hvac/new'] = json(
    {
      data: {
        after: null,
        children: [
          { kind: 't3', data: post },
          { kind: 'more', data: {} },
        ],
      },
    },
    { 'x-ratelimit-remaining': '99.0', 'x-ratelimit-used': '1', 'x-ratelimit-reset': '60' },
  );
  const source = await readOnce(
    h,
    'reddit',
    { subreddit: 'hvac', client_id: 'app' },
    { client_secret: 'hush' },
  );
  expect(source).toMatchObject({ lastError: null, signalsMade: 1, quota: { remaining: 99, limit: 100 } });
  const [login, listing] = h.asked() as {
    headers: Record<string, unknown>;
    method?: string;
    body?: string;
  }[];
  expect(login).toMatchObject({ method: 'POST', body: 'grant_type=client_credentials' });
  expect(login?.headers.authorization).toBe(`Basic ${Buffer.from('app:hush').toString('base64')}`);
  expect(listing?.headers.authorization).toBe('Bearer tok');
  h.pages['/api/v1/access_token'] = status(401);
  await h.pass(900_000);
  expect((await h.source('src_1')).lastError).toMatchObject({ code: 'unauthorized' });
});

test('SEC Form D: who raised how much, and who runs it', async () => {
  const h = await createHarness();
  const entry = (
    n: number,
    form: string,
  ) => `<entry><title>${form} - Acme ${n}, Inc. (000${n}) (Filer)</title>
    <link rel="alternate" type="text/html" href="https://www.sec.gov/Archives/edgar/data/${n}/00${n}/00${n}-index.htm"/>
    <updated>2025-12-31T10:00:00-05:00</updated><id>urn:tag:sec.gov,2008:accession-number=${n}</id></entry>`;
  h.pages['/cgi-bin/browse-edgar'] = status(
    200,
    { 'content-type': 'application/atom+xml' },
    `<?xml version="1.0" encoding="ISO-8859-1" ?><feed xmlns="http://www.w3.org/2005/Atom">${entry(1, 'D')}${entry(2, 'DEF 14A')}</feed>`,
  );
  h.pages['/Archives/edgar/data/1/001/primary_doc.xml'] = status(
    200,
    {},
    `<?xml version="1.0"?><edgarSubmission><submissionType>D</submissionType><primaryIssuer><entityName>Acme &amp; Sons, Inc.</entityName>
     <issuerAddress><city>AUSTIN</city><stateOrCountryDescription>TEXAS</stateOrCountryDescription></issuerAddress></primaryIssuer>
     <relatedPersonsList><relatedPersonInfo><relatedPersonName><firstName>Dana</firstName><lastName>Doe</lastName></relatedPersonName>
     <relatedPersonRelationshipList><relationship>Executive Officer</relationship><relationship>Director</relationship></relatedPersonRelationshipList></relatedPersonInfo></relatedPersonsList>
     <offeringData><industryGroup><industryGroupType>Construction</industryGroupType></industryGroup>
     <offeringSalesAmounts><totalOfferingAmount>5000000</totalOfferingAmount><totalAmountSold>3000000</totalAmountSold></offeringSalesAmounts></offeringData></edgarSubmission>`,
  );
  const web = createWeb({
    clock: h.clock,
    documents: DOCUMENTS,
    baseUrl: 'https://signals.example.com',
    contact: 'bots@example.com',
    allowTargets: createAddressSet([parseCidr('127.0.0.0/8')].filter((cidr) => cidr !== null)),
  });
  const read = (isNew: boolean, words: string | null) =>
    readFormD({
      source: aSource({ kind: 'sec_form_d', settings: settings({ query: words }) }),
      position: START_POSITION,
      now: T0,
      oldest: T0 - 7 * 86_400_000,
      web: { read: web.read, hold: web.hold, listen: async () => {} },
      sites: sitesWith({ sec_form_d: h.origin }),
      parse,
      secrets: {},
      isNew: () => isNew,
      isOver: () => false,
    });
  expect((await read(true, 'construction')).items).toEqual([
    expect.objectContaining({
      title: 'Acme & Sons, Inc. raised $3,000,000 of $5,000,000 in a private offering (SEC Form D)',
      body: expect.stringContaining('Officers and directors: Dana Doe (Executive Officer, Director)'),
      author: 'Dana Doe',
      company: { name: 'Acme & Sons, Inc.', industry: 'Construction', location: 'AUSTIN, TEXAS' },
      signalType: 'funding_event',
      postedAt: Date.UTC(2025, 11, 31, 15),
    }),
  ]);
  expect(h.asked().map(({ path }) => path.split('?')[0])).toEqual([
    '/cgi-bin/browse-edgar',
    '/Archives/edgar/data/1/001/primary_doc.xml',
  ]);
  expect(h.asked()[0]?.headers['user-agent']).toBe(
    'Signalpost/1.0 (+https://signals.example.com; bots@example.com)',
  );
  expect((await read(false, null)).items).toHaveLength(1);
  expect(h.asked()).toHaveLength(3); // known items are not requested again
  expect((await read(true, 'robots')).items).toEqual([expect.objectContaining({ title: '', body: '' })]);
});

test('SEC Form D: notices that take long to compare with a query are compared in turns', async () => {
  const text = `a${'\u0301'.repeat(29)}`.repeat(600);
  const filings = Array.from({ length: 60 }, (_, n) => ({
    ...{ id: `${n}`, url: `https://www.sec.gov/${n}/x`, postedAt: T0, platform: 'sec_form_d' },
    ...{ title: `D - ${n}`, body: '', author: '' },
  }));
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  const page = { status: 200, headers: {}, url: '', body: Buffer.alloc(0) };
  const { items } = await readFormD({
    source: aSource({ kind: 'sec_form_d', settings: settings({ query: 'construction' }) }),
    ...{ position: START_POSITION, now: T0, oldest: 0, sites: sitesWith({}), secrets: {} },
    web: { read: async () => page, hold: async () => {}, listen: async () => {} },
    parse: (async ({ name }, _, args) => {
      if (name === 'feed') return { items: filings };
      const { filing } = args as { filing: (typeof filings)[number] };
      if (filing === filings[0]) turn(); // the last one, because the oldest goes first
      return { ...filing, title: text, body: text };
    }) as typeof parse,
    isNew: () => true,
    isOver: () => false,
  });
  isOver = true;
  expect(items).toHaveLength(60);
  expect(turns).toBeGreaterThan(3);
});

test('SmartRecruiters: after a short page, the next offset counts the jobs received', async () => {
  const h = await createHarness();
  const all = Array.from({ length: 100 }, (_, i) => ({ id: `${i}`, name: `Job ${i}`, releasedDate: OLD }));
  h.pages['/v1/companies/acme/postings'] = (response, request) => {
    const from = Number(query(request).offset);
    const body = JSON.stringify({ totalFound: all.length, content: all.slice(from, from + 40) });
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  };
  const source = await readOnce(h, 'smartrecruiters', { board: 'acme' });
  expect(source.lastError).toBeNull();
  expect(h.asked().map((request) => query(request).offset)).toEqual(['0', '40', '80']);
});

test('Mastodon: an ID that is too long to store or send is rejected', async () => {
  const h = await createHarness();
  h.pages['*'] = json([{ id: '1'.repeat(301), content: wanting('CRM') }]);
  const source = await readOnce(h, 'mastodon', { url: `${h.origin}/`, tag: 'crm' });
  expect(source.lastError).toMatchObject({ code: 'invalid_answer' });
  expect(source.lastError?.message).toMatch(/at 0\.id\)\.$/);
});
