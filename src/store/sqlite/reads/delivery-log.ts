import type { Database } from 'better-sqlite3';
import { addAll } from '../../../lib/lists.ts';
import type { DeliveryStatus } from '../../../model/delivery.ts';
import type { EventType } from '../../../model/event.ts';
import type { DeliveryKey } from '../../changes/deliveries.ts';
import type {
  DeliveryQuery,
  DeliverySummary,
  LastAttempt,
  ListedDelivery,
} from '../../delivery-log-store.ts';
import { SHOWN_COLUMNS, SHOWN_JOINS, WAITING } from './shown-state.ts';
import { positionOf } from './stored-order.ts';

interface WaitingRow extends DeliveryKey {
  status: DeliveryStatus;
  eventType: EventType;
}

/** An event, or a subject: of either there are few deliveries. */
type OfFew = Pick<DeliveryQuery, 'eventId' | 'subjectId'>;

/** What pages of deliveries are made of; the walks are in `delivery-walk.ts`. */
export function createDeliveryPages(db: Database) {
  const storedPlaces = createStoredPlaces(db);
  const selectEndpoints = db.prepare<[string], { id: string; status: string }>(
    'SELECT id, status FROM webhook_endpoints WHERE tenant_id = ? AND deleted_at IS NULL',
  );
  const selectOwner = db
    .prepare<[string], string>('SELECT tenant_id FROM webhook_endpoints WHERE id = ?')
    .pluck();
  const selectWaiting = db.prepare<[string, number], WaitingRow>(
    `SELECT id, created_at AS createdAt, status, event_type AS eventType FROM deliveries INDEXED BY deliveries_due
     WHERE endpoint_id = ? AND ${WAITING} LIMIT ?`,
  );
  const selectOfEvent = db
    .prepare<[string, string], string>('SELECT id FROM deliveries WHERE event_id = ? AND +tenant_id = ?')
    .pluck();
  const selectOfSubject = db
    .prepare<[string, string], string>(
      `SELECT d.id FROM events v INDEXED BY events_by_subject CROSS JOIN deliveries d ON d.event_id = v.id
       WHERE v.subject_id = ? AND v.tenant_id = ?`,
    )
    .pluck();
  const selectShown = db.prepare<[string], DeliverySummary>(
    `SELECT ${SHOWN_COLUMNS} FROM deliveries d ${SHOWN_JOINS} WHERE d.id = ?`,
  );
  const selectLastAttempt = db.prepare<[string], LastAttempt>(
    `SELECT started_at AS startedAt, duration_ms AS durationMs,
            json_extract(detail, '$.response.status') AS responseStatus,
            json_extract(detail, '$.error.code') AS errorCode
     FROM attempts WHERE delivery_id = +? ORDER BY attempt DESC, started_at DESC, id DESC LIMIT 1`,
  );

  return {
    /** The tenant's endpoints that are paused, or those that are not. */
    endpointsIn: (tenantId: string, state: 'active' | 'paused', only: string | null): string[] =>
      selectEndpoints
        .all(tenantId)
        .filter(({ id, status }) => status === state && (only === null || id === only))
        .map(({ id }) => id),
    belongsTo: (endpointId: string, tenantId: string): boolean => selectOwner.get(endpointId) === tenantId,
    /** All that waits for these endpoints, in no order; null where that is more than `most`. */
    waitingFor(endpointIds: readonly string[], most: number): WaitingRow[] | null {
      const rows: WaitingRow[] = [];
      for (const id of endpointIds) {
        addAll(rows, selectWaiting.all(id, most + 1 - rows.length));
        if (rows.length > most) return null;
      }
      return rows;
    },
    /** Every delivery of the event, or of the events about the subject, that the filters of `query` let through, newest first. */
    ofFew(tenantId: string, { eventId, subjectId }: OfFew, query: DeliveryQuery): DeliveryKey[] {
      const ids =
        eventId === null
          ? selectOfSubject.all(subjectId ?? '', tenantId)
          : selectOfEvent.all(eventId, tenantId);
      return ids
        .flatMap((id) => selectShown.all(id))
        .filter((row) => fits(row, query))
        .sort(newestFirst);
    },
    /** A page in the order by commit: ids that the filters let through, and where to read on. */
    findStored(
      tenantId: string,
      query: DeliveryQuery,
    ): { ids: string[]; next: [number, string]; hasMore: boolean } {
      const after = storedPlaceOf(query.after);
      const { places, hasMore } = storedPlaces(tenantId, query.status === 'dead', after);
      const ids: string[] = [];
      let next = after;
      let looked = 0;
      for (const { position, deliveryIds } of places) {
        for (const id of deliveryIds) {
          if (looked === LOOKED_AT || ids.length === query.limit) return { ids, next, hasMore: true };
          looked++;
          next = [position, id];
          const row = selectShown.get(id);
          if (row !== undefined && fits(row, { ...query, after: null })) ids.push(id);
        }
        next = [position, BEHIND_ALL];
      }
      return { ids, next, hasMore };
    },
    /** A delivery as it is listed; nothing where it was removed meanwhile. */
    listed(id: string): ListedDelivery[] {
      const row = selectShown.get(id);
      if (row === undefined) return [];
      const last = row.attemptCount === 0 ? undefined : selectLastAttempt.get(id);
      return [{ ...row, lastAttempt: last ?? null }];
    },
  };
}

