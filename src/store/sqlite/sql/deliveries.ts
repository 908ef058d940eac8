import type { Database } from 'better-sqlite3';
import type { DeliveryStatements } from '../../changes/deliveries.ts';
import { createDeliveryWalk } from '../reads/deliveries.ts';
import { WAITING } from '../reads/shown-state.ts';
import { changed, count, row, rows, run, untilFreed, value, values } from './prepared.ts';

export function deliveriesSql(db: Database): DeliveryStatements['deliveries'] {
  return {
    insertAttempt: run(
      db,
      'INSERT INTO attempts (id, delivery_id, attempt, started_at, duration_ms, detail) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    countAttempts: run(
      db,
      `INSERT INTO endpoint_hours (endpoint_id, hour, speed, count) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET count = count + excluded.count`,
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
       GROUP BY 1, 2, 3 ON CONFLICT DO UPDATE SET count = count + excluded.count`,
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
      `SELECT d.status, d.endpoint_id, d.body_id IS NOT NULL AS has_body,
            e.deleted_at IS NOT NULL AS deleted, e.mode = 'pull' AS pull
     FROM deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id WHERE d.id = ? AND d.tenant_id = ?`,
    ),
    again: changed(
      db,
      `UPDATE deliveries SET status = 'pending', next_attempt_at = ?, cycle_start = attempt_count, expires_at = NULL
     WHERE id = ? AND status = ? AND body_id IS NOT NULL`,
    ),
    selectPausedSince: rows(
      db,
      `SELECT id, json_extract(settings, '$.dead_letter') AS dead_letter FROM webhook_endpoints
     WHERE status = 'paused' AND deleted_at IS NULL AND paused_at <= ?`,
    ),
    endHeld: rows(
      db,
      `UPDATE deliveries SET status = ?, next_attempt_at = NULL, expires_at = ? WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_due
       WHERE endpoint_id = ? AND urgent IN (0, 1) AND ${WAITING} AND next_attempt_at <= ? LIMIT ?)
     RETURNING id`,
    ),
    selectExpired: values(
      db,
      "SELECT id FROM deliveries INDEXED BY deliveries_expiring WHERE status = 'dead' AND expires_at <= ? LIMIT ?",
    ),
    markExpired: run(db, "UPDATE deliveries SET status = 'expired' WHERE id = ?"),
    selectUncleared: values(
      db,
      'SELECT id FROM webhook_endpoints WHERE deleted_at IS NOT NULL AND cleared = 0',
    ),
    markCleared: run(db, 'UPDATE webhook_endpoints SET cleared = 1 WHERE id = ?'),
    deleteAttempts: count(
      db,
      'DELETE FROM attempts WHERE id IN (SELECT id FROM attempts WHERE id < ? ORDER BY id LIMIT ?)',
    ),
    deleteDelivery: run(db, 'DELETE FROM deliveries WHERE id = ?'),
    deleteBatched: run(db, 'DELETE FROM batched_events WHERE delivery_id = ?'),
    deleteLatePlace: run(db, 'DELETE FROM late_deliveries WHERE delivery_id = ?'),
    deleteDeadPlace: run(db, 'DELETE FROM dead_letter_positions WHERE delivery_id = ?'),
    selectRemovable: value(
      db,
      `SELECT 1 FROM deliveries d WHERE d.id = ? AND NOT (d.${WAITING})
         AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.delivery_id = d.id)`,
    ),
    deleteEndpoints: count(
      db,
      `DELETE FROM webhook_endpoints WHERE id IN (
       ${untilFreed(`SELECT e.id, e.deleted_at AS place, octet_length(e.settings) AS bytes
         FROM webhook_endpoints e WHERE e.deleted_at < ? AND e.cleared = 1
           AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.endpoint_id = e.id) LIMIT ?`)})`,
    ),
    pruneTestSends: count(db, 'DELETE FROM test_sends WHERE started_at < ?'),
    insertTestSend: run(db, 'INSERT INTO test_sends (id, endpoint_id, started_at) VALUES (?, ?, ?)'),
    walk: createDeliveryWalk(db),
  };
}
