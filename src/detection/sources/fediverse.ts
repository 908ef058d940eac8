import { z } from 'zod';
import { withoutTrailingSlashes } from '../../lib/text.ts';
import { boundedItems, jsonParser, listOf } from '../documents/parser.ts';
import { htmlToText } from '../html-text.ts';
import { isRestLost, readNewestFirst } from '../newest-first.ts';
import { demandSuccess, holdsEnough, type Reader, type ReadingTask } from '../reader.ts';
import { readTime, type SourceItem } from '../source-item.ts';

const MASTODON_PAGE = 40;
/** Instances may return fewer statuses per page than requested: some at most 20, others leave hidden ones out. */
const SMALLEST_PAGE = 15;
const MAX_PAGES = 10;

const statusSchema = z.object({
  // Limited, because it becomes part of URLs and is stored between runs.
  id: z.string().max(300),
  created_at: z.string().nullish(),
  url: z.string().nullish(),
  uri: z.string().nullish(),
  content: z.string().nullish(),
  spoiler_text: z.string().nullish(),
  account: z.object({ display_name: z.string().nullish(), acct: z.string().nullish() }).nullish(),
});

/** A page of statuses, with the IDs of its newest and oldest. */
export const mastodonStatuses = jsonParser('mastodon_statuses', listOf(statusSchema), (statuses) => ({
  items: boundedItems(statuses.map(toItem)),
  newest: statuses[0]?.id ?? null,
  oldest: statuses.at(-1)?.id ?? null,
  count: statuses.length,
}));

/** What a run left unread: statuses after `since`, below `below`. When it is done, reading continues after `newest`. */
const restSchema = z.object({ since: z.string(), below: z.string(), newest: z.string() });

/** Where reading starts: at the rest of the previous run, or after the newest status that was read. */
function startOf({ source, position: { cursor } }: ReadingTask) {
  const rest = restOf(cursor);
  if (rest !== null && !isRestLost(source)) return rest;
  const newest = rest?.newest ?? cursor;
  return { since: newest, below: null, newest };
}

/** Null if the cursor is the ID of a status, which an instance may choose as it likes. */
function restOf(cursor: string | null): z.infer<typeof restSchema> | null {
  try {
    return restSchema.safeParse(JSON.parse(cursor ?? '')).data ?? null;
  } catch {
    return null;
  }
}

/**
 * Reads public posts with a tag, as an instance sees them
 * (https://docs.joinmastodon.org/methods/timelines/#tag).
 */
export const readMastodon: Reader = async (task) => {
  const { source, web, parse, oldest } = task;
  const { url, tag } = source.settings;
  const base = withoutTrailingSlashes(url ?? '');
  const start = startOf(task);
  let { newest } = start;
  let below: string | null = start.below;
  let items: SourceItem[] = [];
  let pages = 0;
  do {
    const address = new URL(`${base}/api/v1/timelines/tag/${encodeURIComponent(tag ?? '')}`);
    address.search = new URLSearchParams({
      limit: String(MASTODON_PAGE),
      ...(start.since ? { since_id: start.since } : {}),
      ...(below === null ? {} : { max_id: below }),
    }).toString();
    const answer = demandSuccess(await web.read(address.href, { accept: 'application/json' }));
    const shown = await parse(mastodonStatuses, answer, null);
    items = items.concat(shown.items);
    if (below === null) newest = shown.newest ?? newest;
    const isLast = shown.count < SMALLEST_PAGE || shown.oldest === below;
    const isOld = shown.items.some(({ postedAt }) => (postedAt ?? oldest) < oldest);
    below = isLast || isOld ? null : shown.oldest;
    pages++;
  } while (below !== null && pages < MAX_PAGES && !holdsEnough(items));
  // Of a timeline that was never read before, no more than these pages.
  const since = start.since ?? (pages < MAX_PAGES ? '0' : null);
  const isDone = !items.some(({ id }) => task.isNew(id));
  if (below === null || newest === null || since === null || isDone)
    return { items, position: { cursor: newest } };
  return { items, position: { cursor: JSON.stringify({ since, below, newest }) }, more: true };
};

function toItem(status: z.infer<typeof statusSchema>): SourceItem {
  const { account } = status;
  return {
    id: status.uri || status.url || status.id,
    platform: 'mastodon',
    url: status.url || status.uri || '',
    postedAt: readTime(status.created_at),
    title: status.spoiler_text ?? '',
    body: htmlToText(status.content ?? ''),
    author: account?.display_name || account?.acct || '',
  };
}

const LEMMY_PAGE = 50;

const answerSchema = z.object({
  posts: listOf(
    z.object({
      post: z.object({
        id: z.int(),
        name: z.string(),
        body: z.string().nullish(),
        ap_id: z.string().nullish(),
        published: z.string().nullish(),
      }),
      creator: z.object({ name: z.string().nullish(), display_name: z.string().nullish() }).nullish(),
    }),
  ),
});

/** A page of posts of the instance at `base`. */
export const lemmyPosts = jsonParser('lemmy_posts', answerSchema, ({ posts }, { base }: { base: string }) =>
  boundedItems(
    posts.map(({ post, creator }) => ({
      id: post.ap_id || String(post.id),
      platform: 'lemmy',
      url: post.ap_id || `${base}/post/${post.id}`,
      postedAt: readTime(post.published),
      title: post.name,
      body: post.body ?? '',
      author: creator?.display_name || creator?.name || '',
    })),
  ),
);

/** Reads the newest posts of a Lemmy instance, or those that contain the words of a query. */
export const readLemmy: Reader = async (task) => {
  const { source, web, parse } = task;
  const { url, query } = source.settings;
  const base = withoutTrailingSlashes(url ?? '');
  return readNewestFirst(task, MAX_PAGES, async (at) => {
    const page = Number(at ?? 1);
    const address = new URL(`${base}/api/v3/${query === null ? 'post/list' : 'search'}`);
    address.search = new URLSearchParams({
      ...(query === null ? {} : { q: query }),
      type_: query === null ? 'All' : 'Posts',
      ...(query === null ? {} : { listing_type: 'All' }),
      sort: 'New',
      limit: String(LEMMY_PAGE),
      page: String(page),
    }).toString();
    const answer = demandSuccess(await web.read(address.href, { accept: 'application/json' }));
    const items = await parse(lemmyPosts, answer, { base });
    return { items, next: items.length < LEMMY_PAGE ? null : String(page + 1) };
  });
};
