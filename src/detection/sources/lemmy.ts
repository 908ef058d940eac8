import { z } from 'zod';
import { withoutTrailingSlashes } from '../../lib/text.ts';
import { boundedItems } from '../documents/bounds.ts';
import { jsonParser, listOf } from '../documents/json.ts';
import { demandSuccess, type Reader } from '../reader.ts';
import type { SourceItem } from '../source-item.ts';
import { readTime } from '../source-time.ts';

const PAGE = 50;
const MAX_PAGES = 10;

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

/** The newest posts of a Lemmy instance, or those that hold the words of a query. */
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
      limit: String(PAGE),
      page: String(page),
    }).toString();
    const answer = demandSuccess(await web.read(address.href, { accept: 'application/json' }));
    const posts = await parse(lemmyPosts, answer, { base });
    items = items.concat(posts);
    const goesOn = posts.every(({ id, postedAt }) => isNew(id) && (postedAt ?? oldest) >= oldest);
    if (posts.length < PAGE || !goesOn) break;
  }
  return { items, position: {} };
};
