import type { Database, Statement } from 'better-sqlite3';
import { HOUR_MS } from '../../../lib/clock.ts';
import { addAll } from '../../../lib/lists.ts';
import { MOST_ATTEMPTS } from '../../../model/constants.ts';
import {
  type AttemptLog,
  type AttemptRecord,
  type DeliveryStatus,
  sentHeaders,
} from '../../../model/delivery.ts';
import type { EventType } from '../../../model/event.ts';
import { FAILED } from '../../../rules/deliveries.ts';
import type { AttemptDetail, DeliveryKey, WalkPart, WalkTerms } from '../../changes/deliveries.ts';
import type {
  AttemptDay,
  AttemptTally,
  DeliveryLogStore,
  DeliveryQuery,
  DeliverySummary,
  LastAttempt,
  ListedDelivery,
} from '../../delivery-log-store.ts';
import type { DeliveryStore } from '../../delivery-store.ts';
import type { SqlFragment, SqlValue } from '../../pages.ts';
import { type Part, Table } from '../table.ts';
import { positionOf } from './events.ts';
import { BODY_JOINS, SHOWN_COLUMNS, SHOWN_JOINS, WAITING, WHOLE_BODY } from './shown-state.ts';

/** Deliveries with their details. */
export function deliveryReads(db: Database) {
  const selectOne = db.prepare<[string, string], DeliverySummary & { body: string | null }>(
    `SELECT ${SHOWN_COLUMNS}, ${WHOLE_BODY} AS body FROM deliveries d ${SHOWN_JOINS} ${BODY_JOINS}
     WHERE d.id = ? AND d.tenant_id = ?`,
  );
  const selectSummary = db.prepare<[string, string], DeliverySummary>(
    `SELECT ${SHOWN_COLUMNS} FROM deliveries d ${SHOWN_JOINS} WHERE d.id = ? AND d.tenant_id = ?`,
  );
  const attemptsOf = createAttemptList(db);
  const countWaiting = db
    .prepare<[string, number], number>(
      `SELECT count(*) FROM (SELECT 1 FROM deliveries INDEXED BY deliveries_due WHERE endpoint_id = ? AND ${WAITING} LIMIT ?)`,
    )
    .pluck();

  const hoursOf = `FROM webhook_endpoints e CROSS JOIN endpoint_hours h ON h.endpoint_id = e.id AND h.hour >= :hour
    WHERE e.tenant_id = :tenantId AND e.deleted_at IS NULL`;
  const tallyAttempts = db.prepare<Record<string, unknown>[], AttemptTally>(
    `SELECT h.endpoint_id AS endpointId, h.speed, sum(h.count) AS count ${hoursOf}
     AND e.id = :endpointId GROUP BY h.endpoint_id, h.speed`,
  );
  const tallyDays = db.prepare<Record<string, unknown>[], AttemptDay>(
    `SELECT date(h.hour / 24 * 86400, 'unixepoch') AS day,
            total(h.count) FILTER (WHERE h.speed <> ${FAILED}) AS succeeded, total(h.count) FILTER (WHERE h.speed = ${FAILED}) AS failed
     ${hoursOf} AND e.id = :endpointId GROUP BY h.hour / 24`,
  );

  return {
    tallyAttempts: (tenantId, { endpointId, since }) =>
      tallyAttempts.all({ tenantId, endpointId, hour: Math.floor(since / HOUR_MS) }),
    tallyAttemptDays: (tenantId, { endpointId, since }) =>
      tallyDays.all({ tenantId, endpointId, hour: Math.floor(since / HOUR_MS) }),
    getDelivery(tenantId, id) {
      const row = selectOne.get(id, tenantId);
      return row === undefined ? null : { ...row, attempts: attemptsOf(id) };
    },
    findDelivery: (tenantId, id) => selectSummary.get(id, tenantId) ?? null,
    countWaiting: (endpointId, most) => countWaiting.get(endpointId, most) ?? 0,
  } satisfies Part<DeliveryStore> & Part<DeliveryLogStore>;
}

