import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import {
  cursorScope,
  type Pagination,
  paginate,
  paginationSchema,
  pagingQuery,
  readCursor,
} from '../http/paging.ts';
import { JSON_TYPE, sendAsIs } from '../http/problems.ts';
import { letGo } from '../lib/own-bytes.ts';
import type { Place, Position, StoredPage } from '../model/page.ts';
import type { StoredWait } from '../store/event-store.ts';
import type { Call, NamesIn, NoQuery, QueryShape, Routes, Taken } from './routes.ts';
import { asksForStored, type ListQuery, readStored, storedQuery } from './stored-order.ts';

type ListCall<Name extends string, Q extends QueryShape> = Call<Name, Q, z.ZodUndefined>;

/** One list: `F` is what its cursors are bound to, besides the tenant, and `P` a page of it as it is read. */
export interface List<
  Name extends string,
  Q extends QueryShape,
  F,
  P extends { last: Position | null },
  I extends z.ZodType,
> extends Taken<Name, Q, z.ZodUndefined> {
  item: I;
  /** Tells its cursors from those of other lists; the path where it is left out. */
  name?: string;
  /** What else changes what it holds; nothing where it is left out. */
  filters?(call: ListCall<Name, Q>): F | Promise<F>;
  read(call: ListCall<Name, Q>, asked: Place & F): Promise<P>;
  /** How it is read in the order by commit, where it can be. */
  stored?: {
    kind: StoredWait['kind'];
    read(call: ListCall<Name, Q>, asked: Place & F): Promise<Omit<P, 'last'> & StoredPage>;
  };
  /** The page's items, or the bytes of them, with commas between, where they are JSON already. */
  show(
    page: Omit<P, 'last'>,
    call: ListCall<Name, Q>,
  ): z.output<I>[] | Buffer | Promise<z.output<I>[] | Buffer>;
}

/** Adds a GET that answers a page of what `item` describes, and tells the way to the next in `pagination` and `Link`. */
export function addList<
  Path extends string,
  P extends { last: Position | null },
  I extends z.ZodType,
  Q extends QueryShape = NoQuery,
  F = unknown,
>(routes: Routes, path: Path, list: List<NamesIn<Path>, Q, F, P, I>): void {
  const { item, name = path.slice(1), filters, read, stored, show, ...taken } = list;
  routes.add(`GET ${path}`, {
    ...taken,
    query: { ...taken.query, ...pagingQuery, ...(stored && storedQuery) },
    response: { 200: listAnswer(item) },
    async answer(call) {
      const {
        request,
        reply,
        tenantId,
        parts: { baseUrl, cursors },
      } = call;
      const query = call.query as ListQuery;
      const { limit, cursor } = query;
      const asked = call as unknown as ListCall<NamesIn<Path>, Q>;
      const bound = (await filters?.(asked)) ?? null;
      const answer = async (page: Omit<P, 'last'>, end: { nextCursor: string | null; hasMore: boolean }) => {
        const pagination = paginate(request, reply, { baseUrl, limit, ...end });
        const data = await show(page, asked);
        return Buffer.isBuffer(data) ? sendPage(reply, data, pagination) : { data, pagination };
      };
      if (stored !== undefined && asksForStored(query)) {
        const { page, nextCursor } = await readStored<Omit<P, 'last'> & StoredPage>(call, {
          kind: stored.kind,
          bound: { name, filters: bound },
          query,
          read: (place) => stored.read(asked, { ...(bound as F), ...place }),
        });
        return answer(page, { nextCursor, hasMore: page.hasMore });
      }
      const scope = cursorScope(name, tenantId, bound);
      const page = await read(asked, { ...(bound as F), limit, after: readCursor(cursors, scope, cursor) });
      const nextCursor = page.last === null ? null : cursors.encode(scope, page.last);
      return answer(page, { nextCursor, hasMore: nextCursor !== null });
    },
  });
}

/** Answer of a list of what `item` describes. */
function listAnswer<S extends z.ZodType>(item: S) {
  return z.strictObject({
    data: z.array(item).describe('Items of the page, in the requested order.'),
    pagination: paginationSchema,
  });
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

function sendPage(reply: FastifyReply, json: Buffer, pagination: Pagination): FastifyReply {
  const bytes = pageBytes(json, pagination);
  letGo(json);
  return sendAsIs(reply, JSON_TYPE, bytes);
}
