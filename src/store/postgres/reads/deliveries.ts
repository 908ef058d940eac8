import { HOUR_MS } from '../../../lib/clock.ts';
import { addAll } from '../../../lib/lists.ts';
import { MOST_ATTEMPTS } from '../../../model/constants.ts';
import {
  type AttemptLog,
  type AttemptRecord,
  type DeliveryStatus,
  sentHeaders,
} from '../../../model/delivery.ts';
import { FAILED } from '../../../rules/deliveries.ts';
import type { AttemptDetail } from '../../changes/deliveries.ts';
import type {
  AttemptDay,
  AttemptTally,
  DeliveryLogStore,
  DeliveryQuery,
  DeliverySummary,
  ListedDelivery,
} from '../../delivery-log-store.ts';
import type { DeliveryStore } from '../../delivery-store.ts';
import { type NamedParameters, pageOf, type WhereClause } from '../../pages.ts';
import type { Connection } from '../connection.ts';
import { BODY_JOINS, WAITING, WHOLE_BODY } from '../sql/claims.ts';
import { ask, row, rows, value } from '../sql/prepared.ts';
import { Table } from '../tables.ts';
import { positionOf, SHOWN_COLUMNS, SHOWN_JOINS, SHOWN_STATUS } from './events.ts';

type AttemptRow = Omit<AttemptRecord, keyof AttemptDetail> & { deliveryId: string; detail: string };

const ATTEMPTS = new Table<AttemptRow>('attempts', {
  ...{ id: 'plain', deliveryId: 'plain', attempt: 'plain', startedAt: 'plain', durationMs: 'plain' },
  detail: 'plain',
});

function toAttempt({ deliveryId, detail, ...own }: AttemptRow): AttemptLog {
  const kept = JSON.parse(detail) as AttemptDetail;
  const requestHeaders = kept.sent === null ? {} : sentHeaders({ deliveryId, ...own }, kept.sent);
  return { ...own, ...kept, requestHeaders };
}

/** Deliveries with their details. */
export function deliveryReads(db: Connection) {
  const selectOne = row<[string, string], DeliverySummary & { body: string | null }>(
    db,
    `SELECT ${SHOWN_COLUMNS}, ${WHOLE_BODY} AS body FROM deliveries d ${SHOWN_JOINS} ${BODY_JOINS}
     WHERE d.id = ? AND d.tenant_id = ?`,
  );
  const selectSummary = row<[string, string], DeliverySummary>(
    db,
    `SELECT ${SHOWN_COLUMNS} FROM deliveries d ${SHOWN_JOINS} WHERE d.id = ? AND d.tenant_id = ?`,
  );
  const attemptsOf = ATTEMPTS.select<[string, string]>(
    db,
    `WHERE delivery_id = ? AND id IN (SELECT id FROM attempts WHERE delivery_id = ? ORDER BY attempt DESC, started_at DESC, id DESC LIMIT ${MOST_ATTEMPTS})
     ORDER BY attempt, started_at, id`,
  );
  const countWaiting = value<[string, number], number>(
    db,
    `SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE endpoint_id = ? AND ${WAITING} LIMIT ?) waiting`,
  );
  const hoursOf = `FROM webhook_endpoints e JOIN endpoint_hours h ON h.endpoint_id = e.id AND h.hour >= :hour
    WHERE e.tenant_id = :tenantId AND e.deleted_at IS NULL`;
  const tallyAttempts = rows<[NamedParameters], AttemptTally>(
    db,
    `SELECT h.endpoint_id AS "endpointId", h.speed, sum(h.count)::bigint AS count ${hoursOf}
     AND e.id = :endpointId
     GROUP BY h.endpoint_id, h.speed ORDER BY h.endpoint_id, h.speed`,
  );
  const tallyDays = rows<[NamedParameters], AttemptDay>(
    db,
    `SELECT to_char('epoch'::timestamp + h.hour / 24 * interval '1 day', 'YYYY-MM-DD') AS day,
            coalesce(sum(h.count) FILTER (WHERE h.speed <> ${FAILED}), 0)::bigint AS succeeded,
            coalesce(sum(h.count) FILTER (WHERE h.speed = ${FAILED}), 0)::bigint AS failed
     ${hoursOf} AND e.id = :endpointId GROUP BY h.hour / 24 ORDER BY h.hour / 24`,
  );
  const hourOf = (since: number) => Math.floor(since / HOUR_MS);

  return {
    tallyAttempts: (tenantId, { endpointId, since }) =>
      tallyAttempts({ tenantId, endpointId, hour: hourOf(since) }),
    tallyAttemptDays: (tenantId, { endpointId, since }) =>
      tallyDays({ tenantId, endpointId, hour: hourOf(since) }),
    async getDelivery(tenantId, id) {
      const [found, attempts] = await Promise.all([selectOne(id, tenantId), attemptsOf.all(id, id)]);
      return found === undefined ? null : { ...found, attempts: attempts.map(toAttempt) };
    },
    findDelivery: async (tenantId, id) => (await selectSummary(id, tenantId)) ?? null,
    countWaiting: async (endpointId, most) => (await countWaiting(endpointId, most)) ?? 0,
  } satisfies Partial<DeliveryStore> & Partial<DeliveryLogStore>;
}

