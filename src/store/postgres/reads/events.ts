import { addAll } from '../../../lib/lists.ts';
import { CLASSIFICATIONS, MOST_OUTCOMES } from '../../../model/constants.ts';
import type { DeliveryStatus } from '../../../model/delivery.ts';
import { DomainError } from '../../../model/errors.ts';
import type { EventRow, SkipReason } from '../../../model/event.ts';
import type { PageRequest, StoredPage } from '../../../model/filters.ts';
import type { Classification } from '../../../model/signal.ts';
import type {
  BatchedSignals,
  BatchStore,
  EventStore,
  FeedRow,
  FeedStore,
  RecordedEvent,
  StoredWait,
  WaitingBatch,
} from '../../event-store.ts';
import { creationOf, type NamedParameters, type PositionRange, pageOf } from '../../pages.ts';
import type { Connection } from '../connection.ts';
import { BODY_JOINS, WHOLE_BODY } from '../sql/claims.ts';
import { rows, value, values } from '../sql/prepared.ts';

/**
 * Waiting deliveries are `held` while the endpoint is paused, and `discarded` once it is deleted; neither changes the
 * row.
 */
export const SHOWN_STATUS = `CASE
    WHEN d.status NOT IN ('pending', 'retrying') THEN d.status
    WHEN e.deleted_at IS NOT NULL THEN 'discarded'
    WHEN e.status = 'paused' THEN 'held'
    ELSE d.status END`;

/** The columns of a `DeliverySummary`, for `deliveries d`. */
export const SHOWN_COLUMNS = `d.id, d.endpoint_id AS "endpointId", d.event_id AS "eventId", d.event_type AS "eventType",
  v.subject_id AS "subjectId", ${SHOWN_STATUS} AS status, d.attempt_count AS "attemptCount",
  CASE WHEN e.status = 'active' AND e.deleted_at IS NULL THEN d.next_attempt_at END AS "nextAttemptAt",
  d.created_at AS "createdAt", d.expires_at AS "expiresAt"`;

/** The joins for {@link SHOWN_COLUMNS}. */
export const SHOWN_JOINS =
  'JOIN webhook_endpoints e ON e.id = d.endpoint_id JOIN events v ON v.id = d.event_id';

interface DeliveredRow {
  eventId: string;
  id: string;
  endpointId: string;
  status: DeliveryStatus;
  endpointDeleted: boolean;
}

const FAR_FUTURE = Number.MAX_SAFE_INTEGER;
/** Sorts after every id. */
const LAST_ID = '~';
/** Rows that a page in commit order scans for matches. */
const MAX_LOOKED_AT = 2_000;

const EVENT_COLUMNS = `e.id, e.tenant_id AS "tenantId", e.type, e.subject_id AS "subjectId", e.created_at AS "createdAt", e.data`;

const DELIVERED = `d.id, d.endpoint_id AS "endpointId", ${SHOWN_STATUS} AS status,
  e.deleted_at IS NOT NULL AS "endpointDeleted"`;

/** Outcomes read at once, about 10 ms of the thread of the requests, and events whose outcomes are read at once. */
const OUTCOMES_AT_ONCE = 4_000;
const EVENTS_AT_ONCE = 50;

