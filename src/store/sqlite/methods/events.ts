import { DomainError } from '../../../model/errors.ts';
import type { EventStore } from '../../event-store.ts';
import type { Context } from '../context.ts';
import { createEventListSql } from '../tables/event-list.ts';

export function eventMethods({ db, read }: Pick<Context, 'db' | 'read'>) {
  const list = createEventListSql(db);

  return {
    listEvents: (tenantId, query) =>
      read(() => {
        const { limit } = query;
        const found = list(tenantId, { ...query, limit: limit + 1 }, positionOf(query.after));
        const rows = found.slice(0, limit);
        const last = found.length > limit ? rows.at(-1) : undefined;
        return { rows, last: last === undefined ? null : [last.createdAt, last.id] };
      }),
  } satisfies EventStore;
}

function positionOf(after: (string | number)[] | null): [number, string] | null {
  if (after === null) return null;
  const [createdAt, id] = after;
  if (typeof createdAt === 'number' && typeof id === 'string') return [createdAt, id];
  throw new DomainError('INVALID_CURSOR', 'The cursor is of another list.');
}
