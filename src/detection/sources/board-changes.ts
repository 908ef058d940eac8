import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { SourceItem } from '../source-item.ts';

/** More than any board that is known has; what is beyond them is read as ever, without being compared. */
export const MOST_KNOWN = 3_000;
/** What is remembered of a title or a department. */
const MAX_NAME = 300;
const MAX_URL = 2_048;

/** A post as it was last seen: what tells that it changed, and what is said when it is gone. */
const knownSchema = z.object({
  hash: z.string(),
  title: z.string(),
  department: z.string(),
  url: z.string(),
  /** It was not there at the last look. */
  gone: z.boolean().optional(),
});
const boardSchema = z.record(z.string(), knownSchema);
type Known = z.infer<typeof knownSchema>;

/** What became of a board since it was read last. */
export interface BoardChanges {
  /** An item for each post that changed or closed. */
  items: SourceItem[];
  /** What is to be remembered of it. */
  cursor: string;
  /** A post may have closed, which another look decides: ask for all of it the next time. */
  isUnsure: boolean;
}

/**
 * Posts that changed or closed. A changed post is the post again, under an id of its own; one is closed that two looks in a row
 * did not find, as boards leave posts out now and then. The first look knows no changes.
 */
export function boardChanges(
  cursor: string | null,
  posts: readonly SourceItem[],
  at: { now: number; platform: string; company: string },
): BoardChanges {
  const before = parse(cursor);
  const board = new Map<string, Known>();
  const items: SourceItem[] = [];
  for (const post of posts.slice(0, MOST_KNOWN)) {
    const { id, title, department = '', url } = post;
    const hash = hashOf(post);
    board.set(id, {
      hash,
      title: title.slice(0, MAX_NAME),
      department: department.slice(0, MAX_NAME),
      url: url.length > MAX_URL ? '' : url,
    });
    const known = before.get(id);
    if (known === undefined || known.hash === hash) continue;
    items.push({ ...post, id: `${id} changed ${hash}`, title: `Changed: ${title}`, postedAt: at.now });
  }
  const present = new Set(posts.map(({ id }) => id));
  const company = posts[0]?.company?.name ?? at.company;
  let isUnsure = false;
  // Of a part nobody knows what closed.
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
  { hash, title, department, url }: Known,
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
  const told = JSON.stringify([title, department, company?.location ?? '', body]);
  return createHash('sha256').update(told).digest('base64url').slice(0, 12);
}

function cursorOf(board: Map<string, Known>): string {
  return JSON.stringify(Object.fromEntries(board));
}

function parse(cursor: string | null): Map<string, Known> {
  if (cursor === null) return new Map();
  try {
    return new Map(Object.entries(boardSchema.parse(JSON.parse(cursor))));
  } catch {
    return new Map();
  }
}
