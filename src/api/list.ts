import { z } from 'zod';
import type { LongPoll } from '../http/connections.ts';
import {
  cursorScope,
  type Pagination,
  paginate,
  paginationSchema,
  pagingQuery,
  readCursor,
} from '../http/paging.ts';
import { JSON_TYPE, sendAsIs } from '../http/problems.ts';
import type { Clock } from '../lib/clock.ts';
import { commaSeparated } from '../lib/json.ts';
import { createLimits } from '../lib/queues.ts';
import { concatInTurns, createYielder } from '../lib/yielding.ts';
import { DomainError } from '../model/errors.ts';
import { type PageRequest, type Position, type StoredPage, wholeNumber } from '../model/filters.ts';
import type { StoredWait } from '../store/event-store.ts';
import type { Call, NamesIn, NoQuery, OperationInput, QueryShape, Routes } from './routes.ts';

type ListCall<Name extends string, Q extends QueryShape> = Call<Name, Q, z.ZodUndefined>;

/** A list: `F` are the filters that its cursors are bound to, besides the tenant, and `P` is a page as read. */
export interface List<
  Name extends string,
  Q extends QueryShape,
  F,
  P extends { last: Position | null },
  I extends z.ZodType,
> extends OperationInput<Name, Q, z.ZodUndefined> {
  item: I;
  /** Distinguishes its cursors from those of other lists; defaults to the path. */
  name?: string;
  /** Other parameters that change its content; none if omitted. */
  filters?(call: ListCall<Name, Q>): F | Promise<F>;
  read(call: ListCall<Name, Q>, asked: PageRequest & F): Promise<P>;
  /** How it is read in commit order, if that is possible. */
  stored?: {
    kind: StoredWait['kind'];
    read(call: ListCall<Name, Q>, asked: PageRequest & F): Promise<Omit<P, 'last'> & StoredPage>;
  };
  /** The page's items, or their bytes if they already are JSON. */
  show(page: Omit<P, 'last'>, call: ListCall<Name, Q>): Shown<z.output<I>> | Promise<Shown<z.output<I>>>;
}

/** Items, or pieces of comma-separated JSON, which are released after they were sent. */
type Shown<T> = T[] | { json: readonly Uint8Array[] };

/**
 * Pages of an account, and pipelines, that are read and serialized at once. They advance in turns, so all of them would be in memory until the
 * first one is complete: 78 pages of 8 MB took 0.8 GB.
 */
export const fewAtOnce = createLimits(4);

/** Adds a GET that returns a page of items, with the next page in `pagination` and `Link`. */
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
        deps: { baseUrl, cursors },
      } = call;
      const query = call.query as ListQuery;
      const { limit, cursor } = query;
      const asked = call as unknown as ListCall<NamesIn<Path>, Q>;
      const bound = (await filters?.(asked)) ?? null;
      const answer = async (page: Omit<P, 'last'>, end: { nextCursor: string | null; hasMore: boolean }) => {
        const pagination = paginate(request, reply, { baseUrl, limit, ...end });
        const data = await show(page, asked);
        const { clock } = call.deps;
        const json = 'json' in data ? data.json : await serialize(item, data, clock);
        return sendAsIs(reply, JSON_TYPE, await pageBytes(json, pagination, clock));
      };
      if (stored !== undefined && asksForStored(query))
        return answerStored<Omit<P, 'last'> & StoredPage, unknown>(call, {
          kind: stored.kind,
          bound: { name, filters: bound },
          query,
          read: (place) => stored.read(asked, { ...(bound as F), ...place }),
          answer: (page, nextCursor) => answer(page, { nextCursor, hasMore: page.hasMore }),
        });
      const scope = cursorScope(name, tenantId, bound);
      const after = readCursor(cursors, scope, cursor);
      return fewAtOnce(tenantId, async () => {
        const page = await read(asked, { ...(bound as F), limit, after });
        const nextCursor = page.last === null ? null : cursors.encode(scope, page.last);
        return answer(page, { nextCursor, hasMore: nextCursor !== null });
      });
    },
  });
}

/** The response of a list of `item`. */
function listAnswer<S extends z.ZodType>(item: S) {
  return z.strictObject({
    data: z.array(item).describe('Items of the page, in the requested order.'),
    pagination: paginationSchema,
  });
}

/** Serializes items one by one, yielding in between: a hundred profiles have up to 14 million characters. */
async function serialize<I extends z.ZodType>(
  item: I,
  values: readonly z.output<I>[],
  clock: Pick<Clock, 'monotonic'>,
): Promise<Buffer[]> {
  const nextTurn = createYielder(clock);
  const rows: Buffer[] = [];
  for (const value of values) {
    await nextTurn();
    rows.push(Buffer.from(JSON.stringify(z.encode(item, value))));
  }
  return rows;
}