/** The outcome of events per endpoint: three statements, sent at once, for as many events as have few enough. */
function createOutcomes(db: Connection): (events: readonly EventRow[]) => Promise<RecordedEvent[]> {
  const batchedOf = (ids: string) => `unnest(${ids}::text[]) v (id) CROSS JOIN LATERAL (
    SELECT * FROM batched_events WHERE event_id = v.id COLLATE "C" ORDER BY endpoint_id LIMIT ${MOST_OUTCOMES}) b`;
  // A batched message is the delivery of its last event, where it is found.
  const selectDeliveries = rows<[{ ids: string[] }], DeliveredRow>(
    db,
    `SELECT * FROM (
       SELECT d.event_id AS "eventId", false AS together, ${DELIVERED}
       FROM unnest(:ids::text[]) v (id) CROSS JOIN LATERAL (
           SELECT * FROM deliveries WHERE event_id = v.id COLLATE "C" LIMIT ${MOST_OUTCOMES}) d
         JOIN webhook_endpoints e ON e.id = d.endpoint_id
       UNION ALL
       SELECT b.event_id AS "eventId", true AS together, ${DELIVERED}
       FROM ${batchedOf(':ids')} JOIN deliveries d ON d.id = b.delivery_id AND d.event_id <> b.event_id
         JOIN webhook_endpoints e ON e.id = d.endpoint_id) told
     ORDER BY together, "endpointId", id`,
  );
  const selectBatched = rows<[string[]], { eventId: string; endpointId: string }>(
    db,
    `SELECT b.event_id AS "eventId", b.endpoint_id AS "endpointId" FROM ${batchedOf('?')}
     WHERE b.delivery_id IS NULL ORDER BY b.event_id, b.endpoint_id`,
  );
  const selectSkips = rows<[string[]], { eventId: string; endpointId: string; reason: SkipReason }>(
    db,
    `SELECT s.event_id AS "eventId", e.id AS "endpointId", s.reason
     FROM event_skips s, json_array_elements_text(s.endpoint_ids::json) e (id)
     WHERE s.event_id = ANY (?) ORDER BY e.id COLLATE "C"`,
  );

  // Counted first: one event says nothing about the next, and fifty with a thousand each were read at once.
  const countOutcomes = values<[string[]], number>(
    db,
    `SELECT (SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE event_id = v.id COLLATE "C" LIMIT ${MOST_OUTCOMES}) d)
       + (SELECT count(*) FROM (SELECT 1 FROM batched_events WHERE event_id = v.id COLLATE "C" LIMIT ${MOST_OUTCOMES}) b)
       + (SELECT coalesce(sum(json_array_length(endpoint_ids::json)), 0)::bigint FROM event_skips WHERE event_id = v.id COLLATE "C")
     FROM unnest(?::text[]) WITH ORDINALITY v (id, place) ORDER BY v.place`,
  );

  async function outcomesOf(events: readonly EventRow[]): Promise<RecordedEvent[]> {
    const ids = events.map(({ id }) => id);
    const found = await Promise.all([selectDeliveries({ ids }), selectBatched(ids), selectSkips(ids)]);
    const deliveries = Map.groupBy(found[0], ({ eventId }) => eventId);
    const batched = Map.groupBy(found[1], ({ eventId }) => eventId);
    const skips = Map.groupBy(found[2], ({ eventId }) => eventId);
    return events.map((event) => ({
      ...event,
      deliveries: (deliveries.get(event.id) ?? []).map(({ id, endpointId, status, endpointDeleted }) => ({
        ...{ id, endpointId, status, endpointDeleted },
      })),
      batched: (batched.get(event.id) ?? []).map(({ endpointId }) => endpointId),
      skips: (skips.get(event.id) ?? []).map(({ endpointId, reason }) => ({ endpointId, reason })),
    }));
  }

  return async (events) => {
    const counts = events.length > 1 ? await countOutcomes(events.map(({ id }) => id)) : [];
    const recorded: RecordedEvent[] = [];
    while (recorded.length < events.length) {
      const first = recorded.length;
      let [next, outcomes] = [first + 1, counts[first] ?? 0];
      while (next < events.length && next - first < EVENTS_AT_ONCE) {
        outcomes += counts[next] ?? 0;
        if (outcomes > OUTCOMES_AT_ONCE) break;
        next++;
      }
      addAll(recorded, await outcomesOf(events.slice(first, next)));
    }
    return recorded;
  };
}

