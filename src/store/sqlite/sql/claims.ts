import type { Database } from 'better-sqlite3';
import type { ClaimStatements } from '../../changes/claims.ts';
import { ENDPOINTS } from '../reads/endpoints.ts';
import { BODY_JOINS, WAITING, WHOLE_BODY } from '../reads/shown-state.ts';
import { row, rows, run, value } from './prepared.ts';

export function claimsSql(db: Database): ClaimStatements['claims'] {
  const waitingIds = `SELECT id FROM deliveries INDEXED BY deliveries_due WHERE ${WAITING}`;
  return {
    selectLease: row(db, 'SELECT * FROM lane_leases WHERE endpoint_id = ?'),
    writeLease: run(
      db,
      `INSERT INTO lane_leases (endpoint_id, token, until, held, process) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (endpoint_id) DO UPDATE SET
       token = excluded.token, until = excluded.until, held = excluded.held, process = excluded.process`,
    ),
    deleteLeases: run(db, 'DELETE FROM lane_leases WHERE token = ?'),
    selectDue: row(
      db,
      gathered('deliveries_due', 'AND d.next_attempt_at <= ? AND d.id NOT IN (SELECT key FROM json_each(?))'),
    ),
    selectUrgent: row(
      db,
      gathered(
        'deliveries_urgent',
        'AND d.urgent = 1 AND d.next_attempt_at <= ? AND d.id NOT IN (SELECT key FROM json_each(?))',
      ),
    ),
    selectOldest: row(db, gathered('deliveries_due', 'AND d.id NOT IN (SELECT key FROM json_each(?))')),
    selectOneDue: row(db, gathered(null, 'AND d.id = ?')),
    selectFirstRetried: row(
      db,
      `SELECT id, next_attempt_at AS dueAt FROM deliveries INDEXED BY deliveries_retrying
     WHERE endpoint_id = ? AND status = 'retrying' ORDER BY body_id LIMIT 1`,
    ),
    selectFirstPending: row(
      db,
      `SELECT id, next_attempt_at AS dueAt FROM deliveries INDEXED BY deliveries_due
     WHERE endpoint_id = ? AND ${WAITING} ORDER BY next_attempt_at, body_id LIMIT 1`,
    ),
    selectLeftDue: value(
      db,
      `SELECT d.next_attempt_at FROM deliveries d INDEXED BY deliveries_due
       WHERE d.endpoint_id = +? AND d.${WAITING} AND d.next_attempt_at <= ?
         AND d.id NOT IN (SELECT key FROM json_each(?))
       ORDER BY d.next_attempt_at LIMIT 1`,
    ),
    selectNextDue: value(
      db,
      `SELECT next_attempt_at FROM deliveries INDEXED BY deliveries_due
       WHERE endpoint_id = +? AND ${WAITING} AND next_attempt_at > ? ORDER BY next_attempt_at LIMIT 1`,
    ),
    shiftRetries: run(
      db,
      `UPDATE deliveries SET next_attempt_at = next_attempt_at + ? WHERE id IN (${waitingIds} AND status = 'retrying')`,
    ),
    pullFirstAttempts: run(
      db,
      `UPDATE deliveries SET next_attempt_at = ?
     WHERE id IN (${waitingIds} AND status = 'pending' AND next_attempt_at > ?)`,
    ),
    selectActiveVersion: row(
      db,
      "SELECT version, ordered FROM webhook_endpoints WHERE id = ? AND status = 'active' AND deleted_at IS NULL",
    ),
    selectById: ENDPOINTS.select(db, 'WHERE id = ?').get,
    // Usually none: each lane is as the caller knows it, and its lease is still valid.
    selectUnready: rows(
      db,
      `SELECT endpointId, refused FROM (
       SELECT j.key AS endpointId, e.id IS NULL OR ifnull(l.token <> :leaseToken AND l.until > :now, 0) AS refused,
              l.token IS NOT :leaseToken OR l.until < :renewBefore AS unleased
       FROM json_each(:lanes) j
         LEFT JOIN webhook_endpoints e
           ON e.id = j.key AND e.version = j.value AND e.status = 'active' AND e.deleted_at IS NULL
         LEFT JOIN lane_leases l ON l.endpoint_id = j.key)
     WHERE refused OR unleased`,
    ),
    // Deliveries claimed by the same process stay held.
    renewLease: run(
      db,
      `INSERT INTO lane_leases (endpoint_id, token, until, held, process) VALUES (?, ?, ?, '{}', ?)
     ON CONFLICT (endpoint_id) DO UPDATE SET
       held = iif(token = excluded.token, held, excluded.held),
       token = excluded.token, until = excluded.until, process = excluded.process`,
    ),
  };
}

/**
 * The waiting deliveries of one endpoint that match `terms`, up to a number, as one row. Values with a unary plus are
 * hidden from the planner (docs/decisions/frequent-statements-hide-parameters-from-the-planner.md).
 */
function gathered(index: 'deliveries_due' | 'deliveries_urgent' | null, terms: string): string {
  const by = index === null ? '' : `INDEXED BY ${index}`;
  return `SELECT count(*) AS count,
      group_concat('"' || id || '","' || event_type || '",' || (attempt_count + 1) || ','
        || (attempt_count - cycle_start) || ',' || octet_length(body)) AS list,
      group_concat('"' || id || '":' || (attempt_count + 1)) AS held,
      CAST(group_concat(body, '') AS BLOB) AS bodies
    FROM (
      SELECT d.id, d.event_type, d.attempt_count, d.cycle_start, coalesce(${WHOLE_BODY}, '') AS body
      FROM deliveries d ${by} ${BODY_JOINS}
      WHERE d.endpoint_id = +? AND d.${WAITING} ${terms}
      ORDER BY d.next_attempt_at, d.id LIMIT +?)`;
}