type DeliveryListRow = DeliverySummary & Omit<AttemptRow, 'id' | 'deliveryId' | 'attempt'>;

/** The columns of {@link DeliveryListRow}, for deliveries `d` and their last attempt. */
const LISTED = `${SHOWN_COLUMNS}, a.started_at AS "startedAt", a.duration_ms AS "durationMs", a.detail`;
const LAST_ATTEMPT = `LEFT JOIN LATERAL (
    SELECT started_at, duration_ms, detail FROM attempts WHERE delivery_id = d.id AND d.attempt_count > 0
    ORDER BY attempt DESC, started_at DESC, id DESC LIMIT 1) a ON true`;

function toListed({ startedAt, durationMs, detail, ...delivery }: DeliveryListRow): ListedDelivery {
  if (startedAt === null) return { ...delivery, lastAttempt: null };
  const { response, error } = JSON.parse(detail) as AttemptDetail;
  const responseStatus = response?.status ?? null;
  return {
    ...delivery,
    lastAttempt: { startedAt, durationMs, responseStatus, errorCode: error?.code ?? null },
  };
}

function add(where: WhereClause, condition: string, ...values: unknown[]): void {
  where.conditions.push(condition);
  addAll(where.values, values);
}

/** Pages of deliveries. */
export function deliveryPageReads(db: Connection) {
  const selectOwner = value<[string], string>(db, 'SELECT tenant_id FROM webhook_endpoints WHERE id = ?');
  const storedPlaces = createStoredPlaces(db);

  return {
    async listDeliveries(tenantId, query) {
      const { endpointId, limit } = query;
      if (endpointId !== null && (await selectOwner(endpointId)) !== tenantId)
        return { rows: [], last: null };
      const { conditions, values } = whereOf(tenantId, query);
      const found = await ask<DeliveryListRow>(
        db,
        `SELECT ${LISTED}
         FROM (SELECT d.* FROM deliveries d ${isOfFew(query) ? SHOWN_JOINS : ''} WHERE ${conditions.join(' AND ')}
               ORDER BY d.created_at DESC, d.id DESC LIMIT ?) d
           ${SHOWN_JOINS} ${LAST_ATTEMPT} ORDER BY d.created_at DESC, d.id DESC`,
        [...values, limit + 1],
      );
      return pageOf(found, limit, {
        toRow: toListed,
        position: ({ createdAt, id }) => [createdAt, id],
      });
    },
    async listStoredDeliveries(tenantId, query) {
      const { found, next, hasMore } = await storedPlaces(tenantId, query);
      return { count: found.length, rows: found, next, hasMore };
    },
  } satisfies Partial<DeliveryLogStore>;
}

/** An event or a subject has few deliveries: all are read, and filtered by their displayed state. */
function isOfFew({ eventId, subjectId = null }: DeliveryQuery): boolean {
  return eventId !== null || subjectId !== null;
}

function whereOf(tenantId: string, query: DeliveryQuery): WhereClause {
  const { endpointId, status, eventType, eventId, subjectId = null, from, to, after } = query;
  const where: WhereClause = { conditions: [], values: [] };
  add(where, 'd.tenant_id = ?', tenantId);
  if (eventId !== null) add(where, 'd.event_id = ?', eventId);
  if (subjectId !== null) add(where, 'v.subject_id = ?', subjectId);
  if (endpointId !== null) add(where, 'd.endpoint_id = ?', endpointId);
  if (status !== null && isOfFew(query)) add(where, `${SHOWN_STATUS} = ?`, status);
  if (status !== null && !isOfFew(query)) addStatus(where, tenantId, status);
  if (eventType !== null) add(where, 'd.event_type = ?', eventType);
  if (from !== null) add(where, 'd.created_at >= ?', from);
  if (to !== null) add(where, 'd.created_at < ?', to);
  if (after !== null)
    add(where, '(d.created_at, d.id) < (?, ?)', Number(after[0] ?? 0), String(after[1] ?? ''));
  return where;
}