const PAGE_HEAD = Buffer.from('{"data":[');

/** A page of JSON rows, or of pieces of comma-separated ones, which it releases. */
export function pageBytes(
  rows: readonly Uint8Array[],
  pagination: Pagination,
  clock: Pick<Clock, 'monotonic'>,
): Promise<Buffer> {
  const tail = Buffer.from(`],"pagination":${JSON.stringify(pagination)}}`);
  return concatInTurns([PAGE_HEAD, ...commaSeparated(rows), tail], clock);
}

const MAX_WAIT_SECONDS = 20;
/** The cursor for the current end. */
const NOW = 'now';

/** Query parameters of lists that can be read in commit order. */
export const storedQuery = {
  order: z
    .enum(['stored'])
    .optional()
    .describe(
      '`stored`: in the order of storing, oldest first. Every page has a `next_cursor`, including the last; anything stored later comes ' +
        'after it.',
    ),
  wait: wholeNumber(0, MAX_WAIT_SECONDS)
    .optional()
    .describe('With `order=stored`: how many seconds to wait for new items if there are none.'),
  cursor: pagingQuery.cursor.describe(
    'Cursor of the page: the `next_cursor` of the previous response. With `order=stored`, `now` starts with items stored from now on.',
  ),
};

/** The part of a list's query that determines the order. */
export interface ListQuery {
  limit: number;
  cursor?: string;
  order?: 'stored';
  wait?: number;
  sort?: string;
}

type AnyListCall = Pick<Call<string, NoQuery, z.ZodUndefined>, 'request' | 'reply' | 'tenantId' | 'deps'>;

/** Whether a query asks for commit order. @throws DomainError `INVALID_REQUEST` if combined with incompatible parameters */
function asksForStored(query: ListQuery): boolean {
  if (query.order === undefined) {
    if (query.wait === undefined) return false;
    throw refusal('wait', '"wait" requires order=stored.', 'Add order=stored, or omit "wait".');
  }
  if (query.sort === undefined) return true;
  throw refusal(
    'sort',
    'order=stored cannot be combined with "sort".',
    'Leave out "sort" to read in the order of storing, or leave out "order".',
  );
}

/** A list in commit order, and the response for a page of it with the cursor of the next. */
interface StoredRead<P, R> {
  kind: StoredWait['kind'];
  /** The filters that the list's cursors are bound to. */
  bound: { name: string; filters: unknown };
  query: ListQuery;
  read(page: PageRequest): Promise<P>;
  answer(page: P, nextCursor: string): Promise<R>;
}

/**
 * Answers with a page in commit order; if there is nothing yet, waits for as long as the query allows. Reading and answering count
 * towards the account's limit; waiting does not.
 */
export async function answerStored<P extends StoredPage, R>(
  { request, reply, tenantId, deps }: AnyListCall,
  { kind, bound, query, read, answer }: StoredRead<P, R>,
): Promise<R> {
  const { store, cursors, longPolls } = deps;
  const { limit, cursor, wait = 0 } = query;
  const scope = cursorScope(bound.name, tenantId, { order: 'stored', of: bound.filters });

  /** Returns `next`, where to continue reading, if there is nothing yet. */
  const attempt = (after: Position | null, poll: LongPoll | null) =>
    fewAtOnce(tenantId, async () => {
      const page = await read({ limit, after });
      if (wait > 0 && isNothing(page) && poll?.signal.aborted !== true) return { next: page.next };
      poll?.end();
      return { answered: await answer(page, cursors.encode(scope, page.next)) };
    });

  let done = await attempt(
    cursor === NOW ? [await store.storedPosition(tenantId)] : readCursor(cursors, scope, cursor),
    null,
  );
  if ('answered' in done) return done.answered;
  const poll = longPolls.begin({ request, reply, tenantId, seconds: wait });
  try {
    do {
      await store.untilStored(tenantId, { kind, after: done.next }, poll.signal);
      await poll.turn();
      done = await attempt(done.next, poll);
    } while (!('answered' in done));
    return done.answered;
  } finally {
    poll.end();
  }
}

/** An empty page can be followed by more: its rows did not match the filters. */
function isNothing({ count, hasMore }: StoredPage): boolean {
  return count === 0 && !hasMore;
}

function refusal(parameter: string, detail: string, hint: string): DomainError {
  return new DomainError('INVALID_REQUEST', detail, { hint, errors: [{ parameter, detail }] });
}
