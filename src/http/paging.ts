import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Cursors } from '../lib/cursor.ts';
import { DomainError } from '../model/errors.ts';
import { type Position, wholeNumber } from '../model/filters.ts';

/** The maximum length of a cursor. Longer ones are rejected as invalid cursors, not for their length. */
const MAX_CURSOR_CHARS = 2_000;

/** Query parameters of every list. */
export const pagingQuery = {
  limit: wholeNumber(1, 100).default(25).describe('Maximum number of items per page.'),
  cursor: z
    .string()
    .meta({ maxLength: MAX_CURSOR_CHARS })
    .optional()
    .describe('Cursor of the page: the `next_cursor` of the previous response.'),
};

/** The `pagination` member of every list. */
export const paginationSchema = z
  .strictObject({
    next_cursor: z
      .string()
      .nullable()
      .describe('Cursor of the next page; `null` on the last page. With `order=stored`, it is never `null`.'),
    has_more: z.boolean().describe('Whether there are more items.'),
    limit: z.int().describe('Maximum number of items per page.'),
  })
  .meta({ id: 'Pagination', description: 'Position in the list.' });
export type Pagination = z.infer<typeof paginationSchema>;

/** Binds a cursor to its query: changing any part of the query mid-list would return inconsistent pages. */
export function cursorScope(route: string, tenantId: string, filters: unknown): string {
  return JSON.stringify([route, tenantId, filters]);
}

/** The position of a cursor. @throws DomainError `INVALID_CURSOR` */
export function readCursor(cursors: Cursors, scope: string, cursor: string | undefined): Position | null {
  if (cursor === undefined) return null;
  const position = cursors.decode(scope, cursor);
  if (position !== null) return position;
  const detail = 'The cursor is damaged, or belongs to another list, filter, sort order or tenant.';
  throw new DomainError('INVALID_CURSOR', detail, {
    hint: 'Start again without "cursor", and keep all other parameters the same on every page.',
    errors: [{ parameter: 'cursor', detail }],
  });
}

/** The `pagination` of a page; if there is another page, also adds `Link: rel="next"` (RFC 8288). */
export function paginate(
  request: FastifyRequest,
  reply: FastifyReply,
  page: { baseUrl: string; nextCursor: string | null; limit: number; hasMore: boolean },
): Pagination {
  const { hasMore } = page;
  if (page.nextCursor !== null && hasMore) {
    const next = new URL(request.originalUrl, page.baseUrl);
    next.searchParams.set('cursor', page.nextCursor);
    addLink(reply, `<${page.baseUrl}${next.pathname}${next.search}>; rel="next"`);
  }
  return { next_cursor: page.nextCursor, has_more: hasMore, limit: page.limit };
}

/** Appends to the `Link` header of the response (RFC 8288). */
export function addLink(reply: FastifyReply, link: string): void {
  const present = reply.getHeader('link');
  reply.header('link', present === undefined ? link : `${String(present)}, ${link}`);
}