export interface WaitingDelivery extends DeliveryKey {
  status: DeliveryStatus;
  eventType: EventType;
}

/** Deliveries of one event or subject, and events about a subject, that are read at once: about 10 ms. */
const FEW_AT_ONCE = 250;
const EVENTS_AT_ONCE = 250;

/** Endpoints whose waiting deliveries are read at once: about 3 ms, and 96,000 at once took 1.5 s. */
const ENDPOINTS_AT_ONCE = 500;

/** The state of an endpoint on which the status of its waiting deliveries depends. */
export type EndpointState = 'active' | 'paused';

/** A position among the deliveries of an event or a subject: after the delivery `id` of the event in `row`. */
export interface FewPlace {
  row: number;
  id: string;
}

/** The queries behind pages of deliveries. */
export function createDeliveryPages(db: Database) {
  const storedPlaces = createStoredPlaces(db);
  const selectLastEndpoint = db
    .prepare<[string, string], string>(
      `SELECT id FROM webhook_endpoints INDEXED BY webhook_endpoints_live
       WHERE tenant_id = ? AND id > ? AND deleted_at IS NULL ORDER BY id LIMIT 1 OFFSET ${ENDPOINTS_AT_ONCE - 1}`,
    )
    .pluck();
  const selectOwner = db
    .prepare<[string], string>('SELECT tenant_id FROM webhook_endpoints WHERE id = ?')
    .pluck();
  const selectWaiting = db.prepare<Record<string, unknown>[], WaitingDelivery>(
    `SELECT d.id, d.created_at AS createdAt, d.status, d.event_type AS eventType
     FROM webhook_endpoints e INDEXED BY webhook_endpoints_live
       CROSS JOIN deliveries d INDEXED BY deliveries_due ON d.endpoint_id = e.id AND d.${WAITING}
     WHERE e.tenant_id = :tenantId AND e.id > :after AND e.id <= :last AND e.deleted_at IS NULL AND e.status = :state
     LIMIT :limit`,
  );
  const selectWaitingOf = db.prepare<Record<string, unknown>[], WaitingDelivery>(
    `SELECT d.id, d.created_at AS createdAt, d.status, d.event_type AS eventType
     FROM webhook_endpoints e CROSS JOIN deliveries d INDEXED BY deliveries_due ON d.endpoint_id = e.id AND d.${WAITING}
     WHERE e.id = :endpointId AND e.deleted_at IS NULL AND e.status = :state LIMIT :limit`,
  );
  const selectOfEvent = db
    .prepare<[string, string, string, number], string>(
      `SELECT id FROM deliveries INDEXED BY deliveries_by_event
       WHERE event_id = ? AND id > ? AND +tenant_id = ? ORDER BY id LIMIT ?`,
    )
    .pluck();
  const selectAbout = db.prepare<[string, string, number], { row: number; id: string }>(
    `SELECT rowid AS row, id FROM events INDEXED BY events_by_subject
     WHERE subject_id = ? AND +tenant_id = ? AND rowid >= ? ORDER BY rowid LIMIT ${EVENTS_AT_ONCE}`,
  );
  const selectShown = db.prepare<[string], DeliverySummary>(
    `SELECT ${SHOWN_COLUMNS} FROM deliveries d ${SHOWN_JOINS} WHERE d.id = ?`,
  );
  // The last one is found without the details of others: of 600 attempts, with 20 KB each, they took 50 ms.
  const selectLastAttempt = db.prepare<[string], LastAttempt>(
    `SELECT started_at AS startedAt, duration_ms AS durationMs,
            json_extract(detail, '$.response.status') AS responseStatus,
            json_extract(detail, '$.error.code') AS errorCode
     FROM attempts WHERE id = (SELECT id FROM attempts WHERE delivery_id = +? ORDER BY id DESC LIMIT 1)`,
  );

  return {
    belongsTo: (endpointId: string, tenantId: string): boolean => selectOwner.get(endpointId) === tenantId,
    /**
     * Up to `limit` waiting deliveries of the tenant's next paused or active endpoints after `after`, unordered, and the last
     * of these endpoints; null at the end.
     */
    waitingAfter(
      after: string,
      { tenantId, state, limit }: { tenantId: string; state: EndpointState; limit: number },
    ): { rows: WaitingDelivery[]; next: string | null } {
      const next = selectLastEndpoint.get(tenantId, after) ?? null;
      const rows = selectWaiting.all({ tenantId, after, last: next ?? BEHIND_ALL, state, limit });
      return { rows, next };
    },
    /** The same of one endpoint, if it is in that state. */
    waitingOf: (endpointId: string, state: EndpointState, limit: number): WaitingDelivery[] =>
      selectWaitingOf.all({ endpointId, state, limit }),
    /** Some deliveries of the event, or of the events about the subject: those that match `query`, and where they end. */
    ofFew(
      tenantId: string,
      query: DeliveryQuery,
      after: FewPlace,
    ): { found: DeliveryKey[]; next: FewPlace | null } {
      const { eventId, subjectId = null } = query;
      const events =
        eventId === null
          ? selectAbout.all(subjectId ?? '', tenantId, after.row)
          : [{ row: after.row, id: eventId }];
      const found: DeliveryKey[] = [];
      let left = FEW_AT_ONCE;
      for (const { row, id } of events) {
        const ids = selectOfEvent.all(id, row === after.row ? after.id : '', tenantId, left);
        for (const each of ids)
          addAll(
            found,
            selectShown.all(each).filter((shown) => fits(shown, query)),
          );
        left -= ids.length;
        if (left === 0) return { found, next: { row, id: ids.at(-1) ?? '' } };
      }
      const last = events.length === EVENTS_AT_ONCE ? events.at(-1) : undefined;
      return { found, next: last === undefined ? null : { row: last.row, id: BEHIND_ALL } };
    },
    /** A page in commit order: matching IDs, and where to continue. */
    findStored(
      tenantId: string,
      query: DeliveryQuery,
    ): { ids: string[]; next: [number, string]; hasMore: boolean } {
      const after = storedPlaceOf(query.after);
      const { places, hasMore } = storedPlaces(tenantId, query.status === 'dead', after);
      const ids: string[] = [];
      let next = after;
      let looked = 0;
      for (const { position, deliveries } of places) {
        for (const [id, isLate] of deliveries) {
          if (looked >= LOOKED_AT || ids.length === query.limit) return { ids, next, hasMore: true };
          looked += isLate ? LOOKED_AT / PASSED : 1;
          next = [position, id];
          if (isLate) continue;
          const row = selectShown.get(id);
          if (row !== undefined && fits(row, { ...query, after: null })) ids.push(id);
        }
        next = [position, BEHIND_ALL];
      }
      return { ids, next, hasMore };
    },
    /** A delivery as a list item; empty if it has been deleted in the meantime. */
    listed(id: string): ListedDelivery[] {
      const row = selectShown.get(id);
      if (row === undefined) return [];
      const last = row.attemptCount === 0 ? undefined : selectLastAttempt.get(id);
      return [{ ...row, lastAttempt: last ?? null }];
    },
  };
}

