import { z } from 'zod';
import { toIso } from '../../lib/clock.ts';
import { smallestOf } from '../../lib/lists.ts';
import { withoutTrailingSlashes } from '../../lib/text.ts';
import { boundedItems, jsonParser, listOf } from '../documents/parser.ts';
import { htmlToText } from '../html-text.ts';
import { type ListPage, readNewestFirst } from '../newest-first.ts';
import { demandSuccess, type Reader, type ReadingTask } from '../reader.ts';
import { readTime, type SourceItem } from '../source-item.ts';

const MAX_PAGES = 10;

const latestSchema = z.object({
  latest_posts: listOf(
    z.object({
      id: z.int(),
      username: z.string().nullish(),
      name: z.string().nullish(),
      created_at: z.string().nullish(),
      cooked: z.string().nullish(),
      raw: z.string().nullish(),
      topic_id: z.int(),
      topic_slug: z.string().nullish(),
      topic_title: z.string().nullish(),
      post_number: z.int().nullish(),
    }),
  ),
});
const foundSchema = z.object({
  posts: listOf(
    z.object({
      id: z.int(),
      username: z.string().nullish(),
      name: z.string().nullish(),
      created_at: z.string().nullish(),
      blurb: z.string().nullish(),
      topic_id: z.int(),
      post_number: z.int().nullish(),
    }),
  ).nullish(),
  topics: listOf(
    z.object({ id: z.int(), title: z.string().nullish(), slug: z.string().nullish() }),
  ).nullish(),
  grouped_search_result: z.object({ more_full_page_results: z.boolean().nullish() }).nullish(),
});

/** The base URL of a forum, without a trailing slash. */
interface ForumBase {
  base: string;
}

interface DiscoursePost {
  id: number;
  name: string;
  at: string | null | undefined;
  title: string;
  body: string;
  topic: string;
  number: number;
}

/** A page of the newest posts. */
export const discourseLatest = jsonParser(
  'discourse_latest',
  latestSchema,
  ({ latest_posts: posts }, { base }: ForumBase) =>
    boundedItems(
      posts.map((post) =>
        toItem(
          {
            id: post.id,
            name: post.name || post.username || '',
            at: post.created_at,
            title: htmlToText(post.topic_title ?? ''),
            body: htmlToText(post.cooked ?? '') || (post.raw ?? ''),
            topic: `${post.topic_slug || '-'}/${post.topic_id}`,
            number: post.post_number ?? 1,
          },
          base,
        ),
      ),
    ),
);

/** A page of search results, and whether there are more. */
export const discourseFound = jsonParser('discourse_found', foundSchema, (found, { base }: ForumBase) => {
  const topics = new Map((found.topics ?? []).map((topic) => [topic.id, topic]));
  const items = (found.posts ?? []).map((post) => {
    const topic = topics.get(post.topic_id);
    return toItem(
      {
        id: post.id,
        name: post.name || post.username || '',
        at: post.created_at,
        title: htmlToText(topic?.title ?? ''),
        body: htmlToText(post.blurb ?? ''),
        topic: `${topic?.slug || '-'}/${post.topic_id}`,
        number: post.post_number ?? 1,
      },
      base,
    );
  });
  return {
    items: boundedItems(items),
    more: found.grouped_search_result?.more_full_page_results === true,
  };
});

/**
 * Reads the newest posts of a Discourse forum, or those that contain the words of a query
 * (https://docs.discourse.org).
 */
export const readDiscourse: Reader = async (task) => {
  const { query, url } = task.source.settings;
  const base = withoutTrailingSlashes(url ?? '');
  return readNewestFirst(task, MAX_PAGES, (at) =>
    query === null ? latest(task, base, at) : search(task, { base, query, page: Number(at ?? 1) }),
  );
};

/** A page of all posts, newest first, before an ID. */
async function latest({ web, parse }: ReadingTask, base: string, before: string | null): Promise<ListPage> {
  const address = `${base}/posts.json${before === null ? '' : `?before=${before}`}`;
  const answer = demandSuccess(await web.read(address, { accept: 'application/json' }));
  const items = await parse(discourseLatest, answer, { base });
  const next = String(smallestOf(items.map(({ id }) => Number(id))));
  return { items, next: next === before ? null : next };
}

/** A page of a search, which has ten. */
async function search(
  { web, parse, oldest }: ReadingTask,
  { base, query, page }: { base: string; query: string; page: number },
): Promise<ListPage> {
  const address = new URL(`${base}/search.json`);
  const q = `${query} after:${toIso(oldest).slice(0, 10)} order:latest`;
  address.search = new URLSearchParams({ q, page: String(page) }).toString();
  const answer = demandSuccess(await web.read(address.href, { accept: 'application/json' }));
  const { items, more } = await parse(discourseFound, answer, { base });
  return { items, next: more && page < MAX_PAGES ? String(page + 1) : null };
}

function toItem(post: DiscoursePost, base: string): SourceItem {
  return {
    id: String(post.id),
    platform: 'discourse',
    url: `${base}/t/${post.topic}/${post.number}`,
    postedAt: readTime(post.at),
    title: post.title,
    body: post.body,
    author: post.name,
  };
}
