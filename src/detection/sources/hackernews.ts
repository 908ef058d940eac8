import { z } from 'zod';
import { largestOf } from '../../lib/lists.ts';
import { boundedItems } from '../documents/bounds.ts';
import { jsonParser, listOf } from '../documents/json.ts';
import { htmlToText } from '../html-text.ts';
import { demandSuccess, type Reader, type ReadingTask } from '../reader.ts';
import type { SourceItem } from '../source-item.ts';
import { readTime } from '../source-time.ts';

/** The search shows 1,000 results of a question at most, 100 a page; beyond them it is asked for what is older. */
const PAGES_A_WINDOW = 10;
const MAX_PAGES = 20;
/** Items come into the index out of order; what was read before is known again by its id. */
const OVERLAP_MS = 3_600_000;

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

/** A page of stories and comments, and how many pages there are. */
export const hackerNewsHits = jsonParser('hackernews_hits', answerSchema, ({ hits, nbPages }) => ({
  items: boundedItems(hits.map(toItem)),
  nbPages,
}));

/** A look back that one run did not get through: between these times there is more, and then it goes on from `newestAt`. */
const cursorSchema = z.object({ since: z.number(), before: z.number(), newestAt: z.number() });
type Window = z.infer<typeof cursorSchema>;

/** Stories and comments of Hacker News that hold all words of a query (https://hn.algolia.com/api), newest first. */
export const readHackerNews: Reader = async (task) => {
  const { position, now, oldest } = task;
  const left = leftOver(position.cursor);
  const since = left?.since ?? (position.newestAt === null ? oldest : position.newestAt - OVERLAP_MS);
  let items: SourceItem[] = [];
  let before: number | null = left?.before ?? null;
  let pages = 0;
  for (let page = 0; pages < MAX_PAGES; page++, pages++) {
    const { items: hits, nbPages } = await readPage(task, { since, before, page });
    items = items.concat(hits);
    if (page + 1 < Math.min(nbPages, PAGES_A_WINDOW)) continue;
    if (nbPages < PAGES_A_WINDOW) return done(task, since, items, left);
    const last = hits.at(-1)?.postedAt ?? null;
    // A thousand of one second: what is beyond them cannot be asked for.
    if (last === null || last === before) return done(task, since, items, left);
    before = last;
    page = -1;
  }
  const rest: Window = {
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

function done(task: ReadingTask, since: number, items: SourceItem[], left: Window | null) {
  return { items, position: { newestAt: newest(task, since, items, left) } };
}

/** A time in the future, by whatever mistake, would hide everything until then. */
function newest(
  { position, now }: ReadingTask,
  since: number,
  items: SourceItem[],
  left: Window | null,
): number {
  const times = items.map(({ postedAt }) => postedAt ?? 0);
  return Math.min(now, largestOf(times, left?.newestAt ?? position.newestAt ?? since));
}

function leftOver(cursor: string | null | undefined): Window | null {
  return cursor ? (cursorSchema.safeParse(JSON.parse(cursor)).data ?? null) : null;
}

function toItem(hit: z.infer<typeof hitSchema>): SourceItem {
  const isComment = typeof hit.comment_text === 'string' && hit.comment_text !== '';
  return {
    id: hit.objectID,
    platform: 'hackernews',
    url: `https://news.ycombinator.com/item?id=${encodeURIComponent(hit.objectID)}`,
    postedAt: readTime(hit.created_at),
    title: isComment ? '' : htmlToText(hit.title ?? hit.story_title ?? ''),
    body: htmlToText((isComment ? hit.comment_text : hit.story_text) ?? ''),
    author: hit.author ?? '',
  };
}
