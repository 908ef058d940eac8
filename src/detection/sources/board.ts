import type { z } from 'zod';
import { boundedId, boundedItems } from '../documents/bounds.ts';
import { jsonParser } from '../documents/json.ts';
import type { Parser } from '../documents/parser.ts';
import { demandSuccess, type ReadingTask, validatorsOf } from '../reader.ts';
import type { SourceItem } from '../source-item.ts';
import { type BoardChanges, boardChanges, MOST_KNOWN } from './board-changes.ts';

/** More than any board that is known lists; each of its answers is the whole board. */
export const MOST_JOBS = MOST_KNOWN;

/** What a board is read with: whose it is, and what it was like when it was read last. */
export interface BoardArgs {
  company: string;
  cursor: string | null;
  now: number;
  platform: string;
}

/** The jobs of a whole board, with what changed since it was read last. */
export type BoardParser = Parser<BoardArgs, BoardChanges>;

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
