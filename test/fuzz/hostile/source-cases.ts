import type { SourceKind } from '../../../src/model/source.ts';
import type { HostileCase } from './case.ts';
import { brokenIfOurs } from './feed-cases.ts';
import { JSON_SHAPES, SHAPES } from './texts.ts';

const ANSWER_BYTES = 4_900_000;

type Json = Record<string, unknown> | string | number | null | Json[];

/** A kind of source that reads JSON: its response around a list, and an item with `text` in every string. */
interface Kind {
  settings: object;
  wrap(list: string): string;
  item(n: number, text: string): Json;
  /** Selects this response among those that a run requests; omitted: any. */
  answers?(path: string): boolean;
  /** Responses that a run needs before this one. */
  before?(path: string): string | null;
}

const bare = (list: string) => list;
const under = (name: string) => (list: string) => `{"${name}":${list}}`;
const NOW = new Date().toISOString();
const BOARD = { board: 'acme' };

const KINDS: Partial<Record<SourceKind, Kind>> = {
  discourse: {
    settings: {},
    wrap: under('latest_posts'),
    item: (id, text) => ({
      id,
      username: text,
      created_at: NOW,
      cooked: text,
      topic_id: id,
      topic_title: text,
    }),
  },
  lemmy: {
    settings: {},
    wrap: under('posts'),
    item: (id, text) => ({ post: { id, name: text, body: text, published: NOW }, creator: { name: text } }),
  },
  mastodon: {
    settings: { tag: 'crm' },
    wrap: bare,
    item: (id, text) => ({ id: String(id), created_at: NOW, content: text, account: { display_name: text } }),
  },
  lobsters: {
    settings: {},
    wrap: bare,
    item: (id, text) => ({
      short_id: String(id),
      created_at: NOW,
      title: text,
      description: text,
      submitter_user: text,
    }),
  },
  hackernews: {
    settings: { query: 'crm' },
    wrap: (list) => `{"nbPages":1,"hits":${list}}`,
    item: (id, text) => ({
      objectID: String(id),
      created_at: NOW,
      author: text,
      title: text,
      story_text: text,
    }),
  },
  hackernews_hiring: {
    settings: { query: 'crm' },
    wrap: under('children'),
    item: (id, text) => ({ id, author: text, text: `crm ${text}`, created_at: NOW }),
    answers: (path) => path.includes('/items/'),
    before: () => '{"hits":[{"objectID":"1","title":"Ask HN: Who is hiring?"}]}',
  },
  stackexchange: {
    settings: { site: 'stackoverflow', tagged: ['crm'] },
    wrap: under('items'),
    item: (question_id, text) => ({
      ...{ question_id, link: 'https://a.example/', title: text, body: text },
      ...{ creation_date: Math.floor(Date.now() / 1_000), owner: { display_name: text } },
    }),
  },
  github: {
    settings: { query: 'crm' },
    wrap: under('items'),
    item: (id, text) => ({
      node_id: String(id),
      html_url: `https://a.example/${id}`,
      title: text,
      body: text,
      created_at: NOW,
      user: { login: text },
    }),
  },
  reddit: {
    settings: { subreddit: 'hvac', client_id: 'a', client_secret: 'b' },
    wrap: (list) => `{"data":{"children":${list}}}`,
    item: (id, text) => ({
      kind: 't3',
      data: {
        name: `t3_${id}`,
        title: text,
        selftext: text,
        author: text,
        created_utc: Date.now() / 1_000,
        permalink: `/r/${id}`,
      },
    }),
    answers: (path) => !path.includes('access_token'),
    before: () => '{"access_token":"a"}',
  },
  greenhouse: {
    settings: BOARD,
    wrap: under('jobs'),
    item: (id, text) => ({
      id,
      absolute_url: 'https://a.example/',
      title: text,
      content: text,
      first_published: NOW,
      location: { name: text },
      departments: [{ name: text }],
    }),
  },
  lever: {
    settings: BOARD,
    wrap: bare,
    item: (id, text) => ({
      id: String(id),
      text,
      hostedUrl: 'https://a.example/',
      createdAt: Date.now(),
      description: text,
      lists: [{ text, content: text }],
    }),
  },
  ashby: {
    settings: BOARD,
    wrap: under('jobs'),
    item: (id, text) => ({
      title: text,
      jobUrl: `https://a.example/${id}`,
      publishedAt: NOW,
      descriptionHtml: text,
      department: text,
    }),
  },
  smartrecruiters: {
    settings: BOARD,
    wrap: (list) => `{"totalFound":1,"content":${list}}`,
    item: (id, text) => ({
      id: String(id),
      name: text,
      releasedDate: NOW,
      company: { name: text },
      department: { label: text },
    }),
    answers: (path) => path.includes('offset='),
    before: () => '{}',
  },
  recruitee: {
    settings: BOARD,
    wrap: under('offers'),
    item: (id, text) => ({
      id,
      title: text,
      description: text,
      requirements: text,
      department: text,
      published_at: NOW,
    }),
  },
  workable: {
    settings: BOARD,
    wrap: under('jobs'),
    item: (id, text) => ({
      shortcode: String(id),
      title: text,
      department: text,
      description: text,
      published_on: NOW,
      city: text,
    }),
  },
};

