import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import {
  cursorScope,
  type Pagination,
  type Position,
  paginate,
  paginationSchema,
  readCursor,
} from '../http/paging.ts';
import { JSON_TYPE, sendAsIs } from '../http/problems.ts';
import type { ApiParts } from './parts.ts';

/** What a list needs of the process. */
export type ListParts = Pick<ApiParts, 'cursors' | 'baseUrl'>;

/** Answer of a list of what `item` describes. */
export function listAnswer<S extends z.ZodType>(item: S) {
  return z.strictObject({
    data: z.array(item).describe('The page, in the order that was asked for'),
    pagination: paginationSchema,
  });
}

/** Where a page begins, and the most that it holds. */
export interface Place {
  limit: number;
  after: Position | null;
}

/** One list: what its cursors count for, and how a page of it is read. */
export interface List<P extends { last: Position | null }> {
  /** Tells its cursors from those of other lists. */
  name: string;
  /** Whatever else changes what it holds. */
  filters: unknown;
  query: { limit: number; cursor?: string | undefined };
  read(place: Place): Promise<P>;
}

/** Reads the page that a request asks for, and tells the way to the next one in `pagination` and `Link`. */
export async function readPage<P extends { last: Position | null }>(
  { cursors, baseUrl }: ListParts,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { name, filters, query, read }: List<P>,
): Promise<{ page: P; pagination: Pagination }> {
  const { limit, cursor } = query;
  const scope = cursorScope(name, callerOf(request).tenant.id, filters);
  const page = await read({ limit, after: readCursor(cursors, scope, cursor) });
  const nextCursor = page.last === null ? null : cursors.encode(scope, page.last);
  return { page, pagination: paginate(request, reply, { baseUrl, nextCursor, limit }) };
}

/** A page of rows that were read with one more than it holds, which tells whether another follows. */
export function cutPage<R>(rows: readonly R[], limit: number, positionOf: (row: R) => Position) {
  const kept = rows.slice(0, limit);
  const last = rows.length > limit ? kept.at(-1) : undefined;
  return { rows: kept, last: last === undefined ? null : positionOf(last) };
}

const PAGE_HEAD = '{"data":[';

/** A page of rows that are JSON already, with commas between them. */
export function pageBytes(json: Buffer, pagination: Pagination): Buffer {
  const tail = `],"pagination":${JSON.stringify(pagination)}}`; // ASCII: a cursor and numbers
  const bytes = Buffer.allocUnsafe(PAGE_HEAD.length + json.length + tail.length);
  bytes.write(PAGE_HEAD, 'latin1');
  json.copy(bytes, PAGE_HEAD.length);
  bytes.write(tail, PAGE_HEAD.length + json.length, 'latin1');
  return bytes;
}

/** Answers with a page of rows that are JSON already. */
export function sendPage(reply: FastifyReply, json: Buffer, pagination: Pagination): FastifyReply {
  return sendAsIs(reply, JSON_TYPE, pageBytes(json, pagination));
}