/** Deliveries that a page in the order by commit looks at, some 10 us each; places that it reads them from. */
const LOOKED_AT = 1_000;
const PLACES_AT_ONCE = 200;
/** Behind every id of one place. */
const BEHIND_ALL = '~';

function storedPlaceOf(after: DeliveryQuery['after']): [position: number, id: string] {
  return [positionOf({ after }), after === null ? BEHIND_ALL : String(after[1] ?? BEHIND_ALL)];
}

interface StoredPlace {
  position: number;
  /** In the order of ids. */
  deliveryIds: Iterable<string>;
}

/** The next places of the order by commit at which deliveries stand, beginning within the one that was read up to. */
function createStoredPlaces(db: Database) {
  const stretchOf = (table: string, eventId: string, deliveryId: string) =>
    `SELECT * FROM (SELECT position, ${eventId} AS eventId, ${deliveryId} AS deliveryId FROM ${table}
                    WHERE tenant_id = :tenantId AND position >= :from ORDER BY position LIMIT :limit)`;
  const prepare = (sql: string) =>
    db.prepare<
      Record<string, unknown>[],
      { position: number; eventId: string | null; deliveryId: string | null }
    >(`${sql} ORDER BY position LIMIT :limit`);
  const selectMade = prepare(
    `${stretchOf('event_positions', 'event_id', 'NULL')} UNION ALL ${stretchOf('late_deliveries', 'NULL', 'delivery_id')}`,
  );
  const selectDead = prepare(stretchOf('dead_letter_positions', 'NULL', 'delivery_id'));
  // One that was stored after its event has a place of its own.
  const selectOfEvent = db
    .prepare<[string, string], string>(
      `SELECT d.id FROM deliveries d INDEXED BY deliveries_by_event WHERE d.event_id = ? AND d.id > ?
         AND NOT EXISTS (SELECT 1 FROM late_deliveries l WHERE l.delivery_id = d.id) ORDER BY d.id`,
    )
    .pluck();

  return (
    tenantId: string,
    isOfDead: boolean,
    [from, afterId]: readonly [number, string],
  ): { places: Iterable<StoredPlace>; hasMore: boolean } => {
    const select = isOfDead ? selectDead : selectMade;
    const rows = select.all({ tenantId, from, limit: PLACES_AT_ONCE });
    function* places(): Generator<StoredPlace> {
      for (const { position, eventId, deliveryId } of rows) {
        const after = position === from ? afterId : '';
        if (eventId !== null) yield { position, deliveryIds: selectOfEvent.all(eventId, after) };
        else yield { position, deliveryIds: [deliveryId ?? ''].filter((id) => id > after) };
      }
    }
    return { places: places(), hasMore: rows.length === PLACES_AT_ONCE };
  };
}

/** The order of every page. */
export function newestFirst(a: DeliveryKey, b: DeliveryKey): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1);
}

/** True where a row is of the query's time, and after its position. */
export function isInRange(row: DeliveryKey, { from, to, after }: DeliveryQuery): boolean {
  if (from !== null && row.createdAt < from) return false;
  if (to !== null && row.createdAt >= to) return false;
  return (
    after === null || newestFirst(row, { createdAt: Number(after[0] ?? 0), id: String(after[1] ?? '') }) > 0
  );
}

function fits(row: DeliverySummary, query: DeliveryQuery): boolean {
  const { endpointId, status, eventType, subjectId = null } = query;
  return (
    (subjectId === null || row.subjectId === subjectId) &&
    (endpointId === null || row.endpointId === endpointId) &&
    (status === null || row.status === status) &&
    (eventType === null || row.eventType === eventType) &&
    isInRange(row, query)
  );
}
