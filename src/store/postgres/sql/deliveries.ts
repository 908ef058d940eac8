import { addAll } from '../../../lib/lists.ts';
import type { DeliveryKey, DeliveryStatements, WalkTerms } from '../../changes/deliveries.ts';
import type { SqlFragment } from '../../pages.ts';
import type { Connection } from '../connection.ts';
import { WAITING } from './claims.ts';
import { type Async, changed, count, row, rows, run, value, values } from './prepared.ts';

export function deliveriesSql(db: Connection): Async<DeliveryStatements['deliveries']> {
  const selectPaused = rows<[number], { id: string; settings: { dead_letter: boolean } }>(
    db,
    "SELECT id, settings FROM webhook_endpoints WHERE status = 'paused' AND deleted_at IS NULL AND paused_at <= ?",
  );
  return {
    insertAttempt: run(
      db,
      'INSERT INTO attempts (id, delivery_id, attempt, started_at, duration_ms, detail) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    countAttempts: run(
      db,
      `INSERT INTO endpoint_hours (endpoint_id, hour, speed, count) VALUES (?, ?, ?, ?)
       ON CONFLICT (endpoint_id, hour, speed) DO UPDATE SET count = endpoint_hours.count + excluded.count`,
    ),
    selectCounted: values(
      db,
      'SELECT DISTINCT endpoint_id FROM endpoint_hours WHERE endpoint_id > ? ORDER BY endpoint_id LIMIT ?',
    ),
    mergeHours: run(
      db,
      `INSERT INTO endpoint_hours (endpoint_id, hour, speed, count)
       SELECT endpoint_id, hour / 24 * 24, speed, sum(count) FROM endpoint_hours
       WHERE endpoint_id > ? AND endpoint_id <= ? AND hour < ? AND hour % 24 <> 0
       GROUP BY 1, 2, 3
       ON CONFLICT (endpoint_id, hour, speed) DO UPDATE SET count = endpoint_hours.count + excluded.count`,
    ),
    deleteMergedHours: run(
      db,
      'DELETE FROM endpoint_hours WHERE endpoint_id > ? AND endpoint_id <= ? AND hour < ? AND hour % 24 <> 0',
    ),
    deleteHours: run(
      db,
      'DELETE FROM endpoint_hours WHERE endpoint_id > ? AND endpoint_id <= ? AND hour < ?',
    ),
    finishOutcome: changed(
      db,
      `UPDATE deliveries SET status = ?, next_attempt_at = ?, expires_at = ?, attempt_count = ?
       WHERE id = ? AND attempt_count = ? AND ${WAITING}`,
    ),
    finishDelivered: changed(
      db,
      `UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL, attempt_count = ?
       WHERE id = ? AND attempt_count = ? AND ${WAITING}`,
    ),
    // A failed probe does not use up a retry of its delivery: the number of attempts in its cycle stays the same.
    spare: run(db, 'UPDATE deliveries SET cycle_start = cycle_start + 1 WHERE id = ?'),
    selectBody: value(db, 'SELECT 1 FROM deliveries WHERE id = ? AND body_id IS NOT NULL'),
    selectOne: row(
      db,
      `SELECT d.status, d.endpoint_id, (d.body_id IS NOT NULL)::int AS has_body,
              (e.deleted_at IS NOT NULL)::int AS deleted, (e.mode = 'pull')::int AS pull
       FROM deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id WHERE d.id = ? AND d.tenant_id = ?`,
    ),
    again: changed(
      db,
      `UPDATE deliveries SET status = 'pending', next_attempt_at = ?, cycle_start = attempt_count, expires_at = NULL
       WHERE id = ? AND status = ? AND body_id IS NOT NULL`,
    ),
    async selectPausedSince(heldBefore) {
      const lanes = await selectPaused(heldBefore);
      return lanes.map(({ id, settings }) => ({ id, dead_letter: Number(settings.dead_letter) }));
    },
    endHeld: rows(
      db,
      `UPDATE deliveries SET status = ?, next_attempt_at = NULL, expires_at = ? WHERE id = ANY (ARRAY(
         SELECT id FROM deliveries WHERE endpoint_id = ? AND ${WAITING} AND next_attempt_at <= ?
         ORDER BY next_attempt_at LIMIT ? FOR UPDATE))
       RETURNING id`,
    ),
    selectExpired: values(
      db,
      "SELECT id FROM deliveries WHERE status = 'dead' AND expires_at <= ? LIMIT ? FOR UPDATE",
    ),
    markExpired: run(db, "UPDATE deliveries SET status = 'expired' WHERE id = ?"),
    selectUncleared: values(
      db,
      'SELECT id FROM webhook_endpoints WHERE deleted_at IS NOT NULL AND NOT cleared',
    ),
    markCleared: run(db, 'UPDATE webhook_endpoints SET cleared = true WHERE id = ?'),
    // Those of a day that has a table go with it.
    deleteAttempts: count(
      db,
      `DELETE FROM attempts_other
       WHERE id = ANY (ARRAY(SELECT id FROM attempts_other WHERE id < ? ORDER BY id LIMIT ?))`,
    ),
    deleteDelivery: run(db, 'DELETE FROM deliveries WHERE id = ?'),
    deleteBatched: run(db, 'DELETE FROM batched_events WHERE delivery_id = ?'),
    deleteLatePlace: run(db, 'DELETE FROM late_deliveries WHERE delivery_id = ?'),
    deleteDeadPlace: run(db, 'DELETE FROM dead_letter_positions WHERE delivery_id = ?'),
    selectRemovable: value(
      db,
      `SELECT 1 FROM deliveries d WHERE d.id = ? AND NOT (d.${WAITING})
         AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.delivery_id = d.id) FOR UPDATE`,
    ),
    deleteEndpoints: count(
      db,
      `DELETE FROM webhook_endpoints WHERE id = ANY (ARRAY(
         SELECT e.id FROM webhook_endpoints e WHERE e.deleted_at < ? AND e.cleared
           AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.endpoint_id = e.id) LIMIT ?))`,
    ),
    pruneTestSends: count(db, 'DELETE FROM test_sends WHERE started_at < ?'),
    insertTestSend: run(db, 'INSERT INTO test_sends (id, endpoint_id, started_at) VALUES (?, ?, ?)'),
    walk: createDeliveryWalk(db),
  };
}

