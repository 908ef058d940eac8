import { z } from 'zod';
import { cursorScope, pagingQuery, readCursor } from '../http/paging.ts';
import { DomainError } from '../model/errors.ts';
import { wholeNumber } from '../model/filters.ts';
import type { Place, Position, StoredPage } from '../model/page.ts';
import type { StoredWait } from '../store/event-store.ts';
import type { Call, NoQuery } from './routes.ts';

const MAX_WAIT_SECONDS = 20;
/** The cursor that stands for the present end. */
const NOW = 'now';

/** Query parameters of lists that can be read in the order by commit. */
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

/** A list's query, as far as it decides on the order. */
export interface ListQuery {
  limit: number;
  cursor?: string;
  order?: 'stored';
  wait?: number;
  sort?: string;
}

type AnyCall = Pick<Call<string, NoQuery, z.ZodUndefined>, 'request' | 'reply' | 'tenantId' | 'parts'>;

/** Whether a query asks for the order by commit. @throws DomainError `INVALID_REQUEST` where it goes with something else */
export function asksForStored(query: ListQuery): boolean {
  if (query.order === undefined) {
    if (query.wait === undefined) return false;
    throw refusal('wait', '"wait" is for order=stored alone.', 'Add order=stored, or leave out "wait".');
  }
  if (query.sort === undefined) return true;
  throw refusal(
    'sort',
    'order=stored is an order of its own and takes no "sort".',
    'Leave out "sort" to read in the order of storing, or leave out "order".',
  );
}

/** What is read in the order by commit. */
interface StoredRead<P> {
  kind: StoredWait['kind'];
  /** What the list's cursors are bound to. */
  bound: { name: string; filters: unknown };
  query: ListQuery;
  read(place: Place): Promise<P>;
}

/** A page in the order by commit and its cursor; where nothing is there and the query says so, after a wait for it. */
export async function readStored<P extends StoredPage>(
  { request, reply, tenantId, parts }: AnyCall,
  { kind, bound, query, read }: StoredRead<P>,
): Promise<{ page: P; nextCursor: string }> {
  const { store, cursors, longPolls } = parts;
  const { limit, cursor, wait = 0 } = query;
  const scope = cursorScope(bound.name, tenantId, { order: 'stored', of: bound.filters });
  const after: Position | null =
    cursor === NOW ? [await store.storedPosition(tenantId)] : readCursor(cursors, scope, cursor);
  let page = await read({ limit, after });
  if (wait > 0 && isNothing(page)) {
    const poll = longPolls.begin({ request, reply, tenantId, seconds: wait });
    try {
      while (isNothing(page) && !poll.signal.aborted) {
        await store.untilStored(tenantId, { kind, after: page.next }, poll.signal);
        page = await read({ limit, after: page.next });
      }
    } finally {
      poll.end();
    }
  }
  return { page, nextCursor: cursors.encode(scope, page.next) };
}

/** An empty page with more behind it is no end: its rows did not fit the filters, and the next one goes on. */
function isNothing({ count, hasMore }: StoredPage): boolean {
  return count === 0 && !hasMore;
}

function refusal(parameter: string, detail: string, hint: string): DomainError {
  return new DomainError('INVALID_REQUEST', detail, { hint, errors: [{ parameter, detail }] });
}
