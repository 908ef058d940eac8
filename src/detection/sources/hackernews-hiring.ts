import { z } from 'zod';
import { htmlToText } from '../html-text.ts';
import { type Reader, readJson } from '../reader.ts';
import type { SourceItem } from '../source-item.ts';
import { readTime } from '../source-time.ts';
import { demandSuccess } from '../web.ts';
import { createWordTest } from '../words-asked.ts';

/** Posts come in for some days; the thread of last month may still get one. */
const THREADS = 2;

const threadsSchema = z.object({
  hits: z.array(
    z.object({ objectID: z.string(), title: z.string().nullish(), created_at: z.string().nullish() }),
  ),
});
const commentSchema = z.object({
  id: z.union([z.int(), z.string()]).transform(String),
  author: z.string().nullish(),
  text: z.string().nullish(),
  created_at: z.string().nullish(),
});
const threadSchema = z.object({ children: z.array(commentSchema).default([]) });

/** Posts of "Ask HN: Who is hiring?", the month's and the one before, each with its company (https://hn.algolia.com/api). */
export const readHiring: Reader = async ({ source, web, sites, oldest }) => {
  const holds = createWordTest(source.settings.query);
  const address = new URL(`${sites.hackernews_hiring}/api/v1/search_by_date`);
  address.search = new URLSearchParams({ tags: 'story,author_whoishiring', hitsPerPage: '20' }).toString();
  const answer = demandSuccess(await web.read(address.href, { accept: 'application/json' }));
  const threads = readJson(answer, threadsSchema).hits.filter(({ title }) =>
    /who is hiring/i.test(title ?? ''),
  );
  const items: SourceItem[] = [];
  for (const { objectID } of threads.slice(0, THREADS)) {
    const thread = `${sites.hackernews_hiring}/api/v1/items/${encodeURIComponent(objectID)}`;
    const { children } = readJson(
      demandSuccess(await web.read(thread, { accept: 'application/json' })),
      threadSchema,
    );
    const posts = children.map(toItem).filter(({ body }) => body !== '' && holds(body));
    items.push(...posts.filter(({ postedAt }) => (postedAt ?? oldest) >= oldest));
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
