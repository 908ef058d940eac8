import type { Database, Statement } from 'better-sqlite3';
import type { DeliveryStatus } from '../../../model/delivery.ts';
import type { SkipReason } from '../../../model/event.ts';
import type { EventQuery, EventStore, RecordedEvent } from '../../event-store.ts';
import type { Part } from '../../store.ts';
import { creationOf } from './pages.ts';
import { SHOWN_STATUS } from './shown-state.ts';
import { createStoredOrder } from './stored-order.ts';

type KeptEvent = Omit<RecordedEvent, 'deliveries' | 'batched' | 'skips'>;

interface DeliveredRow {
  eventId: string;
  id: string;
  endpointId: string;
  status: DeliveryStatus;
  endpointDeleted: number;
}

/** Events of any type, or of one, which has an index of its own. */
export type TypeShape = 'any' | 'one';
type Values = Record<string, unknown>;

const FAR_FUTURE = Number.MAX_SAFE_INTEGER;
/** Sorts after every id. */
const LAST_ID = '~';

/** Rows that one page in the order by commit looks at for those that fit its filters, 3 us each. */
const MAX_LOOKED_AT = 2_000;

const KEPT = 'id, tenant_id AS tenantId, type, subject_id AS subjectId, created_at AS createdAt, data';
const DELIVERED = `d.id, d.endpoint_id AS endpointId, ${SHOWN_STATUS} AS status,
  e.deleted_at IS NOT NULL AS endpointDeleted`;

/** What pages of events are made of: events, and who was told of them. */
export function createEventPages(db: Database) {
  const prepare = (shape: TypeShape): Statement<Values[], KeptEvent> => db.prepare(eventPageSql(shape));
  const pages = { any: prepare('any'), one: prepare('one') };
  const selectDeliveries = db.prepare<[string], DeliveredRow>(
    `SELECT d.event_id AS eventId, ${DELIVERED}
     FROM deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id
     WHERE d.event_id IN (SELECT value FROM json_each(?)) ORDER BY d.endpoint_id, d.id`,
  );
  // A message of several is the delivery of the last of them, which is found above.
  const selectSentTogether = db.prepare<[string], DeliveredRow>(
    `SELECT b.event_id AS eventId, ${DELIVERED}
     FROM batched_events b JOIN deliveries d ON d.id = b.delivery_id AND d.event_id <> b.event_id
       JOIN webhook_endpoints e ON e.id = d.endpoint_id
     WHERE b.event_id IN (SELECT value FROM json_each(?)) ORDER BY d.endpoint_id, d.id`,
  );
  const selectBatched = db.prepare<[string], { eventId: string; endpointId: string }>(
    `SELECT event_id AS eventId, endpoint_id AS endpointId FROM batched_events
     WHERE event_id IN (SELECT value FROM json_each(?)) AND delivery_id IS NULL`,
  );
  const selectSkips = db.prepare<[string], { eventId: string; endpointId: string; reason: SkipReason }>(
    `SELECT s.event_id AS eventId, e.value AS endpointId, s.reason
     FROM event_skips s, json_each(s.endpoint_ids) e
     WHERE s.event_id IN (SELECT value FROM json_each(?)) ORDER BY e.value`,
  );

  function find(tenantId: string, { types, from, to, after }: EventQuery, limit: number): KeptEvent[] {
    const [createdAt, id] = creationOf(after) ?? [FAR_FUTURE, LAST_ID];
    const range = { tenantId, from: from ?? 0, to: to ?? FAR_FUTURE, createdAt, id, limit };
    if (types.length === 0) return pages.any.all(range);
    // A page of each type, of which the newest are taken: rare types among a million common ones are not searched for.
    const rows = [...new Set(types)].flatMap((type) => pages.one.all({ ...range, type }));
    return rows.sort(newestFirst).slice(0, limit);
  }

  const order = createStoredOrder(db, 'events');
  const selectStored: Statement<Values[], KeptEvent & { position: number }> = db.prepare(STORED_EVENTS_SQL);

  /** Events in the order by commit, and where the page ends. */
  function findStored(tenantId: string, query: EventQuery) {
    const { types, from, to, limit } = query;
    const isFiltered = types.length > 0 || (from ?? to) !== null;
    const stretch = order.stretch(tenantId, query, isFiltered ? MAX_LOOKED_AT : limit);
    const { after, until } = stretch;
    const found = selectStored.all({
      ...{ tenantId, after, until: until ?? after, limit },
      types: types.length === 0 ? null : JSON.stringify(types),
      from: from ?? 0,
      to: to ?? FAR_FUTURE,
    });
    const last = found.length === limit ? (found.at(-1)?.position ?? null) : null;
    const rows = found.map(({ position: _, ...event }): KeptEvent => event);
    return { rows, ...order.end(tenantId, stretch, last) };
  }

  function withOutcomes(rows: readonly KeptEvent[]): RecordedEvent[] {
    const ids = JSON.stringify(rows.map((row) => row.id));
    const deliveries = Map.groupBy(
      [...selectDeliveries.all(ids), ...selectSentTogether.all(ids)],
      (row) => row.eventId,
    );
    const batched = Map.groupBy(selectBatched.all(ids), (row) => row.eventId);
    const skips = Map.groupBy(selectSkips.all(ids), (row) => row.eventId);
    return rows.map((row) => ({
      ...row,
      deliveries: (deliveries.get(row.id) ?? []).map(({ eventId: _, endpointDeleted, ...delivery }) => ({
        ...delivery,
        endpointDeleted: endpointDeleted === 1,
      })),
      batched: (batched.get(row.id) ?? []).map(({ endpointId }) => endpointId),
      skips: (skips.get(row.id) ?? []).map(({ endpointId, reason }) => ({ endpointId, reason })),
    }));
  }

  return { find, findStored, withOutcomes };
}

/** What happened to one thing, and who was told. */
export function eventReads(db: Database) {
  const selectAbout = db.prepare<[string, string, number], KeptEvent>(
    `SELECT ${KEPT} FROM events INDEXED BY events_by_subject
     WHERE subject_id = ? AND tenant_id = ? ORDER BY created_at DESC, id DESC LIMIT ?`,
  );

  const { withOutcomes } = createEventPages(db);

  return {
    listEventsAbout: (tenantId, subjectId, limit) =>
      withOutcomes(selectAbout.all(subjectId, tenantId, limit)),
  } satisfies Part<EventStore>;
}

function newestFirst(a: KeptEvent, b: KeptEvent): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1);
}

/** The statement of a page in the order by commit. */
export const STORED_EVENTS_SQL = `SELECT ${KEPT.replace('tenant_id', 'e.tenant_id')}, position
  FROM event_positions p CROSS JOIN events e ON e.id = p.event_id AND e.tenant_id = +:tenantId
  WHERE p.tenant_id = :tenantId AND p.position > :after AND p.position <= :until
    AND (:types IS NULL OR e.type IN (SELECT value FROM json_each(:types)))
    AND e.created_at >= :from AND e.created_at < :to
  ORDER BY p.position LIMIT :limit`;

/** The statement of a page of events: a walk along an index. */
export function eventPageSql(shape: TypeShape): string {
  // Named: the planner thinks as much of the index by time, in which a rare type is a long walk.
  const [index, type] = shape === 'one' ? ['events_by_type', 'AND type = :type'] : ['events_by_time', ''];
  return `SELECT ${KEPT} FROM events INDEXED BY ${index}
    WHERE tenant_id = :tenantId ${type}
      AND created_at >= :from AND created_at < :to AND (created_at, id) < (:createdAt, :id)
    ORDER BY created_at DESC, id DESC LIMIT :limit`;
}
