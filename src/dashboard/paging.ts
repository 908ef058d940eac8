import type { FastifyRequest } from 'fastify';
import { cursorScope, readCursor } from '../http/paging.ts';
import type { Cursors } from '../lib/cursor.ts';
import type { PageRequest, Position } from '../model/filters.ts';
import { memberOf } from './gate.ts';

/** Rows per screen. */
export const PAGE_ROWS = 25;

/** A list on a screen: the scope of its cursors, and how to read one page. */
export interface ScreenList<P> {
  name: string;
  filters: unknown;
  read(page: PageRequest): Promise<P>;
}

/** One page of a list, and the addresses of the next and the first page, or null. */
export async function readScreenPage<P extends { last: Position | null }>(
  { cursors }: { cursors: Cursors },
  request: FastifyRequest,
  { name, filters, read }: ScreenList<P>,
): Promise<{ page: P; next: string | null; first: string | null }> {
  const scope = cursorScope(`dashboard ${name}`, memberOf(request).tenant.id, filters);
  const { cursor } = request.query as { cursor?: unknown };
  const given = typeof cursor === 'string' && cursor !== '' ? cursor : undefined;
  const page = await read({ limit: PAGE_ROWS, after: readCursor(cursors, scope, given) });
  return {
    page,
    next: page.last === null ? null : withCursor(request, cursors.encode(scope, page.last)),
    first: given === undefined ? null : withCursor(request, null),
  };
}

/** The address of the request with another cursor and the same filters. */
function withCursor(request: FastifyRequest, cursor: string | null): string {
  const url = new URL(request.originalUrl, 'http://dashboard');
  url.searchParams.delete('done');
  if (cursor === null) url.searchParams.delete('cursor');
  else url.searchParams.set('cursor', cursor);
  return url.pathname + url.search;
}