/** Events, with their outcome per endpoint. */
export function eventReads(db: Connection) {
  const withOutcomes = createOutcomes(db);
  const selectAbout = rows<[string, string, number], EventRow>(
    db,
    `SELECT ${EVENT_COLUMNS} FROM events e WHERE subject_id = ? AND tenant_id = ? ORDER BY created_at DESC, id DESC LIMIT ?`,
  );
  const pageSql = (type: string) => `SELECT ${EVENT_COLUMNS} FROM events e
    WHERE tenant_id = :tenantId ${type}
      AND created_at >= :from AND created_at < :to AND (created_at, id) < (:createdAt, :id)
    ORDER BY created_at DESC, id DESC LIMIT :limit`;
  const selectPage = rows<[NamedParameters], EventRow>(db, pageSql(''));
  // The newest of each type: no search for rare types among a million common ones.
  const selectOfTypes = rows<[NamedParameters], EventRow>(
    db,
    `SELECT e.* FROM unnest(:types::text[]) t (name) CROSS JOIN LATERAL (${pageSql('AND type = t.name COLLATE "C"')}) e
     ORDER BY "createdAt" DESC, id DESC LIMIT :limit`,
  );
  const order = createStoredOrder(db, 'events');
  const selectStored = rows<[NamedParameters], EventRow & { position: number }>(
    db,
    `SELECT ${EVENT_COLUMNS}, p.position
     FROM event_positions p JOIN events e ON e.id = p.event_id AND e.tenant_id = p.tenant_id
     WHERE p.tenant_id = :tenantId AND p.position > :after AND p.position <= :until
       AND (:types::text[] IS NULL OR e.type = ANY (:types))
       AND e.created_at >= :from AND e.created_at < :to
     ORDER BY p.position LIMIT :limit`,
  );

  return {
    async listEvents(tenantId, { types, from, to, after, limit }) {
      const [createdAt, id] = creationOf(after) ?? [FAR_FUTURE, LAST_ID];
      const range = { tenantId, from: from ?? 0, to: to ?? FAR_FUTURE, createdAt, id, limit: limit + 1 };
      const found =
        types.length === 0
          ? await selectPage(range)
          : await selectOfTypes({ ...range, types: [...new Set(types)] });
      const page = pageOf(found, limit, {
        toRow: (event) => event,
        position: (event) => [event.createdAt, event.id],
      });
      return { rows: await withOutcomes(page.rows), last: page.last };
    },
    async listStoredEvents(tenantId, query) {
      const { types, from, to, limit } = query;
      const isFiltered = types.length > 0 || (from ?? to) !== null;
      const range = await order.range(tenantId, query, isFiltered ? MAX_LOOKED_AT : limit);
      const found = await selectStored({
        ...{ tenantId, after: range.after, until: range.until ?? range.after, limit },
        ...{ types: types.length === 0 ? null : types, from: from ?? 0, to: to ?? FAR_FUTURE },
      });
      const last = found.length === limit ? (found.at(-1)?.position ?? null) : null;
      const events = await withOutcomes(found.map(({ position: _, ...event }): EventRow => event));
      return { count: events.length, rows: events, ...(await order.end(tenantId, range, last)) };
    },
    listEventsAbout: async (tenantId, subjectId, limit) =>
      withOutcomes(await selectAbout(subjectId, tenantId, limit)),
  } satisfies Partial<EventStore>;
}

/**
 * The commit order of one kind of row: every number that becomes visible later is above all currently visible ones.
 */
export function createStoredOrder(db: Connection, kind: 'signals' | 'events') {
  const table = kind === 'signals' ? 'signal_positions' : 'event_positions';
  const selectUntil = value<[string, number, number], number | null>(
    db,
    `SELECT max(position) FROM
       (SELECT position FROM ${table} WHERE tenant_id = ? AND position > ? ORDER BY position LIMIT ?) places`,
  );
  const selectMore = value<[string, number], number>(
    db,
    `SELECT 1 FROM ${table} WHERE tenant_id = ? AND position > ? LIMIT 1`,
  );
  const selectNewest = value<[string], number | null>(
    db,
    `SELECT max(position) FROM ${table} WHERE tenant_id = ?`,
  );

  return {
    /** The highest assigned position; 0 if there is none. */
    newest: async (tenantId: string): Promise<number> => (await selectNewest(tenantId)) ?? 0,
    /** The next `scan` positions after the end of the previous page. */
    async range(tenantId: string, place: Pick<PageRequest, 'after'>, scan: number): Promise<PositionRange> {
      const after = positionOf(place);
      return { after, until: (await selectUntil(tenantId, after, scan)) ?? null };
    },
    /** The end of a page: its last row if it is full (`last`), otherwise the end of the range. */
    async end(
      tenantId: string,
      { after, until }: PositionRange,
      last: number | null,
    ): Promise<Omit<StoredPage, 'count'>> {
      const next = last ?? until ?? after;
      return { next: [next], hasMore: until !== null && (await selectMore(tenantId, next)) !== undefined };
    },
  };
}

