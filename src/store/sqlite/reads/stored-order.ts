import type { Database } from 'better-sqlite3';
import { DomainError } from '../../../model/errors.ts';
import type { Place, StoredPage } from '../../../model/page.ts';
import type { StoredWait } from '../../event-store.ts';

/** The tables that hold the order by commit (migration 032). */
const TABLES = { signals: 'signal_positions', events: 'event_positions' } as const;
type StoredKind = keyof typeof TABLES;

/** A stretch of the order: the places above `after` and up to `until`; null: there is nothing above `after`. */
export interface Stretch {
  after: number;
  until: number | null;
}

/** Where a page ended, and whether anything stands behind it. */
type StoredEnd = Omit<StoredPage, 'count'>;

/** The order by commit of one kind of row: every number that becomes visible later is above all that are visible now. */
export function createStoredOrder(db: Database, kind: StoredKind) {
  const table = TABLES[kind];
  const selectUntil = db
    .prepare<[string, number, number], number | null>(
      `SELECT max(position) FROM
         (SELECT position FROM ${table} WHERE tenant_id = ? AND position > ? ORDER BY position LIMIT ?)`,
    )
    .pluck();
  const selectMore = db
    .prepare<[string, number], number>(`SELECT 1 FROM ${table} WHERE tenant_id = ? AND position > ? LIMIT 1`)
    .pluck();
  const selectNewest = db
    .prepare<[string], number | null>(`SELECT max(position) FROM ${table} WHERE tenant_id = ?`)
    .pluck();

  return {
    /** The newest place that is taken; 0: none is. */
    newest: (tenantId: string): number => selectNewest.get(tenantId) ?? 0,
    /** The next `scan` places after those that a page has been read up to. */
    stretch(tenantId: string, place: Pick<Place, 'after'>, scan: number): Stretch {
      const after = positionOf(place);
      return { after, until: selectUntil.get(tenantId, after, scan) ?? null };
    },
    /** Where a page of a stretch ends: at its last row where it is full (`last`), else where the stretch does. */
    end(tenantId: string, { after, until }: Stretch, last: number | null): StoredEnd {
      const next = last ?? until ?? after;
      return { next: [next], hasMore: until !== null && selectMore.get(tenantId, next) !== undefined };
    },
  };
}

/** The newest place of a tenant's that is taken, by kind. */
export function createNewestStored(db: Database): (tenantId: string, kind: StoredWait['kind']) => number {
  const orders = { signals: createStoredOrder(db, 'signals'), events: createStoredOrder(db, 'events') };
  const selectLate = db
    .prepare<[string], number | null>('SELECT max(position) FROM late_deliveries WHERE tenant_id = ?')
    .pluck();
  const selectDead = db
    .prepare<[string], number | null>('SELECT max(position) FROM dead_letter_positions WHERE tenant_id = ?')
    .pluck();
  return (tenantId, kind) => {
    if (kind === 'dead_letters') return selectDead.get(tenantId) ?? 0;
    if (kind === 'feeds') return Math.max(orders.events.newest(tenantId), selectLate.get(tenantId) ?? 0);
    return orders[kind].newest(tenantId);
  };
}

/** The place that a page has been read up to. @throws DomainError `INVALID_CURSOR` */
export function positionOf({ after }: Pick<Place, 'after'>): number {
  const position = after === null ? 0 : after[0];
  if (typeof position === 'number') return position;
  throw new DomainError('INVALID_CURSOR', 'The cursor is of another order.');
}
