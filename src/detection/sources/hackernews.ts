import { z } from 'zod';
import { htmlToText } from '../html-text.ts';
import { FIRST_LOOK_MS, type Reader, readJson } from '../reader.ts';
import { readTime, type SourceItem } from '../source-item.ts';
import { demandSuccess } from '../web.ts';

/** The search shows 1,000 results at most, 100 a page. */
const MAX_PAGES = 10;
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
const answerSchema = z.object({ hits: z.array(hitSchema), nbPages: z.int().min(0).default(0) });

/** Stories and comments of Hacker News that hold all words of a query (https://hn.algolia.com/api). */
export const readHackerNews: Reader = async ({ source, position, now, web, sites }) => {
  const since = position.newestAt === null ? now - FIRST_LOOK_MS : position.newestAt - OVERLAP_MS;
  const items: SourceItem[] = [];
  for (let page = 0; page < MAX_PAGES; page++) {
    const address = new URL('/api/v1/search_by_date', sites.hackernews);
    address.search = new URLSearchParams({
      query: source.settings.query ?? '',
      tags: '(story,comment)',
      numericFilters: `created_at_i>${Math.floor(since / 1_000)}`,
      hitsPerPage: '100',
      page: String(page),
    }).toString();
    const answer = demandSuccess(await web.read(address.href, { accept: 'application/json' }));
    const { hits, nbPages } = readJson(answer, answerSchema);
    items.push(...hits.map(toItem));
    if (page + 1 >= nbPages) break;
  }
  const times = items.map(({ postedAt }) => postedAt ?? 0);
  // A time in the future, by whatever mistake, would hide everything until then.
  const newestAt = Math.min(now, Math.max(position.newestAt ?? since, ...times));
  return { items, position: { etag: null, lastModified: null, newestAt }, notBefore: 0 };
};

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
