import type { ClaimStatements } from '../../changes/claims.ts';
import type { Connection } from '../connection.ts';
import { ENDPOINTS } from '../tables.ts';
import { type Async, count, row, rows, run, value } from './prepared.ts';

/** The condition of the partial indexes of waiting deliveries. */
export const WAITING = "status IN ('pending', 'retrying')";

/** Joins a delivery `d` with its body `b` and the tail `t` of the body. */
export const BODY_JOINS =
  'LEFT JOIN delivery_bodies b ON b.id = d.body_id LEFT JOIN body_tails t ON t.id = b.tail_id';

/** The whole body; null if it is no longer stored. */
export const WHOLE_BODY = "b.body || coalesce(t.text, '')";

interface Gathered {
  count: number;
  list: string | null;
  held: string | null;
  bodies: string | null;
}

export function claimsSql(db: Connection): Async<ClaimStatements['claims']> {
  const retriesAfter = "FROM deliveries WHERE status = 'retrying' AND (endpoint_id, body_id) > (?, ?)";
  const selectById = ENDPOINTS.select<[string]>(db, 'WHERE id = ?');
  const selectDue = gathered<[string, number, string[], number]>(
    db,
    'AND d.next_attempt_at <= ? AND d.id <> ALL (?::text[])',
  );
  const selectUrgent = gathered<[string, number, string[], number]>(
    db,
    'AND d.urgent AND d.next_attempt_at <= ? AND d.id <> ALL (?::text[])',
  );
  const selectOther = gathered<[string, number, string[], number]>(
    db,
    'AND NOT d.urgent AND d.next_attempt_at <= ? AND d.id <> ALL (?::text[])',
  );
  const selectOldest = gathered<[string, string[], number]>(db, 'AND d.id <> ALL (?::text[])');
  const selectLeftDue = value<[string, number, string[]], number>(
    db,
    `SELECT next_attempt_at FROM deliveries
     WHERE endpoint_id = ? AND ${WAITING} AND next_attempt_at <= ? AND id <> ALL (?::text[])
     ORDER BY next_attempt_at LIMIT 1`,
  );
  const selectUnready = rows<Record<string, unknown>[], { endpointId: string; refused: 0 | 1 }>(
    db,
    `WITH own AS MATERIALIZED (
       SELECT endpoint_id FROM lane_leases WHERE endpoint_id = ANY (:ids::text[]) AND token = :leaseToken
       ORDER BY endpoint_id FOR UPDATE SKIP LOCKED)
     SELECT "endpointId", refused::int FROM (
       SELECT j.id AS "endpointId",
              e.id IS NULL OR coalesce(l.token <> :leaseToken AND l.until > :now, false)
                OR (:ownOnly::boolean AND own.endpoint_id IS NULL) AS refused,
              l.token IS DISTINCT FROM :leaseToken OR l.until < :renewBefore AS unleased
       FROM unnest(:ids::text[], :versions::bigint[]) j (id, version)
         LEFT JOIN webhook_endpoints e
           ON e.id = j.id AND e.version = j.version AND e.status = 'active' AND e.deleted_at IS NULL
         LEFT JOIN lane_leases l ON l.endpoint_id = j.id
         LEFT JOIN own ON own.endpoint_id = j.id) lanes
     WHERE refused OR unleased`,
  );
  return {
    selectLease: row(
      db,
      'SELECT endpoint_id, token, until, held FROM lane_leases WHERE endpoint_id = ? FOR UPDATE',
    ),
    writeLease: run(
      db,
      `INSERT INTO lane_leases (endpoint_id, token, until, held, process) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (endpoint_id) DO UPDATE SET
         token = excluded.token, until = excluded.until, held = excluded.held, process = excluded.process`,
    ),
    deleteLeases: run(db, 'DELETE FROM lane_leases WHERE token = ?'),
    selectDue: (endpointId, now, held, limit) => selectDue(endpointId, now, idsOf(held), limit),
    selectUrgent: (endpointId, now, held, limit) => selectUrgent(endpointId, now, idsOf(held), limit),
    selectOther: (endpointId, now, held, limit) => selectOther(endpointId, now, idsOf(held), limit),
    selectOldest: (endpointId, held, limit) => selectOldest(endpointId, idsOf(held), limit),
    selectOneDue: gathered(db, 'AND d.id = ?'),
    selectFirstRetried: row(
      db,
      `SELECT id, next_attempt_at AS "dueAt" FROM deliveries
       WHERE endpoint_id = ? AND status = 'retrying' ORDER BY body_id LIMIT 1`,
    ),
    selectFirstPending: row(
      db,
      `SELECT id, next_attempt_at AS "dueAt" FROM deliveries
       WHERE endpoint_id = ? AND ${WAITING} ORDER BY next_attempt_at, body_id LIMIT 1`,
    ),
    selectEarlierRemainder: value(
      db,
      `SELECT 1 FROM deliveries d JOIN event_remainders r ON r.tenant_id = d.tenant_id AND r.event_id < d.event_id
       WHERE d.id = ? LIMIT 1`,
    ),
    selectLeftDue: (endpointId, now, held) => selectLeftDue(endpointId, now, idsOf(held)),
    selectNextDue: value(
      db,
      `SELECT next_attempt_at FROM deliveries
       WHERE endpoint_id = ? AND ${WAITING} AND next_attempt_at > ? ORDER BY next_attempt_at LIMIT 1`,
    ),
    selectLastRetry: row(
      db,
      `SELECT "endpointId", "bodyId" FROM (
         SELECT endpoint_id AS "endpointId", body_id AS "bodyId" ${retriesAfter} ORDER BY endpoint_id, body_id LIMIT ?
       ) r ORDER BY "endpointId" DESC, "bodyId" DESC LIMIT 1`,
    ),
    shiftRetries: run(
      db,
      `UPDATE deliveries SET next_attempt_at = next_attempt_at + ?
       WHERE id IN (SELECT id ${retriesAfter} AND (endpoint_id, body_id) <= (?, ?))`,
    ),
    pullFirstAttempts: count(
      db,
      `UPDATE deliveries SET next_attempt_at = ? WHERE id IN
         (SELECT id FROM deliveries WHERE status = 'pending' AND next_attempt_at > ? LIMIT ?)`,
    ),
    selectActiveVersion: row(
      db,
      `SELECT version, ordered::int FROM webhook_endpoints
       WHERE id = ? AND status = 'active' AND deleted_at IS NULL`,
    ),
    selectById: selectById.get,
    selectUnready({ lanes, ...terms }) {
      const versions = JSON.parse(String(lanes)) as Record<string, number>;
      return selectUnready({ ...terms, ids: Object.keys(versions), versions: Object.values(versions) });
    },
    // Deliveries claimed by the same process stay held.
    renewLease: run(
      db,
      `INSERT INTO lane_leases (endpoint_id, token, until, held, process) VALUES (?, ?, ?, '{}', ?)
       ON CONFLICT (endpoint_id) DO UPDATE SET
         held = CASE WHEN lane_leases.token = excluded.token THEN lane_leases.held ELSE excluded.held END,
         token = excluded.token, until = excluded.until, process = excluded.process`,
    ),
  };
}

