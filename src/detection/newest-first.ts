import { z } from 'zod';
import { largestOf } from '../lib/lists.ts';
import type { Source } from '../model/source.ts';
import { holdsEnough, type Reading, type ReadingTask } from './reader.ts';
import type { SourceItem } from './source-item.ts';

/** A page of a list, and where the next one begins; null: this is the last. */
export interface ListPage {
  items: SourceItem[];
  next: string | null;
}

/** Failed runs after which the rest of an earlier run is given up. */
const MOST_FAILURES = 3;

/** Whether the page where an earlier run stopped no longer exists, as it seems. */
export function isRestLost({ failures, lastError }: Source): boolean {
  return failures >= MOST_FAILURES && lastError?.code === 'http_status';
}

/**
 * What a run left unread: from page `at` on, posts that are not older than `since`, which is null if the list was never read
 * before. When it is done, reading continues from the top, down to `newestAt`.
 */
const restSchema = z.object({
  at: z.string(),
  since: z.number().nullable(),
  newestAt: z.number().nullable(),
  pages: z.number(),
});
type Rest = z.infer<typeof restSchema>;

/**
 * Reads a list that is newest first, page by page, until a post is known or too old. What `maxPages` pages do not reach, the
 * next run reads first; of a list that was never read before, no more than these pages.
 */
export async function readNewestFirst(
  task: ReadingTask,
  maxPages: number,
  readPage: (at: string | null) => Promise<ListPage>,
): Promise<Reading> {
  const { position, source } = task;
  const left = isRestLost(source) ? null : restOf(position.cursor);
  const since = left === null ? position.newestAt : left.since;
  let items: SourceItem[] = [];
  let at = left?.at ?? null;
  let pages = 0;
  do {
    const page = await readPage(at);
    items = items.concat(page.items);
    pages++;
    at = page.next;
    if (page.items.length === 0 || reachesEnd(task, page.items, { since, isRest: left !== null })) at = null;
  } while (at !== null && pages < maxPages && !holdsEnough(items));
  const newestAt = left === null ? newestOf(task, items) : left.newestAt;
  const allPages = pages + (left?.pages ?? 0);
  // A list that brings nothing new any more has no pages, whatever it says.
  const isDone = !items.some(({ id }) => task.isNew(id)) || (since === null && allPages >= maxPages);
  if (at === null || isDone) return { items, position: { newestAt } };
  const rest: Rest = { at, since, newestAt, pages: allPages };
  return { items, position: { newestAt: position.newestAt, cursor: JSON.stringify(rest) }, more: true };
}

function reachesEnd(
  { isNew, oldest }: ReadingTask,
  items: readonly SourceItem[],
  { since, isRest }: { since: number | null; isRest: boolean },
): boolean {
  if (items.some(({ postedAt }) => (postedAt ?? oldest) < oldest)) return true;
  // The first pages of a rest may have moved down since the previous run, and are known.
  if (!isRest && items.some(({ id }) => !isNew(id))) return true;
  return since !== null && items.every(({ postedAt }) => postedAt !== null && postedAt < since);
}

/** A wrong time in the future would hide everything until then. */
function newestOf({ position, now }: ReadingTask, items: readonly SourceItem[]): number | null {
  const times = items.map(({ postedAt }) => postedAt ?? 0);
  return Math.min(now, largestOf(times, position.newestAt ?? 0)) || null;
}

function restOf(cursor: string | null): Rest | null {
  return cursor === null ? null : (restSchema.safeParse(JSON.parse(cursor)).data ?? null);
}
