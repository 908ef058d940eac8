import { createHash } from 'node:crypto';
import { z } from 'zod';
import { itemKey, type SourceItem } from '../source-item.ts';

/** More than any known board has. Further jobs are read, but not compared. */
export const MOST_KNOWN = 3_000;
/** Maximum length of remembered titles and departments. */
const MAX_NAME = 300;
const MAX_URL = 2_048;
/** Longer IDs are remembered by their digest. */
const MAX_KEY = 64;
/**
 * Size of a board's state, in bytes of UTF-8, beyond which jobs are remembered in less detail: it is loaded and stored with
 * every run, and stored again when the run is claimed. 3.5 MB took the store's writer up to 30 ms each time. Three thousand
 * usual jobs take 1 MB.
 */
const MAX_STATE = 1_280 * 1024;
/** Length of a title that does not fit. */
const SHORT_TITLE = 40;

/** A job as it was last seen: what is needed to detect changes, and to report that it closed. */
const seenJobSchema = z.object({
  hash: z.string(),
  title: z.string(),
  department: z.string(),
  url: z.string(),
  /** Whether it was missing in the last run. */
  gone: z.boolean().optional(),
});
const boardSchema = z.record(z.string(), seenJobSchema);
type SeenJob = z.infer<typeof seenJobSchema>;

/** The changes of a board since the last run. */
export interface BoardChanges {
  /** One item for each job that changed or closed. */
  items: SourceItem[];
  /** The state to store. */
  cursor: string;
  /** Whether a job may have closed, which the next run decides: it must request the whole board. */
  isUnsure: boolean;
}

/**
 * Finds jobs that changed or closed. A changed job becomes an item again, with a new ID. A job counts as
 * closed if it is missing in two consecutive runs, because boards leave jobs out now and then. The first run
 * has no changes.
 */
export function boardChanges(
  cursor: string | null,
  posts: readonly SourceItem[],
  at: { now: number; platform: string; company: string },
): BoardChanges {
  const before = parse(cursor);
  const board = new Map<string, SeenJob>();
  const items: SourceItem[] = [];
  for (const post of posts.slice(0, MOST_KNOWN)) {
    const { id, title, department = '', url } = post;
    const hash = hashOf(post);
    board.set(keyIn(id), {
      hash,
      title: title.slice(0, MAX_NAME),
      department: department.slice(0, MAX_NAME),
      url: url.length > MAX_URL ? '' : url,
    });
    const known = before.get(keyIn(id));
    if (known === undefined || known.hash === hash) continue;
    items.push({ ...post, id: `${id} changed ${hash}`, title: `Changed: ${title}`, postedAt: at.now });
  }
  const present = new Set(posts.map(({ id }) => keyIn(id)));
  const company = posts[0]?.company?.name ?? at.company;
  let isUnsure = false;
  // A partial list does not show which jobs closed.
  if (posts.length >= MOST_KNOWN) return { items, cursor: cursorOf(board), isUnsure };
  for (const [id, known] of before) {
    if (present.has(id)) continue;
    if (known.gone) items.push(closed(id, known, { ...at, company }));
    else {
      board.set(id, { ...known, gone: true });
      isUnsure = true;
    }
  }
  return { items, cursor: cursorOf(board), isUnsure };
}

function closed(
  id: string,
  { hash, title, department, url }: SeenJob,
  { now, platform, company }: { now: number; platform: string; company: string },
): SourceItem {
  return {
    ...{ id: `${id} closed ${hash}`, platform, url, postedAt: now, author: '', department },
    title: `Closed: ${title}`,
    body: `${company} no longer lists this job.`,
    company: { name: company },
  };
}

function hashOf({ title, body, department = '', company }: SourceItem): string {
  const content = JSON.stringify([title, department, company?.location ?? '', body]);
  return createHash('sha256').update(content).digest('base64url').slice(0, 12);
}

function keyIn(id: string): string {
  return id.length > MAX_KEY ? itemKey({ id }) : id;
}

function cursorOf(board: Map<string, SeenJob>): string {
  const whole = JSON.stringify(Object.fromEntries(board));
  if (Buffer.byteLength(whole) <= MAX_STATE) return whole;
  const share = MAX_STATE / board.size;
  return JSON.stringify(Object.fromEntries([...board].map(([id, job]) => [id, fitted(id, job, share)])));
}

/** A job within `bytes`, without its URL and, if that is not enough, with the beginning of its title. */
function fitted(id: string, job: SeenJob, bytes: number): SeenJob {
  const fits = (one: SeenJob) => Buffer.byteLength(JSON.stringify([id, one])) <= bytes;
  const brief = { ...job, url: '' };
  if (fits(job)) return job;
  return fits(brief) ? brief : { ...brief, title: job.title.slice(0, SHORT_TITLE), department: '' };
}

function parse(cursor: string | null): Map<string, SeenJob> {
  if (cursor === null) return new Map();
  try {
    const known = Object.entries(boardSchema.parse(JSON.parse(cursor)));
    return new Map(known.map(([id, job]) => [keyIn(id), job]));
  } catch {
    return new Map();
  }
}