/**
 * The number of deliveries that a page in commit order scans, about 10 us each; and the number of positions read at a
 * time.
 */
const LOOKED_AT = 1_000;
const PLACES_AT_ONCE = 200;
/** The same of deliveries that were stored after their event, which are passed over: an event for 96,000 endpoints has about as many. */
const PASSED = 10_000;
/** Sorts after every ID at one position. */
const BEHIND_ALL = '~';

function storedPlaceOf(after: DeliveryQuery['after']): [position: number, id: string] {
  return [positionOf({ after }), after === null ? BEHIND_ALL : String(after[1] ?? BEHIND_ALL)];
}

interface StoredPlace {
  position: number;
  /** Ordered by ID. Late ones have a place of their own. */
  deliveries: Iterable<[id: string, isLate: 0 | 1]>;
}

/** The next positions in commit order that have deliveries, starting within the last one read. */
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
  // A delivery stored after its event has its own position.
  const selectOfEvent = db
    .prepare<[string, string], [id: string, isLate: 0 | 1]>(
      `SELECT d.id, EXISTS (SELECT 1 FROM late_deliveries l WHERE l.delivery_id = d.id)
       FROM deliveries d INDEXED BY deliveries_by_event WHERE d.event_id = ? AND d.id > ? ORDER BY d.id LIMIT ${PASSED + 1}`,
    )
    .raw();

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
        const own = [deliveryId ?? ''].filter((id) => id > after).map((id): [string, 0] => [id, 0]);
        yield { position, deliveries: eventId === null ? own : selectOfEvent.all(eventId, after) };
      }
    }
    return { places: places(), hasMore: rows.length === PLACES_AT_ONCE };
  };
}

