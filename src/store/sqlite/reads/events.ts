import type { Database, Statement } from 'better-sqlite3';
import { MOST_OUTCOMES } from '../../../model/constants.ts';
import type { DeliveryStatus } from '../../../model/delivery.ts';
import { DomainError } from '../../../model/errors.ts';
import type { EventRow, SkipReason } from '../../../model/event.ts';
import type { PageRequest, StoredPage } from '../../../model/filters.ts';
import type { Classification } from '../../../model/signal.ts';
import type {
  BatchedSignals,
  BatchStore,
  EventQuery,
  FeedRow,
  FeedStore,
  RecordedEvent,
  StoredWait,
  WaitingBatch,
} from '../../event-store.ts';
import { creationOf, type NamedParameters, type PositionRange } from '../../pages.ts';
import type { Part } from '../table.ts';
import { BODY_JOINS, SHOWN_STATUS, WHOLE_BODY } from './shown-state.ts';

interface DeliveredRow {
  id: string;
  endpointId: string;
  status: DeliveryStatus;
  endpointDeleted: number;
}

/** Events of any type, or of one, which has its own index. */
export type TypeShape = 'any' | 'one';

const FAR_FUTURE = Number.MAX_SAFE_INTEGER;
/** Sorts after every id. */
const LAST_ID = '~';

/** Rows that a page in commit order scans for matches, 3 us each. */
const MAX_LOOKED_AT = 2_000;

const EVENT_COLUMNS = 'id, tenant_id AS tenantId, type, subject_id AS subjectId, created_at AS createdAt';
const DELIVERED = `d.id, d.endpoint_id AS endpointId, ${SHOWN_STATUS} AS status,
  e.deleted_at IS NOT NULL AS endpointDeleted`;

/** An event without its data, which contains a whole lead or signal: a hundred took 60 ms in one piece. */
export type EventKey = Omit<EventRow, 'data'>;

