import { z } from 'zod';
import { boundedItems } from '../documents/bounds.ts';
import { jsonParser, listOf } from '../documents/json.ts';
import { htmlToText } from '../html-text.ts';
import { demandSuccess, type Reader } from '../reader.ts';
import type { SourceItem } from '../source-item.ts';
import { readTime } from '../source-time.ts';
import { createWordTest } from '../words-asked.ts';

/** Posts come in for some days; the thread of last month may still get one. */
const THREADS = 2;
/** Twice as many as the busiest thread has had. */
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

/** The ids of the newest threads in which companies tell whom they look for. */
export const hiringThreads = jsonParser('hiring_threads', threadsSchema, ({ hits }) =>
  hits
    .filter(({ title }) => /who is hiring/i.test((title ?? '').slice(0, 300)))
    .slice(0, THREADS)
    .map(({ objectID }) => objectID.slice(0, 100)),
);

/** The posts of a thread that hold the words of `query`. */
export const hiringPosts = jsonParser(
  'hiring_posts',
  threadSchema,
  ({ children = [] }, { query }: { query: string | null }) => {
    const holds = createWordTest(query);
    return boundedItems(children.map(toItem), MOST_POSTS).filter(({ body }) => body !== '' && holds(body));
  },
);

/** Posts of "Ask HN: Who is hiring?", the month's and the one before, each with its company (https://hn.algolia.com/api). */
export const readHiring: Reader = async ({ source, web, parse, sites, oldest }) => {
  const address = new URL(`${sites.hackernews_hiring}/api/v1/search_by_date`);
  address.search = new URLSearchParams({ tags: 'story,author_whoishiring', hitsPerPage: '20' }).toString();
  const answer = demandSuccess(await web.read(address.href, { accept: 'application/json' }));
  const { query } = source.settings;
  let items: SourceItem[] = [];
  for (const id of await parse(hiringThreads, answer, null)) {
    const thread = `${sites.hackernews_hiring}/api/v1/items/${encodeURIComponent(id)}`;
    const page = demandSuccess(await web.read(thread, { accept: 'application/json' }));
    const posts = await parse(hiringPosts, page, { query });
    items = items.concat(posts.filter(({ postedAt }) => (postedAt ?? oldest) >= oldest));
  }
  return { items, position: {} };
};

/** The first line is, by custom, "Company | Role | Place | …". */
function toItem(comment: z.infer<typeof commentSchema>): SourceItem {
  const body = htmlToText(comment.text ?? '');
  const [name = '', ...facts] = (body.split('\n')[0] ?? '').split('|').map((part) => part.trim());
  const named = facts.length > 0 && name.length > 0 && name.length <= 100;
  return {
    id: comment.id,
    platform: 'hackernews',
    url: `https://news.ycombinator.com/item?id=${encodeURIComponent(comment.id)}`,
    postedAt: readTime(comment.created_at),
    title: '',
    body,
    author: comment.author ?? '',
    department: '',
    ...(named && { company: { name: name.replace(/\s*\((?:https?:|YC\b)[^)]*\)\s*$/i, '') } }),
  };
}