/** The order of every page. */
export function newestFirst(a: DeliveryKey, b: DeliveryKey): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1);
}

/** Whether a row is within the query's time range, and after its position. */
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

const ALL = 'SELECT created_at AS createdAt, id FROM deliveries INDEXED BY';
/** As in the condition of the index `deliveries_ended`. */
const ENDED = "status IN ('dead', 'discarded', 'rejected', 'expired')";
const ENDED_STATUSES: ReadonlySet<string> = new Set(['dead', 'discarded', 'rejected', 'expired']);

/** The range and filters of a page. */
export interface LoggedTerms extends WalkTerms {
  /** Only of endpoints in this state; omitted or null: any. */
  endpointState?: EndpointState | null;
}

/**
 * Scans an index in order of time. Rows that do not match are skipped, so a part is limited by the number of rows
 * scanned, not found: a million waiting deliveries before the requested one take seconds in total.
 */
export function createDeliveryWalk(db: Database) {
  const statements = new Map<string, Statement<SqlValue[], DeliveryKey>>();

  function all(sql: string, values: SqlValue[]): DeliveryKey[] {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = db.prepare<SqlValue[], DeliveryKey>(sql);
      statements.set(sql, statement);
    }
    return statement.all(...values);
  }

  /** Scans `scan` deliveries after the key, and returns up to `limit` matches. */
  return function walk(
    terms: LoggedTerms,
    after: DeliveryKey | null,
    { scan, limit }: { scan: number; limit: number },
  ): WalkPart {
    const order = `ORDER BY created_at ${terms.direction}, id ${terms.direction}`;
    const whole = rangeOf(terms, after, null);
    const filter = filterOf(terms);
    const edge =
      filter.sql === ''
        ? undefined
        : all(`${whole.sql} ${order} LIMIT 1 OFFSET ?`, [...whole.values, scan - 1]).at(0);
    const part = edge === undefined ? whole : rangeOf(terms, after, edge);
    const found = all(`${part.sql}${filter.sql} ${order} LIMIT ?`, [...part.values, ...filter.values, limit]);
    const last = found.length === limit ? found.at(-1) : edge;
    return { found, next: last ?? null };
  };
}

/** The scanned index and its range: to the end of the terms' time, or up to and including `edge`. */
function rangeOf(
  terms: WalkTerms,
  after: DeliveryKey | null,
  edge: DeliveryKey | null,
): SqlFragment<SqlValue> {
  const { sql, values } = scopeOf(terms);
  const { from, to } = { from: terms.from ?? 0, to: terms.to ?? Number.MAX_SAFE_INTEGER };
  const down = terms.direction === 'DESC';
  const start = after ?? { createdAt: down ? to : from, id: '' };
  // The far end is a scalar: SQLite does not use a row value as the second bound of an index range.
  const end = down ? (edge?.createdAt ?? from) : edge === null ? to : edge.createdAt + 1;
  const where: SqlFragment<SqlValue> = {
    sql: `${sql} AND (created_at, id) ${down ? '<' : '>'} (?, ?) AND created_at ${down ? '>=' : '<'} ?`,
    values: [...values, start.createdAt, start.id, end],
  };
  if (edge !== null) {
    where.sql += ` AND (+created_at, id) ${down ? '>=' : '<='} (?, ?)`;
    where.values.push(edge.createdAt, edge.id);
  }
  return where;
}