/** The parts of a page of events: which they are, their data, and their outcome per endpoint. */
export function createEventPages(db: Database) {
  const prepare = (shape: TypeShape): Statement<NamedParameters[], EventKey> =>
    db.prepare(eventPageSql(shape));
  const pages = { any: prepare('any'), one: prepare('one') };
  const selectData = db
    .prepare<[string, string], string>('SELECT data FROM events WHERE id = ? AND tenant_id = ?')
    .pluck();
  const selectDeliveries = db.prepare<[string], DeliveredRow>(
    `SELECT ${DELIVERED}
     FROM (SELECT id, endpoint_id, status FROM deliveries INDEXED BY deliveries_by_event
           WHERE event_id = ? ORDER BY id LIMIT ${MOST_OUTCOMES}) d
       JOIN webhook_endpoints e ON e.id = d.endpoint_id ORDER BY d.endpoint_id, d.id`,
  );
  const batchedOf = `(SELECT * FROM batched_events WHERE event_id = ? ORDER BY endpoint_id LIMIT ${MOST_OUTCOMES}) b`;
  // A batched message is the delivery of its last event, which is found above.
  const selectSentTogether = db.prepare<[string], DeliveredRow>(
    `SELECT ${DELIVERED}
     FROM ${batchedOf} JOIN deliveries d ON d.id = b.delivery_id AND d.event_id <> b.event_id
       JOIN webhook_endpoints e ON e.id = d.endpoint_id ORDER BY d.endpoint_id, d.id`,
  );
  const selectBatched = db
    .prepare<[string], string>(`SELECT b.endpoint_id FROM ${batchedOf} WHERE b.delivery_id IS NULL`)
    .pluck();
  const selectSkips = db.prepare<[string], { endpointId: string; reason: SkipReason }>(
    `SELECT e.value AS endpointId, s.reason FROM event_skips s, json_each(s.endpoint_ids) e
     WHERE s.event_id = ? ORDER BY e.value`,
  );
  const selectAbout = db.prepare<[string, string, number], EventRow>(EVENTS_ABOUT_SQL);

  function find(tenantId: string, { types, from, to, after }: EventQuery, limit: number): EventKey[] {
    const [createdAt, id] = creationOf(after) ?? [FAR_FUTURE, LAST_ID];
    const range = { tenantId, from: from ?? 0, to: to ?? FAR_FUTURE, createdAt, id, limit };
    if (types.length === 0) return pages.any.all(range);
    // Reads a page per type and takes the newest rows: no search for rare types among a million common ones.
    const rows = [...new Set(types)].flatMap((type) => pages.one.all({ ...range, type }));
    return rows.sort(newestFirst).slice(0, limit);
  }

  const order = createStoredOrder(db, 'events');
  const selectStored: Statement<NamedParameters[], EventKey & { position: number }> =
    db.prepare(STORED_EVENTS_SQL);

  /** Events in commit order, and the end of the page. */
  function findStored(tenantId: string, query: EventQuery) {
    const { types, from, to, limit } = query;
    const isFiltered = types.length > 0 || (from ?? to) !== null;
    const range = order.range(tenantId, query, isFiltered ? MAX_LOOKED_AT : limit);
    const { after, until } = range;
    const found = selectStored.all({
      ...{ tenantId, after, until: until ?? after, limit },
      types: types.length === 0 ? null : JSON.stringify(types),
      from: from ?? 0,
      to: to ?? FAR_FUTURE,
    });
    const last = found.length === limit ? (found.at(-1)?.position ?? null) : null;
    const rows = found.map(({ position: _, ...event }): EventKey => event);
    return { rows, ...order.end(tenantId, range, last) };
  }

  function withOutcomes(event: EventRow): RecordedEvent {
    const deliveries = [...selectDeliveries.all(event.id), ...selectSentTogether.all(event.id)];
    return {
      ...event,
      deliveries: deliveries.map((row) => ({ ...row, endpointDeleted: row.endpointDeleted === 1 })),
      batched: selectBatched.all(event.id),
      skips: selectSkips.all(event.id),
    };
  }

  /** Null if the event has been removed since. */
  function withData(key: EventKey): EventRow | null {
    const data = selectData.get(key.id, key.tenantId);
    return data === undefined ? null : { ...key, data };
  }

  /** The events about a subject that were stored last, newest first: in the order of the index, as to sort 100,000 by time takes 0.2 s. */
  const about = (tenantId: string, subjectId: string, limit: number) =>
    selectAbout.all(subjectId, tenantId, limit).sort(newestFirst);

  return { find, findStored, about, withData, withOutcomes };
}

function newestFirst(a: EventKey, b: EventKey): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1);
}

/** The statement of the events about a subject. */
export const EVENTS_ABOUT_SQL = `SELECT ${EVENT_COLUMNS}, data FROM events INDEXED BY events_by_subject
  WHERE subject_id = ? AND tenant_id = ? ORDER BY rowid DESC LIMIT ?`;

/** The statement of a page in commit order. */
export const STORED_EVENTS_SQL = `SELECT ${EVENT_COLUMNS.replace('tenant_id', 'e.tenant_id')}, position
  FROM event_positions p CROSS JOIN events e ON e.id = p.event_id AND e.tenant_id = +:tenantId
  WHERE p.tenant_id = :tenantId AND p.position > :after AND p.position <= :until
    AND (:types IS NULL OR e.type IN (SELECT value FROM json_each(:types)))
    AND e.created_at >= :from AND e.created_at < :to
  ORDER BY p.position LIMIT :limit`;

/** The statement of a page of events: an index scan. */
export function eventPageSql(shape: TypeShape): string {
  // Names the index: the planner rates the index by time equally, in which a rare type is a long scan.
  const [index, type] = shape === 'one' ? ['events_by_type', 'AND type = :type'] : ['events_by_time', ''];
  return `SELECT ${EVENT_COLUMNS} FROM events INDEXED BY ${index}
    WHERE tenant_id = :tenantId ${type}
      AND created_at >= :from AND created_at < :to AND (created_at, id) < (:createdAt, :id)
    ORDER BY created_at DESC, id DESC LIMIT :limit`;
}