/** The highest assigned position of a tenant, by kind. */
export function createNewestStored(
  db: Connection,
): (tenantId: string, kind: StoredWait['kind']) => Promise<number> {
  const orders = { signals: createStoredOrder(db, 'signals'), events: createStoredOrder(db, 'events') };
  const newestIn = (table: string) =>
    value<[string], number | null>(db, `SELECT max(position) FROM ${table} WHERE tenant_id = ?`);
  const selectLate = newestIn('late_deliveries');
  const selectDead = newestIn('dead_letter_positions');
  return async (tenantId, kind) => {
    if (kind === 'dead_letters') return (await selectDead(tenantId)) ?? 0;
    if (kind !== 'feeds') return orders[kind].newest(tenantId);
    return Math.max(await orders.events.newest(tenantId), (await selectLate(tenantId)) ?? 0);
  };
}

/** The position at the end of the previous page. @throws DomainError `INVALID_CURSOR` */
export function positionOf({ after }: Pick<PageRequest, 'after'>): number {
  const position = after === null ? 0 : after[0];
  if (typeof position === 'number') return position;
  throw new DomainError('INVALID_CURSOR', 'The cursor belongs to another order.');
}

/** Positions that one page scans for deliveries to its endpoint. */
const MOST_PLACES = 2_000;
/** Bodies per page, in bytes: a hundred could be 25 MB. */
const MOST_BYTES = 1_048_576;
/** A position is at least the time of its commit, shifted by this many bits. */
const PLACES_A_MS = 1_024;

const SHOWN = 'd.id, d.event_type AS "eventType", v.created_at AS "happenedAt"';
const FITS = "d.endpoint_id = :endpointId AND d.status <> 'rejected' AND d.body_id IS NOT NULL";

/** Feeds of endpoints: deliveries at the positions of their events, and late ones at their own, in one order. */
export function feedReads(db: Connection) {
  const selectUntil = value<[NamedParameters], number | null>(
    db,
    `SELECT max(position) FROM (
       SELECT position FROM (
         (SELECT position FROM event_positions WHERE tenant_id = :tenantId AND position > :after
          ORDER BY position LIMIT :scan)
         UNION ALL
         (SELECT position FROM late_deliveries WHERE tenant_id = :tenantId AND position > :after
          ORDER BY position LIMIT :scan)) both_kinds
       ORDER BY position LIMIT :scan) places`,
  );
  // A late delivery is not repeated at the position of its event.
  const selectFound = rows<[NamedParameters], Omit<FeedRow, 'body'> & { position: number }>(
    db,
    `SELECT p.position, ${SHOWN}
     FROM event_positions p JOIN events v ON v.id = p.event_id JOIN deliveries d ON d.event_id = p.event_id
     WHERE p.tenant_id = :tenantId AND p.position > :after AND p.position <= :until AND ${FITS}
       AND NOT EXISTS (SELECT 1 FROM late_deliveries l WHERE l.delivery_id = d.id)
     UNION ALL
     SELECT l.position, ${SHOWN}
     FROM late_deliveries l JOIN deliveries d ON d.id = l.delivery_id JOIN events v ON v.id = d.event_id
     WHERE l.tenant_id = :tenantId AND l.position > :after AND l.position <= :until AND ${FITS}
     ORDER BY 1 LIMIT :limit`,
  );
  const selectBody = value<[string], string | null>(
    db,
    `SELECT ${WHOLE_BODY} FROM deliveries d ${BODY_JOINS} WHERE d.id = ?`,
  );
  const selectAny = value<[NamedParameters], number>(
    db,
    `SELECT 1 FROM event_positions WHERE tenant_id = :tenantId AND position > :after AND position <= :until
     UNION ALL
     SELECT 1 FROM late_deliveries WHERE tenant_id = :tenantId AND position > :after AND position <= :until LIMIT 1`,
  );
  const isAny = async (tenantId: string, after: number, until: number) =>
    (await selectAny({ tenantId, after, until })) !== undefined;

  return {
    async readFeed(tenantId, { endpointId, limit, after: cursor, since }) {
      const floor = Math.max(0, since) * PLACES_A_MS - 1;
      const asked = positionOf({ after: cursor });
      const truncated = cursor !== null && asked < floor && (await isAny(tenantId, asked, floor));
      const after = Math.max(asked, floor);
      const until = (await selectUntil({ tenantId, after, scan: MOST_PLACES })) ?? null;
      if (until === null) return { rows: [], count: 0, next: [after], hasMore: false, truncated };

      const found = await selectFound({ tenantId, endpointId, after, until, limit });
      const feed: FeedRow[] = [];
      let bytes = 0;
      // A full page ends at its last row, any other at the end of the range.
      let end = found.length === limit ? (found.at(-1)?.position ?? until) : until;
      let last = after;
      for (const { position, ...row } of found) {
        const body = (await selectBody(row.id)) ?? null;
        if (body !== null) {
          bytes += Buffer.byteLength(body);
          if (bytes > MOST_BYTES && feed.length > 0) {
            end = last;
            break;
          }
          feed.push({ ...row, body });
        }
        last = position;
      }
      const hasMore = await isAny(tenantId, end, Number.MAX_SAFE_INTEGER);
      return { rows: feed, count: feed.length, next: [end], hasMore, truncated };
    },
  } satisfies Partial<FeedStore>;
}