/** The delivery IDs in a claim's text `{delivery id: attempt}`. */
export function idsOf(held: string): string[] {
  return Object.keys(JSON.parse(held) as object);
}

/** The waiting deliveries of one endpoint that match `terms`, up to a number, as one row. */
function gathered<P extends unknown[]>(db: Connection, terms: string) {
  const select = row<P, Gathered>(
    db,
    `SELECT count(*) AS count,
       string_agg('"' || id || '","' || event_type || '",' || (attempt_count + 1) || ','
         || (attempt_count - cycle_start) || ',' || octet_length(body), ',' ORDER BY next_attempt_at, id) AS list,
       string_agg('"' || id || '":' || (attempt_count + 1), ',' ORDER BY next_attempt_at, id) AS held,
       string_agg(body, '' ORDER BY next_attempt_at, id) AS bodies
     FROM (
       SELECT d.id, d.event_type, d.attempt_count, d.cycle_start, d.next_attempt_at, coalesce(${WHOLE_BODY}, '') AS body
       FROM deliveries d ${BODY_JOINS}
       WHERE d.endpoint_id = ? AND d.${WAITING} ${terms}
       ORDER BY d.next_attempt_at, d.id LIMIT ?) due`,
  );
  return async (...values: P) => {
    const { count = 0, list = null, held = null, bodies = null } = (await select(...values)) ?? {};
    return { count, list, held, bodies: bodies === null ? null : new TextEncoder().encode(bodies) };
  };
}