/** The tables of the commit order (migration 032). */
const TABLES = { signals: 'signal_positions', events: 'event_positions' } as const;
type StoredKind = keyof typeof TABLES;

/** The end of a page, and whether there are more rows after it. */
type StoredEnd = Omit<StoredPage, 'count'>;

/**
 * The commit order of one kind of row: every number that becomes visible later is above all currently visible ones.
 */
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
    /** The highest assigned position; 0 if there is none. */
    newest: (tenantId: string): number => selectNewest.get(tenantId) ?? 0,
    /** The next `scan` positions after the end of the previous page. */
    range(tenantId: string, place: Pick<PageRequest, 'after'>, scan: number): PositionRange {
      const after = positionOf(place);
      return { after, until: selectUntil.get(tenantId, after, scan) ?? null };
    },
    /** The end of a page: its last row if it is full (`last`), otherwise the end of the range. */
    end(tenantId: string, { after, until }: PositionRange, last: number | null): StoredEnd {
      const next = last ?? until ?? after;
      return { next: [next], hasMore: until !== null && selectMore.get(tenantId, next) !== undefined };
    },
  };
}

/** The highest assigned position of a tenant, by kind. */
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

/** The position at the end of the previous page. @throws DomainError `INVALID_CURSOR` */
export function positionOf({ after }: Pick<PageRequest, 'after'>): number {
  const position = after === null ? 0 : after[0];
  if (typeof position === 'number') return position;
  throw new DomainError('INVALID_CURSOR', 'The cursor belongs to another order.');
}

/**
 * Positions that one page scans for deliveries to its endpoint, and the deliveries at them, 0.5 us each: each event may have one for each of the account's
 * endpoints, and 2,000 positions of 350 endpoints took 0.35 s.
 */
const MOST_PLACES = 2_000;
const MOST_DELIVERIES = 40_000;
/** With this many, the delivery of an event to an endpoint is searched among those to the endpoint, of which few are of the same millisecond. */
const MANY_ENDPOINTS = 2_000;
/** Bodies per page, in bytes: a hundred could be 25 MB. */
const MOST_BYTES = 1_048_576;
/** A position is at least the time of its commit, shifted by this many (migration 032). */
const PLACES_A_MS = 1_024;

interface FoundRow extends Omit<FeedRow, 'body'> {
  position: number;
}

