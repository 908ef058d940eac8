import { z } from 'zod';
import { HOUR_MS } from '../../lib/clock.ts';
import { largestOf } from '../../lib/lists.ts';
import { boundedItems, jsonParser, listOf } from '../documents/parser.ts';
import { htmlToText } from '../html-text.ts';
import {
  createWordTest,
  demandSuccess,
  holdsEnough,
  isOfPart,
  type Reader,
  type ReadingTask,
} from '../reader.ts';
import { readTime, type SourceFault, type SourceItem, urlPart } from '../source-item.ts';

/**
 * The search returns at most 1,000 results, 100 per page; beyond that, the query is repeated for older ones.
 */
const PAGES_A_WINDOW = 10;
const MAX_PAGES = 20;
/** Items are indexed out of order; those read before are recognised by ID. */
const OVERLAP_MS = HOUR_MS;

const hitSchema = z.object({
  objectID: z.string(),
  created_at: z.string(),
  author: z.string().nullish(),
  title: z.string().nullish(),
  story_text: z.string().nullish(),
  story_title: z.string().nullish(),
  comment_text: z.string().nullish(),
});
const answerSchema = z.object({ hits: listOf(hitSchema), nbPages: z.int().min(0).default(0) });

/** A page of stories and comments, and the number of pages. */
export const hackerNewsHits = jsonParser('hackernews_hits', answerSchema, ({ hits, nbPages }) => ({
  items: boundedItems(hits.map(toItem)),
  nbPages,
}));

/**
 * The rest that a run did not reach, between `since` and `before`. When it is done, reading continues from
 * `newestAt`.
 */
const cursorSchema = z.object({ since: z.number(), before: z.number(), newestAt: z.number() });
type CrawlWindow = z.infer<typeof cursorSchema>;

/**
 * Reads stories and comments on Hacker News that contain all words of a query, newest first
 * (https://hn.algolia.com/api).
 */
export const readHackerNews: Reader = async (task) => {
  const { position, now, oldest } = task;
  const left = leftOver(position.cursor);
  const since = left?.since ?? (position.newestAt === null ? oldest : position.newestAt - OVERLAP_MS);
  let items: SourceItem[] = [];
  let before: number | null = left?.before ?? null;
  let pages = 0;
  for (let page = 0; pages < MAX_PAGES && !holdsEnough(items); page++, pages++) {
    const { items: hits, nbPages } = await readPage(task, { since, before, page });
    items = items.concat(hits);
    const hasNext = page + 1 < Math.min(nbPages, PAGES_A_WINDOW);
    if (hasNext && !holdsEnough(items)) continue;
    if (!hasNext && nbPages < PAGES_A_WINDOW) return done(task, since, items, left);
    const last = hits.at(-1)?.postedAt ?? null;
    // More than a thousand items have the same second: the rest cannot be requested.
    if (last === null || last === before) return done(task, since, items, left);
    before = last;
    page = -1;
  }
  const rest: CrawlWindow = {
    since,
    before: items.at(-1)?.postedAt ?? now,
    newestAt: newest(task, since, items, left),
  };
  return { items, position: { newestAt: position.newestAt, cursor: JSON.stringify(rest) }, more: true };
};

async function readPage(
  { source, web, parse, sites }: ReadingTask,
  { since, before, page }: { since: number; before: number | null; page: number },
) {
  const address = new URL(`${sites.hackernews}/api/v1/search_by_date`);
  const until = before === null ? '' : `,created_at_i<=${Math.floor(before / 1_000)}`;
  address.search = new URLSearchParams({
    query: source.settings.query ?? '',
    tags: '(story,comment)',
    numericFilters: `created_at_i>${Math.floor(since / 1_000)}${until}`,
    hitsPerPage: '100',
    page: String(page),
  }).toString();
  const answer = demandSuccess(await web.read(address.href, { accept: 'application/json' }));
  return parse(hackerNewsHits, answer, null);
}

function done(task: ReadingTask, since: number, items: SourceItem[], left: CrawlWindow | null) {
  return { items, position: { newestAt: newest(task, since, items, left) } };
}

/** A wrong time in the future would hide everything until then. */
function newest(
  { position, now }: ReadingTask,
  since: number,
  items: SourceItem[],
  left: CrawlWindow | null,
): number {
  const times = items.map(({ postedAt }) => postedAt ?? 0);
  return Math.min(now, largestOf(times, left?.newestAt ?? position.newestAt ?? since));
}

