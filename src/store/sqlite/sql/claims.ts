import type { Database } from 'better-sqlite3';
import type { ClaimStatements, DueRow, HeadRow } from '../../changes/claims.ts';
import { ENDPOINTS } from '../reads/endpoints.ts';
import { BODY_JOINS, WAITING, WHOLE_BODY } from '../reads/shown-state.ts';
import { count, row, rows, run, value } from './prepared.ts';

export function claimsSql(db: Database): ClaimStatements['claims'] {
  const retriesAfter = `FROM deliveries INDEXED BY deliveries_retrying
     WHERE status = 'retrying' AND (endpoint_id, body_id) > (?, ?)`;
  const selectDue = row<(string | number)[], DueRow>(db, gathered('w', eitherInOrder(DUE)));
  const selectOldest = row<(string | number)[], DueRow>(db, gathered('w', eitherInOrder(NOT_HELD)));
  const firstOf = (terms: string, order = 'd.next_attempt_at') =>
    either(
      (
        urgency,
      ) => `SELECT d.id, d.next_attempt_at AS dueAt, d.body_id FROM deliveries d INDEXED BY deliveries_due
       WHERE d.endpoint_id = +? AND ${urgency} AND d.${WAITING} ${terms} ORDER BY ${order} LIMIT 1`,
    );
  // Only for the first one do its equals matter, of which there may be a hundred thousand: all that a resumed endpoint held.
  const selectFirstPending = row<[string, string], HeadRow>(
    db,
    `SELECT id, dueAt FROM (${firstOf('', 'd.next_attempt_at, d.body_id')}) ORDER BY dueAt, body_id LIMIT 1`,
  );
  const selectLeftDue = value<(string | number)[], number>(
    db,
    `SELECT dueAt FROM (${firstOf(DUE)}) ORDER BY dueAt LIMIT 1`,
  );
  const selectNextDue = value<(string | number)[], number>(
    db,
    `SELECT dueAt FROM (${firstOf('AND d.next_attempt_at > ?')}) ORDER BY dueAt LIMIT 1`,
  );
  return {
    selectLease: row(db, 'SELECT * FROM lane_leases WHERE endpoint_id = ?'),
    writeLease: run(
      db,
      `INSERT INTO lane_leases (endpoint_id, token, until, held, process) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (endpoint_id) DO UPDATE SET
       token = excluded.token, until = excluded.until, held = excluded.held, process = excluded.process`,
    ),
    deleteLeases: run(db, 'DELETE FROM lane_leases WHERE token = ?'),
    selectDue: (endpointId, now, held, limit) =>
      selectDue(endpointId, now, held, limit, endpointId, now, held, limit, limit),
    selectUrgent: row(db, gathered('d', waiting('d.urgent = 1', DUE, BODY_JOINS))),
    selectOther: row(db, gathered('d', waiting('d.urgent = 0', DUE, BODY_JOINS))),
    selectOldest: (endpointId, held, limit) =>
      selectOldest(endpointId, held, limit, endpointId, held, limit, limit),
    selectOneDue: row(
      db,
      gathered(
        'd',
        `deliveries d ${BODY_JOINS} WHERE d.endpoint_id = +? AND d.${WAITING} AND d.id = ? LIMIT +?`,
      ),
    ),
    selectFirstRetried: row(
      db,
      `SELECT id, next_attempt_at AS dueAt FROM deliveries INDEXED BY deliveries_retrying
     WHERE endpoint_id = ? AND status = 'retrying' ORDER BY body_id LIMIT 1`,
    ),
    selectEarlierRemainder: value(
      db,
      `SELECT 1 FROM deliveries d JOIN event_remainders r ON r.tenant_id = d.tenant_id AND r.event_id < d.event_id
       WHERE d.id = ? LIMIT 1`,
    ),
    selectFirstPending: (endpointId) => selectFirstPending(endpointId, endpointId),
    selectLeftDue: (endpointId, now, held) => selectLeftDue(endpointId, now, held, endpointId, now, held),
    selectNextDue: (endpointId, now) => selectNextDue(endpointId, now, endpointId, now),
    selectLastRetry: row(
      db,
      `SELECT endpointId, bodyId FROM (
       SELECT endpoint_id AS endpointId, body_id AS bodyId ${retriesAfter} ORDER BY endpoint_id, body_id LIMIT ?
     ) ORDER BY endpointId DESC, bodyId DESC LIMIT 1`,
    ),
    shiftRetries: run(
      db,
      `UPDATE deliveries SET next_attempt_at = next_attempt_at + ?
     WHERE id IN (SELECT id ${retriesAfter} AND (endpoint_id, body_id) <= (?, ?))`,
    ),
    pullFirstAttempts: count(
      db,
      `UPDATE deliveries SET next_attempt_at = ?
     WHERE id IN (SELECT id FROM deliveries INDEXED BY deliveries_due
       WHERE ${WAITING} AND status = 'pending' AND next_attempt_at > ? LIMIT ?)`,
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

/** Columns in the index of waiting deliveries. */
const COVERED = 'd.id, d.event_type, d.attempt_count, d.cycle_start, d.next_attempt_at, d.body_id';

/** Not held by the caller: its deliveries as a JSON object, `{delivery id: attempt}`. */
const NOT_HELD = 'AND d.id NOT IN (SELECT key FROM json_each(?))';
const DUE = `AND d.next_attempt_at <= ? ${NOT_HELD}`;

/**
 * The waiting deliveries of one endpoint that match `urgency` and `terms`, oldest first, up to a number: one range of the
 * index. Values with a unary plus are hidden from the planner
 * (docs/decisions/frequent-statements-hide-parameters-from-the-planner.md).
 */
function waiting(urgency: Urgency, terms: string, joins = ''): string {
  return `deliveries d INDEXED BY deliveries_due ${joins}
    WHERE d.endpoint_id = +? AND ${urgency} AND d.${WAITING} ${terms} ORDER BY d.next_attempt_at, d.id LIMIT +?`;
}

type Urgency = 'd.urgent = 0' | 'd.urgent = 1';

/** Both ranges of an endpoint in the index; the parameters of `range` are passed for each. */
function either(range: (urgency: Urgency) => string): string {
  return `SELECT * FROM (${range('d.urgent = 0')}) UNION ALL SELECT * FROM (${range('d.urgent = 1')})`;
}

/** Like {@link waiting} with its bodies, urgent or not, as `w`. */
function eitherInOrder(terms: string): string {
  return `(${either((urgency) => `SELECT ${COVERED} FROM ${waiting(urgency, terms)}`)}) w
    LEFT JOIN delivery_bodies b ON b.id = w.body_id LEFT JOIN body_tails t ON t.id = b.tail_id
    ORDER BY w.next_attempt_at, w.id LIMIT +?`;
}

/** The deliveries of `source`, where they are `alias` and their bodies are joined, as one row. */
function gathered(alias: string, source: string): string {
  return `SELECT count(*) AS count,
      group_concat('"' || id || '","' || event_type || '",' || (attempt_count + 1) || ','
        || (attempt_count - cycle_start) || ',' || octet_length(body)) AS list,
      group_concat('"' || id || '":' || (attempt_count + 1)) AS held,
      CAST(group_concat(body, '') AS BLOB) AS bodies
    FROM (SELECT ${alias}.id, ${alias}.event_type, ${alias}.attempt_count, ${alias}.cycle_start,
        coalesce(${WHOLE_BODY}, '') AS body FROM ${source})`;
}