/** Literal statuses, as in the partial indexes. */
function addStatus(where: WhereClause, tenantId: string, status: DeliveryStatus): void {
  const waits = status === 'held' || status === 'pending' || status === 'retrying';
  if (!waits) {
    const ended = ['dead', 'discarded', 'rejected', 'expired'].includes(status);
    if (ended) add(where, "d.status IN ('dead', 'discarded', 'rejected', 'expired')");
    add(
      where,
      status === 'delivered' ? "d.status = 'delivered'" : 'd.status = ?',
      ...(status === 'delivered' ? [] : [status]),
    );
    return;
  }
  add(where, `d.${WAITING}`);
  if (status !== 'held') add(where, 'd.status = ?', status);
  const state = status === 'held' ? 'paused' : 'active';
  add(
    where,
    'd.endpoint_id IN (SELECT id FROM webhook_endpoints WHERE tenant_id = ? AND status = ? AND deleted_at IS NULL)',
    ...[tenantId, state],
  );
}

/** The number of deliveries that a page in commit order scans; and the number of positions read at a time. */
const LOOKED_AT = 1_000;
const PLACES_AT_ONCE = 200;
/** Sorts after every ID at one position. */
const BEHIND_ALL = '~';

/** A page in commit order. */
function createStoredPlaces(db: Connection) {
  const stretchOf = (table: string, eventId: string, deliveryId: string) =>
    `(SELECT position, ${eventId} AS "eventId", ${deliveryId} AS "deliveryId" FROM ${table}
      WHERE tenant_id = :tenantId AND position >= :from ORDER BY position LIMIT ${PLACES_AT_ONCE})`;
  const made = `${stretchOf('event_positions', 'event_id', 'NULL::text')}
    UNION ALL ${stretchOf('late_deliveries', 'NULL::text', 'delivery_id')}`;
  const dead = stretchOf('dead_letter_positions', 'NULL::text', 'delivery_id');
  const places = (stretch: string) =>
    `SELECT * FROM (${stretch}) places ORDER BY position LIMIT ${PLACES_AT_ONCE}`;
  // A delivery stored after its event has its own position.
  const listed = (stretch: string) =>
    rows<[NamedParameters], DeliveryListRow & { position: number }>(
      db,
      `SELECT d.position, ${LISTED}
       FROM (SELECT p.position, d.* FROM (${places(stretch)}) p JOIN deliveries d ON
               CASE WHEN p."eventId" IS NULL THEN d.id = p."deliveryId"
                    ELSE d.event_id = p."eventId" AND NOT EXISTS (SELECT 1 FROM late_deliveries l WHERE l.delivery_id = d.id)
               END
             WHERE (p.position, d.id) > (:from, :afterId COLLATE "C") ORDER BY p.position, d.id LIMIT ${LOOKED_AT + 1}) d
         ${SHOWN_JOINS} ${LAST_ATTEMPT} ORDER BY d.position, d.id`,
    );
  const select = {
    made: { places: rows<[NamedParameters], { position: number }>(db, places(made)), listed: listed(made) },
    dead: { places: rows<[NamedParameters], { position: number }>(db, places(dead)), listed: listed(dead) },
  };

  return async (tenantId: string, query: DeliveryQuery) => {
    const { after: cursor, status, limit } = query;
    const from = positionOf(query);
    const afterId = cursor === null ? BEHIND_ALL : String(cursor[1] ?? BEHIND_ALL);
    const { places, listed } = select[status === 'dead' ? 'dead' : 'made'];
    const [stretch, deliveries] = await Promise.all([
      places({ tenantId, from }),
      listed({ tenantId, from, afterId }),
    ]);
    const atPlace = Map.groupBy(deliveries, ({ position }) => position);
    const found: ListedDelivery[] = [];
    let next: [number, string] = [from, afterId];
    let looked = 0;
    for (const { position } of stretch) {
      for (const { position: _, ...delivery } of atPlace.get(position) ?? []) {
        if (looked === LOOKED_AT || found.length === limit) return { found, next, hasMore: true };
        looked++;
        next = [position, delivery.id];
        if (fits(delivery, query)) found.push(toListed(delivery));
      }
      next = [position, BEHIND_ALL];
    }
    return { found, next, hasMore: stretch.length === PLACES_AT_ONCE };
  };
}

function fits(row: DeliverySummary, query: DeliveryQuery): boolean {
  const { endpointId, status, eventType, eventId, subjectId = null, from, to } = query;
  return (
    (subjectId === null || row.subjectId === subjectId) &&
    (eventId === null || row.eventId === eventId) &&
    (endpointId === null || row.endpointId === endpointId) &&
    (status === null || row.status === status) &&
    (eventType === null || row.eventType === eventType) &&
    (from === null || row.createdAt >= from) &&
    (to === null || row.createdAt < to)
  );
}