function leftOver(cursor: string | null | undefined): CrawlWindow | null {
  return cursor ? (cursorSchema.safeParse(JSON.parse(cursor)).data ?? null) : null;
}

function toItem(hit: z.infer<typeof hitSchema>): SourceItem {
  const isComment = typeof hit.comment_text === 'string' && hit.comment_text !== '';
  return {
    id: hit.objectID,
    platform: 'hackernews',
    url: `https://news.ycombinator.com/item?id=${urlPart(hit.objectID)}`,
    postedAt: readTime(hit.created_at),
    title: isComment ? '' : htmlToText(hit.title ?? hit.story_title ?? ''),
    body: htmlToText((isComment ? hit.comment_text : hit.story_text) ?? ''),
    author: hit.author ?? '',
  };
}

/** Posts are added for some days; last month's thread may still get one. */
const THREADS = 2;
/** Twice as many as the busiest thread so far. */
const MOST_POSTS = 2_000;

const threadsSchema = z.object({
  hits: listOf(
    z.object({ objectID: z.string(), title: z.string().nullish(), created_at: z.string().nullish() }),
  ),
});
const commentSchema = z.object({
  id: z.union([z.int(), z.string()]).transform(String),
  author: z.string().nullish(),
  text: z.string().nullish(),
  created_at: z.string().nullish(),
});
const threadSchema = z.object({ children: listOf(commentSchema, MOST_POSTS).optional() });

/** The IDs of the newest "Who is hiring?" threads. */
export const hiringThreads = jsonParser('hiring_threads', threadsSchema, ({ hits }) =>
  hits
    .filter(({ title }) => /who is hiring/i.test((title ?? '').slice(0, 300)))
    .slice(0, THREADS)
    .map(({ objectID }) => objectID.slice(0, 100)),
);

/** The posts of a thread that contain the words of `query`. */
export const hiringPosts = jsonParser(
  'hiring_posts',
  threadSchema,
  ({ children = [] }, { query }: { query: string | null }) => {
    const holds = createWordTest(query);
    return boundedItems(children.map(toHiringItem), MOST_POSTS).filter(
      ({ body }) => body !== '' && holds(body),
    );
  },
);

/**
 * Reads posts of "Ask HN: Who is hiring?" of this month and the last, each with its company
 * (https://hn.algolia.com/api).
 */
export const readHiring: Reader = async (task) => {
  const { web, parse, sites, oldest } = task;
  const address = new URL(`${sites.hackernews_hiring}/api/v1/search_by_date`);
  address.search = new URLSearchParams({ tags: 'story,author_whoishiring', hitsPerPage: '20' }).toString();
  const answer = demandSuccess(await web.read(address.href, { accept: 'application/json' }));
  let items: SourceItem[] = [];
  let fault: SourceFault | null = null;
  for (const id of await parse(hiringThreads, answer, null)) {
    try {
      const posts = await postsIn(task, id);
      items = items.concat(posts.filter(({ postedAt }) => (postedAt ?? oldest) >= oldest));
    } catch (error) {
      if (!isOfPart(error, task)) throw error;
      fault = error;
    }
  }
  return { items, position: {}, fault };
};

async function postsIn({ source, web, parse, sites }: ReadingTask, id: string): Promise<SourceItem[]> {
  const thread = `${sites.hackernews_hiring}/api/v1/items/${encodeURIComponent(id)}`;
  const page = demandSuccess(await web.read(thread, { accept: 'application/json' }));
  return parse(hiringPosts, page, { query: source.settings.query });
}

/** By convention, the first line is "Company | Role | Place | …". */
function toHiringItem(comment: z.infer<typeof commentSchema>): SourceItem {
  const body = htmlToText(comment.text ?? '');
  const [name = '', ...facts] = (body.split('\n')[0] ?? '').split('|').map((part) => part.trim());
  const named = facts.length > 0 && name.length > 0 && name.length <= 100;
  return {
    id: comment.id,
    platform: 'hackernews',
    url: `https://news.ycombinator.com/item?id=${urlPart(comment.id)}`,
    postedAt: readTime(comment.created_at),
    title: '',
    body,
    author: comment.author ?? '',
    department: '',
    ...(named && { company: { name: name.replace(/\s*\((?:https?:|YC\b)[^)]*\)\s*$/i, '') } }),
  };
}