const SELECT = 'SELECT created_at AS "createdAt", id FROM deliveries WHERE';
const ENDED_STATUSES = new Set(['dead', 'discarded', 'rejected', 'expired']);
/** The condition of the index `deliveries_ended`. */
const ENDED = "status IN ('dead', 'discarded', 'rejected', 'expired')";

/** Scans the deliveries of a tenant or an endpoint in order of time. */
function createDeliveryWalk(db: Connection): Async<DeliveryStatements['deliveries']>['walk'] {
  const all = (sql: string, terms: unknown[]) => rows<unknown[], DeliveryKey>(db, sql)(...terms);

  /** Scans `scan` deliveries after the key, and returns up to `limit` matches. */
  return async (terms, after, { scan, limit }) => {
    const order = `ORDER BY created_at ${terms.direction}, id ${terms.direction}`;
    const whole = rangeOf(terms, after, null);
    const filter = filterOf(terms);
    const edge =
      filter.sql === ''
        ? undefined
        : (await all(`${whole.sql} ${order} LIMIT 1 OFFSET ?`, [...whole.values, scan - 1])).at(0);
    const part = edge === undefined ? whole : rangeOf(terms, after, edge);
    const found = await all(`${part.sql}${filter.sql} ${order} LIMIT ?`, [
      ...part.values,
      ...filter.values,
      limit,
    ]);
    const last = found.length === limit ? found.at(-1) : edge;
    return { found, next: last ?? null };
  };
}

/** The scanned range: to the end of the terms' time, or up to and including `edge`. */
function rangeOf(terms: WalkTerms, after: DeliveryKey | null, edge: DeliveryKey | null): SqlFragment {
  const { sql, values } = scopeOf(terms);
  const { from, to } = { from: terms.from ?? 0, to: terms.to ?? Number.MAX_SAFE_INTEGER };
  const down = terms.direction === 'DESC';
  const start = after ?? { createdAt: down ? to : from, id: '' };
  const where: SqlFragment = {
    sql: `${sql} AND (created_at, id) ${down ? '<' : '>'} (?, ?) AND created_at ${down ? '>=' : '<'} ?`,
    values: [...values, start.createdAt, start.id, down ? from : to],
  };
  if (edge !== null) {
    where.sql += ` AND (created_at, id) ${down ? '>=' : '<='} (?, ?)`;
    addAll(where.values, [edge.createdAt, edge.id]);
  }
  return where;
}

function scopeOf({ tenantId, endpointId, statuses }: WalkTerms): SqlFragment {
  const [status] = statuses ?? [];
  if (status !== undefined && ENDED_STATUSES.has(status)) {
    return {
      sql: `${SELECT} tenant_id = ? AND ${ENDED} AND status = ?`,
      values: [tenantId, status],
    };
  }
  if (endpointId === null && status === 'delivered' && statuses?.length === 1) {
    return { sql: `${SELECT} tenant_id = ? AND status = 'delivered'`, values: [tenantId] };
  }
  return endpointId === null
    ? { sql: `${SELECT} tenant_id = ?`, values: [tenantId] }
    : { sql: `${SELECT} endpoint_id = ?`, values: [endpointId] };
}

/** The conditions that the index does not cover. */
function filterOf({ endpointId, statuses, eventType }: WalkTerms): SqlFragment {
  const ended = ENDED_STATUSES.has(statuses?.[0] ?? '');
  const parts: [string, unknown][] = [];
  if (ended && endpointId !== null) parts.push(['endpoint_id = ?', endpointId]);
  const known = endpointId === null && statuses?.[0] === 'delivered';
  if (!ended && !known && statuses !== null) parts.push(['status = ANY (?::text[])', statuses]);
  if (eventType !== null) parts.push(['event_type = ?', eventType]);
  return { sql: parts.map(([sql]) => ` AND ${sql}`).join(''), values: parts.map(([, terms]) => terms) };
}
