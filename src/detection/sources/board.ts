import { createHash } from 'node:crypto';
import { z } from 'zod';
import { boundedId, boundedItems } from '../documents/bounds.ts';
import { jsonParser } from '../documents/json.ts';
import type { Parser } from '../documents/parser.ts';
import { demandSuccess, type ReadingTask, validatorsOf } from '../reader.ts';
import type { SourceItem } from '../source-item.ts';

/** More than any known board has; jobs beyond it are read, but not compared. */
const MOST_KNOWN = 3_000;
export const MOST_JOBS = MOST_KNOWN;

/** The board's company, and the board's state when it was last read. */
export interface BoardArgs {
  company: string;
  cursor: string | null;
  now: number;
  platform: string;
}

/** The jobs of a whole board, with what changed since it was read last. */
type BoardParser = Parser<BoardArgs, BoardChanges>;

/** Reads a board whose answer is of the form `schema`. */
export function boardParser<S extends z.ZodType>(
  name: string,
  schema: S,
  toItems: (answer: z.output<S>, args: BoardArgs) => SourceItem[],
): BoardParser {
  return jsonParser(name, schema, (answer, args) => changedBoard(toItems(answer, args), args));
}

/** A board's jobs as items, together with those that changed or closed. */
function changedBoard(jobs: readonly SourceItem[], { cursor, ...at }: BoardArgs): BoardChanges {
  const posts = jobs.map((job) => ({ ...job, id: boundedId(job.id) }));
  const changes = boardChanges(cursor, posts, at);
  return { ...changes, items: boundedItems([...posts, ...changes.items], 2 * MOST_JOBS) };
}

/** A whole board in one answer, asked for again only where it changed; with posts that changed or closed. */
export async function readBoard(
  { source, position, web, parse, now }: ReadingTask,
  address: string,
  parser: BoardParser,
) {
  const { etag, lastModified, cursor } = position;
  const page = await web.read(address, { accept: 'application/json', etag, lastModified });
  if (page.status === 304) return { items: [], position };
  const company = source.settings.board ?? '';
  const args = { company, cursor, now, platform: source.kind };
  const board = await parse(parser, demandSuccess(page), args);
  const validators = board.isUnsure ? {} : validatorsOf(page);
  return { items: board.items, position: { ...validators, cursor: board.cursor } };
}

/** The board's name, as a part of an address. */
export function boardOf({ source }: ReadingTask): string {
  return encodeURIComponent(source.settings.board ?? '');
}

/** A company as a board tells of it. */
export function companyOf(
  name: string,
  location: string | null | undefined,
): { name: string; location?: string } {
  return location ? { name, location: location.slice(0, 300) } : { name };
}

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
  const content = JSON.stringify([title, department, company?.location ?? '', body]);
  return createHash('sha256').update(content).digest('base64url').slice(0, 12);
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
