import { z } from 'zod';
import { withoutTrailingSlashes } from '../../lib/text.ts';
import { boundedItems, jsonParser, listOf } from '../documents/parser.ts';
import { htmlToText } from '../html-text.ts';
import { demandSuccess, holdsEnough, type Reader } from '../reader.ts';
import { readTime, type SourceItem } from '../source-item.ts';

const MASTODON_PAGE = 40;
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

/**
 * Reads public posts with a tag, as an instance sees them
 * (https://docs.joinmastodon.org/methods/timelines/#tag).
 */
export const readMastodon: Reader = async ({ source, position, web, parse, oldest }) => {
  const { url, tag } = source.settings;
  const base = withoutTrailingSlashes(url ?? '');
  let items: SourceItem[] = [];
  let newest = position.cursor ?? null;
  let below: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const address = new URL(`${base}/api/v1/timelines/tag/${encodeURIComponent(tag ?? '')}`);
    address.search = new URLSearchParams({
      limit: String(MASTODON_PAGE),
      ...(position.cursor ? { since_id: position.cursor } : {}),
      ...(below === null ? {} : { max_id: below }),
    }).toString();
    const answer = demandSuccess(await web.read(address.href, { accept: 'application/json' }));
    const shown = await parse(mastodonStatuses, answer, null);
    items = items.concat(shown.items);
    if (page === 0) newest = shown.newest ?? newest;
    below = shown.oldest;
    const continues = shown.items.every(({ postedAt }) => (postedAt ?? oldest) >= oldest);
    if (shown.count < MASTODON_PAGE || below === null || !continues || holdsEnough(items)) break;
  }
  return { items, position: { cursor: newest } };
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
export const readLemmy: Reader = async ({ source, web, parse, oldest, isNew }) => {
  const { url, query } = source.settings;
  const base = withoutTrailingSlashes(url ?? '');
  let items: SourceItem[] = [];
  for (let page = 1; page <= MAX_PAGES; page++) {
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
    const posts = await parse(lemmyPosts, answer, { base });
    items = items.concat(posts);
    const continues = posts.every(({ id, postedAt }) => isNew(id) && (postedAt ?? oldest) >= oldest);
    if (posts.length < LEMMY_PAGE || !continues || holdsEnough(items)) break;
  }
  return { items, position: {} };
};