/** Feeds of endpoints: deliveries at the positions of their events, and late ones at their own, in one order. */
export function feedReads(db: Database) {
  const selectUntil = db
    .prepare<Record<string, unknown>[], number | null>(
      `SELECT max(position) FROM (
         SELECT position FROM (
           SELECT * FROM (SELECT position FROM event_positions WHERE tenant_id = :tenantId AND position > :after
                          ORDER BY position LIMIT :scan)
           UNION ALL
           SELECT * FROM (SELECT position FROM late_deliveries WHERE tenant_id = :tenantId AND position > :after
                          ORDER BY position LIMIT :scan))
         ORDER BY position LIMIT :scan)`,
    )
    .pluck();
  const prepare = (endpoints: 'few' | 'many') =>
    db.prepare<Record<string, unknown>[], FoundRow>(feedSql(endpoints));
  const selectFound = { few: prepare('few'), many: prepare('many') };
  const selectBody = db
    .prepare<[string], string | null>(`SELECT ${WHOLE_BODY} FROM deliveries d ${BODY_JOINS} WHERE d.id = ?`)
    .pluck();
  const selectAny = db
    .prepare<Record<string, unknown>[], number>(
      `SELECT 1 FROM event_positions WHERE tenant_id = :tenantId AND position > :after AND position <= :until
       UNION ALL
       SELECT 1 FROM late_deliveries WHERE tenant_id = :tenantId AND position > :after AND position <= :until LIMIT 1`,
    )
    .pluck();

  const countEndpoints = db
    .prepare<[string], number>(
      `SELECT count(*) FROM (SELECT 1 FROM webhook_endpoints WHERE tenant_id = ? LIMIT ${MANY_ENDPOINTS})`,
    )
    .pluck();
  const placesFor = (endpoints: number) =>
    Math.min(MOST_PLACES, Math.floor(MOST_DELIVERIES / Math.max(1, endpoints)));

  const isAny = (tenantId: string, after: number, until: number) =>
    selectAny.get({ tenantId, after, until }) !== undefined;

  return {
    readFeed(tenantId, { endpointId, limit, after: cursor, since }) {
      const floor = Math.max(0, since) * PLACES_A_MS - 1;
      const asked = positionOf({ after: cursor });
      const truncated = cursor !== null && asked < floor && isAny(tenantId, asked, floor);
      const after = Math.max(asked, floor);
      const endpoints = countEndpoints.get(tenantId) ?? 0;
      const until = selectUntil.get({ tenantId, after, scan: placesFor(endpoints) }) ?? null;
      if (until === null) return { rows: [], count: 0, next: [after], hasMore: false, truncated };

      const shape = endpoints === MANY_ENDPOINTS ? 'many' : 'few';
      const found = selectFound[shape].all({ tenantId, endpointId, after, until, limit });
      const rows: FeedRow[] = [];
      let bytes = 0;
      // A full page ends at its last row, any other at the end of the range.
      let end = found.length === limit ? (found.at(-1)?.position ?? until) : until;
      let last = after;
      for (const { position, ...row } of found) {
        const body = selectBody.get(row.id) ?? null;
        if (body !== null) {
          bytes += Buffer.byteLength(body);
          if (bytes > MOST_BYTES && rows.length > 0) {
            end = last;
            break;
          }
          rows.push({ ...row, body });
        }
        last = position;
      }
      const hasMore = isAny(tenantId, end, Number.MAX_SAFE_INTEGER);
      return { rows, count: rows.length, next: [end], hasMore, truncated };
    },
  } satisfies Part<FeedStore>;
}

const SHOWN = 'd.id, d.event_type AS eventType, v.created_at AS happenedAt';
const FITS = "d.endpoint_id = +:endpointId AND d.status <> 'rejected' AND d.body_id IS NOT NULL";

/**
 * The statement of a range of a feed. A late delivery is not repeated at the position of its event. A delivery stored with its event
 * has the event's time: to search all deliveries of one event for that to an endpoint took 45 ms for 96,000.
 */
export function feedSql(endpoints: 'few' | 'many'): string {
  const ofEvent =
    endpoints === 'few'
      ? 'INDEXED BY deliveries_by_event ON d.event_id = p.event_id'
      : 'INDEXED BY deliveries_of_endpoint ON d.endpoint_id = :endpointId AND d.created_at = v.created_at AND +d.event_id = p.event_id';
  return `SELECT p.position, ${SHOWN}
  FROM event_positions p CROSS JOIN events v ON v.id = p.event_id
    CROSS JOIN deliveries d ${ofEvent}
  WHERE p.tenant_id = :tenantId AND p.position > :after AND p.position <= :until AND ${FITS}
    AND NOT EXISTS (SELECT 1 FROM late_deliveries l WHERE l.delivery_id = d.id)
  UNION ALL
  SELECT l.position, ${SHOWN}
  FROM late_deliveries l CROSS JOIN deliveries d ON d.id = l.delivery_id CROSS JOIN events v ON v.id = d.event_id
  WHERE l.tenant_id = :tenantId AND l.position > :after AND l.position <= :until AND ${FITS}
  ORDER BY 1 LIMIT :limit`;
}