/** Responses of every API that is read, in its documented form and in any other. */
export function sourceCases(): HostileCase[] {
  const cases = Object.entries(KINDS).flatMap(([name, kind]) => {
    const of = (what: string, answer: () => string) => jsonCase(name as SourceKind, kind, what, answer);
    return [
      ...SHAPES.map((shape) =>
        of(`one item, all of ${shape.name}`, () => {
          const texts = JSON.stringify(kind.item(1, 'x')).split('"x"').length + 1;
          const each = ANSWER_BYTES / texts / Math.max(1, JSON.stringify(shape.of(300)).length / 300) / 3;
          return kind.wrap(JSON.stringify([kind.item(1, shape.of(Math.floor(each)))]));
        }),
      ),
      of('very many items', () => kind.wrap(manyItems((n) => JSON.stringify(kind.item(n, 'a'))))),
      of('very many items of a CRM', () =>
        kind.wrap(manyItems((n) => JSON.stringify(kind.item(n, `Looking for a CRM ${n}, budget approved`)))),
      ),
      of('the same item very many times', () =>
        kind.wrap(manyItems(() => JSON.stringify(kind.item(1, 'a')))),
      ),
      ...JSON_SHAPES.flatMap(({ name: form, of: text }) => [
        of(`an answer of ${form}`, () => text(ANSWER_BYTES)),
        of(`a list of ${form}`, () => kind.wrap(text(ANSWER_BYTES - 100))),
        of(`an item of ${form}`, () => kind.wrap(`[${text(ANSWER_BYTES - 100)}]`)),
        of(`a text of ${form}`, () =>
          kind.wrap(
            `[${JSON.stringify(kind.item(1, '\u0001'))
              .replace('"\\u0001"', () => text(ANSWER_BYTES - 600))
              .replaceAll('\\u0001', 'a')}]`,
          ),
        ),
      ]),
    ];
  });
  return [...cases, ...streamCases(), ...filingCases()];
}

function manyItems(item: (n: number) => string): string {
  const items: string[] = [];
  for (let n = 0, length = 0; length < ANSWER_BYTES - 1_000; n++) {
    const one = item(n);
    items.push(one);
    length += one.length + 1;
  }
  return `[${items.join(',')}]`;
}

function jsonCase(
  kind: SourceKind,
  { settings, answers, before }: Kind,
  what: string,
  answer: () => string,
): HostileCase {
  return {
    name: `source: ${kind}, ${what}`,
    size: ANSWER_BYTES,
    async run({ host, read }) {
      const body = answer().slice(0, ANSWER_BYTES + 90_000);
      host.answer = (path) => {
        if (path === '/robots.txt') return null;
        return answers === undefined || answers(path) ? body : (before?.(path) ?? null);
      };
      const own = ['discourse', 'lemmy', 'mastodon'].includes(kind) ? { url: `${host.origin}/${kind}` } : {};
      return brokenIfOurs(await read(kind, { ...settings, ...own }));
    },
  };
}

/** A stream of posts, some of which contain the words of the query. */
function streamCases(): HostileCase[] {
  const event = (n: number, text: string) =>
    JSON.stringify({
      did: `did:plc:${n}`,
      time_us: Date.now() * 1_000 - 1_000_000 + n,
      commit: {
        operation: 'create',
        collection: 'app.bsky.feed.post',
        rkey: String(n),
        record: { text, createdAt: NOW },
      },
    });
  const streams: Record<string, () => string[]> = {
    'very many posts that match': () => Array.from({ length: 30_000 }, (_, n) => event(n, `crm ${n}`)),
    'very many posts that do not': () => Array.from({ length: 60_000 }, (_, n) => event(n, 'a')),
    'very many messages of nothing': () => Array.from({ length: 300_000 }, () => '{}'),
  };
  for (const shape of SHAPES)
    streams[`posts of ${shape.name}`] = () =>
      Array.from({ length: 5 }, (_, n) => event(n, `crm ${shape.of(300_000)}`));
  for (const { name, of } of JSON_SHAPES)
    streams[`messages of ${name}`] = () => Array.from({ length: 10 }, () => of(1_000_000));
  return Object.entries(streams).map(([name, messages]) => ({
    name: `source: bluesky, ${name}`,
    size: ANSWER_BYTES,
    async run({ host, read }) {
      host.messages = messages();
      return brokenIfOurs(await read('bluesky', { query: 'crm' }));
    },
  }));
}

/** Notices of offerings: a feed, and a document for each of its entries. */
function filingCases(): HostileCase[] {
  const feed = `<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>D - Acme</title><id>1</id><updated>${NOW}</updated><link href="/sec/1/index.htm"/></entry></feed>`;
  const elements = ['entityName', 'relatedPersonInfo', 'totalAmountSold', 'industryGroupType'];
  return SHAPES.flatMap(
    (shape) =>
      elements.map((element) => ({
        name: `source: sec_form_d, ${element} of ${shape.name}`,
        size: ANSWER_BYTES,
        async run({ host, read }) {
          const body = `<x><${element}>${shape.of(1_500_000)}</${element}>${`<${element}>`.repeat(100_000)}</x>`;
          host.answer = (path) =>
            path.includes('browse-edgar') ? feed : path.includes('primary_doc') ? body : null;
          return brokenIfOurs(await read('sec_form_d', { query: 'acme' }));
        },
      })) satisfies HostileCase[],
  );
}
