import { DomainError } from '../model/errors.ts';
import type { Page, PageRequest, Position } from '../model/filters.ts';

/** One row more than the page size is read: its presence shows that there is another page; it is dropped. */
export function pageOf<T, R = T>(
  found: readonly T[],
  limit: number,
  { toRow, position }: { toRow: (row: T) => R; position: (row: T) => Position },
): Page<R> {
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  return { rows: page.map(toRow), last: last === undefined ? null : position(last) };
}

/** The number of rows to look at for a page of `limit` that are not cached. */
export const lookedAt = (limit: number): number => limit * 5;

/** Bytes of JSON that are read and parsed at once, which takes 2 ms, or 10 if all characters are escaped. */
const MOST_BYTES = 400_000;

/**
 * A page of these rows, which ends with the `limit`-th that is not cached, or with the one that brings those to 400 KB.
 * `bytesOf` has the bytes to read for a row; 0: it is cached.
 */
export function pageOfUncached<T extends { id: string }>(
  found: readonly T[],
  limit: number,
  bytesOf: (row: T) => number,
): Page<T> {
  let uncached = 0;
  let bytes = 0;
  const last = found.findIndex((row) => {
    const own = bytesOf(row);
    if (own === 0) return false;
    bytes += own;
    return ++uncached === limit || bytes >= MOST_BYTES;
  });
  const size = last === -1 ? lookedAt(limit) : last + 1;
  return pageOf(found, size, { toRow: (row) => row, position: ({ id }) => [id] });
}

/** The position after which a page in creation order starts, and the number of rows to read. */
export interface CreationPage {
  createdAt: number;
  id: string;
  limit: number;
}

/** The query for a page in creation order; {@link pageByCreation} turns its rows into the page. */
export function creationPage({ limit, after }: PageRequest): CreationPage {
  const [createdAt, id] = creationOf(after) ?? [-1, ''];
  return { createdAt, id, limit: limit + 1 };
}

export function pageByCreation<T extends { createdAt: number; id: string }>(
  { limit }: PageRequest,
  found: readonly T[],
): Page<T> {
  return pageOf(found, limit, { toRow: (row) => row, position: (row) => [row.createdAt, row.id] });
}

/** The same of rows that are read afterwards: it ends with the one that brings them to 400 KB. */
export function pageByBytes<T extends { createdAt: number; id: string; bytes: number }>(
  { limit }: PageRequest,
  found: readonly T[],
): Page<T> {
  let bytes = 0;
  const last = found.findIndex((row) => {
    bytes += row.bytes;
    return bytes >= MOST_BYTES;
  });
  return pageByCreation({ limit: last === -1 ? limit : Math.min(limit, last + 1), after: null }, found);
}

/** A position as [createdAt, id]. @throws DomainError INVALID_CURSOR if it is not one */
export function creationOf(after: Position | null): [number, string] | null {
  if (after === null) return null;
  const [createdAt, id] = after;
  if (typeof createdAt === 'number' && typeof id === 'string') return [createdAt, id];
  throw new DomainError('INVALID_CURSOR', 'The cursor belongs to another list.');
}

/** A range of the commit order: positions > `after` and <= `until`; null: none after `after`. */
export interface PositionRange {
  after: number;
  until: number | null;
}

/** A value that SQL built for one query binds. */
export type SqlValue = string | number;

/** The values of a statement's named parameters. */
export type NamedParameters = Record<string, unknown>;

/** Part of a statement, with its values in the order of its placeholders. */
export interface SqlFragment<V = unknown> {
  sql: string;
  values: V[];
}

/** The conditions of a query, joined by AND, with their values in the same order. */
export interface WhereClause<V = unknown> {
  conditions: string[];
  values: V[];
}