/** The oldest batched events of an endpoint. */
const OLDEST = `SELECT event_id FROM batched_events INDEXED BY batched_events_waiting
  WHERE endpoint_id = :endpointId AND delivery_id IS NULL ORDER BY event_id LIMIT :limit`;

/** Batched events. */
export function batchReads(db: Database) {
  // Skips from endpoint to endpoint: the cost grows with endpoints that have batched events, not with the events.
  const selectWaiting = db.prepare<{ after: string; limit: number }, WaitingBatch>(
    `WITH RECURSIVE waiting (id, n) AS (
       SELECT min(endpoint_id), 1 FROM batched_events INDEXED BY batched_events_waiting
       WHERE delivery_id IS NULL AND endpoint_id > :after
       UNION ALL
       SELECT (SELECT min(b.endpoint_id) FROM batched_events b INDEXED BY batched_events_waiting
               WHERE b.delivery_id IS NULL AND b.endpoint_id > w.id), w.n + 1
       FROM waiting w WHERE w.id IS NOT NULL AND w.n < :limit)
     SELECT w.id AS endpointId, e.tenant_id AS tenantId, e.created_at AS since
     FROM waiting w JOIN events e ON e.id =
       (SELECT min(b.event_id) FROM batched_events b INDEXED BY batched_events_waiting
        WHERE b.endpoint_id = w.id AND b.delivery_id IS NULL)`,
  );
  return {
    listWaitingBatches: (after, limit) => selectWaiting.all({ after, limit }),
  } satisfies Part<BatchStore>;
}

/** A batched event, with its signal; null: it was deleted. */
export interface BatchedEvent {
  eventId: string;
  id: string | null;
  classification: Classification;
  score: number;
  /** A number too large for JavaScript, in digits. */
  seq: string;
}

/** Batched events of an endpoint, oldest first, in parts. */
export function createBatchScans(db: Database) {
  const selectPart = db.prepare<Record<string, unknown>[], BatchedEvent>(
    `SELECT b.event_id AS eventId, s.id, s.classification, s.score, CAST(s.seq AS TEXT) AS seq
     FROM batched_events b INDEXED BY batched_events_waiting
       JOIN events e ON e.id = b.event_id LEFT JOIN signals s ON s.id = e.subject_id
     WHERE b.endpoint_id = :endpointId AND b.delivery_id IS NULL AND b.event_id > :after
     ORDER BY b.event_id LIMIT :limit`,
  );
  const selectLast = db.prepare<[string], BatchedSignals['last']>(
    `SELECT id, tenant_id AS tenantId, type, subject_id AS subjectId, data, created_at AS createdAt
     FROM events WHERE id = ?`,
  );
  const selectWire = db.prepare<[string], string>('SELECT wire FROM signals WHERE id = ?').pluck();
  return {
    part: (endpointId: string, after: string, limit: number) => selectPart.all({ endpointId, after, limit }),
    last: (eventId: string) => selectLast.get(eventId) ?? null,
    wireOf: (signalId: string) => selectWire.get(signalId) ?? null,
  };
}

/** The best signals of the oldest `limit` batched events of an endpoint, as wire JSON. */
export function createBestOfBatch(
  db: Database,
): (endpointId: string, limit: number, best: number) => string[] {
  // Sorted without their texts: those of 5,000 signals, of up to 90 KB each, took 250 ms.
  const select = db
    .prepare<Record<string, unknown>[], string>(
      `SELECT id FROM signals WHERE id IN (
         SELECT e.subject_id FROM (${OLDEST}) o JOIN events e ON e.id = o.event_id)
       ORDER BY score DESC, seq DESC LIMIT :best`,
    )
    .pluck();
  const selectWire = db.prepare<[string], string>('SELECT wire FROM signals WHERE id = ?').pluck();

  return (endpointId, limit, best) =>
    select.all({ endpointId, limit, best }).flatMap((id) => selectWire.all(id));
}