function scopeOf({ tenantId, endpointId, statuses }: WalkTerms): SqlFragment<SqlValue> {
  const [status] = statuses ?? [];
  if (status !== undefined && ENDED_STATUSES.has(status)) {
    return {
      sql: `${ALL} deliveries_ended WHERE tenant_id = ? AND ${ENDED} AND status = ?`,
      values: [tenantId, status],
    };
  }
  if (endpointId === null && status === 'delivered' && statuses?.length === 1) {
    return {
      sql: `${ALL} deliveries_delivered WHERE tenant_id = ? AND status = 'delivered'`,
      values: [tenantId],
    };
  }
  return endpointId === null
    ? { sql: `${ALL} deliveries_by_time WHERE tenant_id = ?`, values: [tenantId] }
    : { sql: `${ALL} deliveries_of_endpoint WHERE endpoint_id = ?`, values: [endpointId] };
}

/** For statuses that depend on the endpoint. A list of its endpoints, 96,000, would be read again with every part of a scan. */
const OF_ENDPOINT_IN =
  '(SELECT e.status FROM webhook_endpoints e WHERE e.id = endpoint_id AND e.deleted_at IS NULL) = ?';

/** The conditions that the index does not cover. */
function filterOf({
  endpointId,
  statuses,
  endpointState = null,
  eventType,
}: LoggedTerms): SqlFragment<SqlValue> {
  const ended = ENDED_STATUSES.has(statuses?.[0] ?? '');
  const parts: [string, SqlValue[]][] = [];
  if (ended && endpointId !== null) parts.push(['endpoint_id = ?', [endpointId]]);
  const known = endpointId === null && statuses?.[0] === 'delivered';
  if (!ended && !known && statuses !== null) {
    parts.push([`+status IN (${statuses.map(() => '?').join(', ')})`, statuses]);
  }
  if (endpointState !== null) parts.push([OF_ENDPOINT_IN, [endpointState]]);
  if (eventType !== null) parts.push(['event_type = ?', [eventType]]);
  return { sql: parts.map(([sql]) => ` AND ${sql}`).join(''), values: parts.flatMap(([, values]) => values) };
}

type AttemptRow = Omit<AttemptRecord, keyof AttemptDetail> & { deliveryId: string; detail: AttemptDetail };

const ATTEMPTS = new Table<AttemptRow>('attempts', {
  ...{
    id: 'plain',
    deliveryId: 'plain',
    attempt: 'plain',
    startedAt: 'plain',
    durationMs: 'plain',
    detail: 'json',
  },
});

function toAttempt({ deliveryId, detail, ...own }: AttemptRow): AttemptLog {
  const requestHeaders = detail.sent === null ? {} : sentHeaders({ deliveryId, ...own }, detail.sent);
  return { ...own, ...detail, requestHeaders };
}

/** The newest {@link MOST_ATTEMPTS} attempts of a delivery, oldest first. */
function createAttemptList(db: Database): (deliveryId: string) => AttemptLog[] {
  const selectOf = ATTEMPTS.select<[string, string]>(
    db,
    `WHERE delivery_id = ? AND id IN (SELECT id FROM attempts WHERE delivery_id = ? ORDER BY id DESC LIMIT ${MOST_ATTEMPTS})
     ORDER BY attempt, started_at, id`,
  );

  return (deliveryId) => selectOf.all(deliveryId, deliveryId).map(toAttempt);
}