/** The oldest batched events of an endpoint. */
const OLDEST = `SELECT event_id FROM batched_events
  WHERE endpoint_id = :endpointId AND delivery_id IS NULL ORDER BY event_id LIMIT :limit`;

/** The best signals of the oldest `limit` batched events of an endpoint, as wire JSON. */
export function createBestOfBatch(
  db: Connection,
): (endpointId: string, limit: number, best: number) => Promise<string[]> {
  const select = values<[NamedParameters], string>(
    db,
    `SELECT wire FROM signals WHERE id IN (
       SELECT e.subject_id FROM (${OLDEST}) o JOIN events e ON e.id = o.event_id)
     ORDER BY score DESC, seq DESC LIMIT :best`,
  );
  return (endpointId, limit, best) => select({ endpointId, limit, best });
}

/** Batched events. */
export function batchReads(db: Connection) {
  // Skips from endpoint to endpoint: the cost grows with endpoints that have batched events, not with the events.
  const selectWaiting = rows<[NamedParameters], WaitingBatch>(
    db,
    `WITH RECURSIVE waiting (id, n) AS (
       SELECT min(endpoint_id), 1 FROM batched_events WHERE delivery_id IS NULL AND endpoint_id > :after
       UNION ALL
       SELECT (SELECT min(b.endpoint_id) FROM batched_events b WHERE b.delivery_id IS NULL AND b.endpoint_id > w.id), w.n + 1
       FROM waiting w WHERE w.id IS NOT NULL AND w.n < :limit)
     SELECT w.id AS "endpointId", e.tenant_id AS "tenantId", e.created_at AS since
     FROM waiting w JOIN events e ON e.id =
       (SELECT min(b.event_id) FROM batched_events b WHERE b.endpoint_id = w.id AND b.delivery_id IS NULL)
     ORDER BY w.id`,
  );
  const selectLast = rows<[NamedParameters], BatchedSignals['last'] & { events: number }>(
    db,
    `SELECT o.n AS events, ${EVENT_COLUMNS}
     FROM (SELECT count(*) AS n, max(event_id) AS id FROM (${OLDEST}) oldest) o JOIN events e ON e.id = o.id`,
  );
  const countClasses = rows<[NamedParameters], { classification: Classification; n: number }>(
    db,
    `SELECT classification, count(*) AS n FROM signals WHERE id IN (
       SELECT e.subject_id FROM (${OLDEST}) o JOIN events e ON e.id = o.event_id) GROUP BY classification`,
  );
  const readBest = createBestOfBatch(db);

  return {
    listWaitingBatches: (after, limit) => selectWaiting({ after, limit }),
    async readBatch(endpointId, { limit, best }) {
      const [[found], classes, wires] = await Promise.all([
        selectLast({ endpointId, limit }),
        countClasses({ endpointId, limit }),
        readBest(endpointId, limit, best),
      ]);
      if (found === undefined) return null;
      const counted = new Map(classes.map(({ classification, n }) => [classification, n]));
      const counts = CLASSIFICATIONS.map((name) => [name, counted.get(name) ?? 0]);
      const { events, ...last } = found;
      return { events, last, counts: Object.fromEntries(counts) as BatchedSignals['counts'], wires };
    },
  } satisfies Partial<BatchStore>;
}
