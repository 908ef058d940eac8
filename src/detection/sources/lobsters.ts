import { z } from 'zod';
import { boundedItems, jsonParser, listOf } from '../documents/parser.ts';
import { htmlToText } from '../html-text.ts';
import { readNewestFirst } from '../newest-first.ts';
import { demandSuccess, type Reader } from '../reader.ts';
import { readTime, type SourceItem, urlPart } from '../source-item.ts';

/** Maximum number of pages per run, with 25 stories each. */
const MAX_PAGES = 8;

const storySchema = z.object({
  short_id: z.string(),
  short_id_url: z.string().nullish(),
  comments_url: z.string().nullish(),
  created_at: z.string().nullish(),
  title: z.string(),
  description: z.string().nullish(),
  description_plain: z.string().nullish(),
  /** A name; before 2024, an object that contains it. */
  submitter_user: z.union([z.string(), z.object({ username: z.string().nullish() })]).nullish(),
});

/** A page of stories of the site at `site`. */
export const lobstersStories = jsonParser(
  'lobsters_stories',
  listOf(storySchema),
  (stories, { site }: { site: string }) => boundedItems(stories.map((story) => toItem(story, site))),
);

/**
 * Reads the newest stories of Lobsters, or those with a tag. The URL of an item is that of the discussion.
 */
export const readLobsters: Reader = async (task) => {
  const { source, web, parse, sites } = task;
  const { tag } = source.settings;
  const path = tag === null ? '/newest' : `/t/${encodeURIComponent(tag)}`;
  return readNewestFirst(task, MAX_PAGES, async (at) => {
    const page = Number(at ?? 1);
    const address = `${sites.lobsters}${path}${page === 1 ? '' : `/page/${page}`}.json`;
    const answer = await web.read(address, { accept: 'application/json' });
    if (page > 1 && answer.status === 404) return { items: [], next: null };
    const items = await parse(lobstersStories, demandSuccess(answer), { site: sites.lobsters });
    return { items, next: String(page + 1) };
  });
};

function toItem(story: z.infer<typeof storySchema>, site: string): SourceItem {
  const { submitter_user: user } = story;
  return {
    id: story.short_id,
    platform: 'lobsters',
    url: story.comments_url || story.short_id_url || `${site}/s/${urlPart(story.short_id)}`,
    postedAt: readTime(story.created_at),
    title: htmlToText(story.title),
    body: story.description_plain?.trim() || htmlToText(story.description ?? ''),
    author: (typeof user === 'string' ? user : user?.username) ?? '',
  };
}
