import type { Database } from 'better-sqlite3';
import type { EventStatements } from '../../changes/events.ts';
import { createBestOfBatch } from '../reads/events.ts';
import { WAITING } from '../reads/shown-state.ts';
import { changed, count, inserted, row, rows, run, untilFreed, value, values } from './prepared.ts';

export function eventsSql(db: Database): EventStatements['events'] {
  // Decided at commit time: nothing is stored for a deleted endpoint. A pause makes no difference here.
  const selectReceiver = value<[string, string], number>(
    db,
    `SELECT 1 FROM webhook_endpoints INDEXED BY webhook_endpoints_live
     WHERE tenant_id = ? AND id = ? AND deleted_at IS NULL`,
  );
  // Without names, which cost 3 us per row.
  const insertDelivery = run<(string | number | null)[]>(
    db,
    `INSERT INTO deliveries
       (id, endpoint_id, tenant_id, event_id, event_type, status, next_attempt_at, created_at, body_id, in_hand,
        urgent)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertEvent = run<(string | number | null)[]>(
    db,
    'INSERT INTO events (id, tenant_id, type, subject_id, created_at, data, trace) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  // The order by commit (migration 032). Without RETURNING, which would make SQLite copy each page that the statement changes.
  // The cast is needed because numbers are bound as floating point.
  const movePosition = run<[now: number, more: number, tenantId: string]>(
    db,
    `UPDATE stored_rows SET position = max(position + 1, CAST(? AS INTEGER) << 10) + CAST(? AS INTEGER)
     WHERE tenant_id = ?`,
  );
  const selectPosition = value<[tenantId: string], number>(
    db,
    'SELECT position FROM stored_rows WHERE tenant_id = ?',
  );
  const insertPosition = run<[tenantId: string, position: number | undefined, eventId: string]>(
    db,
    'INSERT INTO event_positions (tenant_id, position, event_id) VALUES (?, ?, ?)',
  );
  const insertLate = run<[tenantId: string, position: number, deliveryId: string]>(
    db,
    'INSERT INTO late_deliveries (tenant_id, position, delivery_id) VALUES (?, ?, ?)',
  );
  /** The last of so many new positions. */
  function nextPosition(now: number, tenantId: string, count = 1): number | undefined {
    movePosition(now, count - 1, tenantId);
    return selectPosition(tenantId);
  }
  return {
    insertBody: inserted(db, 'INSERT INTO delivery_bodies (body, tail_id) VALUES (?, ?)'),
    selectTail: value(db, 'SELECT id FROM body_tails WHERE tenant_id = ? AND hash = ?'),
    insertTail: inserted(db, 'INSERT INTO body_tails (tenant_id, hash, text) VALUES (?, ?, ?)'),
    selectPlaces: rows(
      db,
      `SELECT event_id AS eventId, json_group_array(DISTINCT body_id) AS bodyIds FROM deliveries
     WHERE id IN (SELECT value FROM json_each(?)) AND body_id IS NOT NULL GROUP BY event_id`,
    ),
    measureBodies: rows(
      db,
      `SELECT d.id AS deliveryId, b.id AS bodyId, octet_length(b.body) AS bytes
       FROM json_each(?) j CROSS JOIN deliveries d ON d.id = j.value JOIN delivery_bodies b ON b.id = d.body_id`,
    ),
    letGo: run(
      db,
      `UPDATE deliveries SET body_id = NULL
     WHERE id IN (SELECT value FROM json_each(?)) AND body_id IS NOT NULL`,
    ),
    deleteBodiesUnlessSent: run(
      db,
      `DELETE FROM delivery_bodies WHERE id IN (SELECT value FROM json_each(?))
       AND id NOT IN (SELECT body_id FROM deliveries WHERE event_id = ? AND body_id IS NOT NULL)`,
    ),
    deleteUnusedTails: count(
      db,
      `DELETE FROM body_tails WHERE id IN (
       ${untilFreed(`SELECT t.id, t.id AS place, octet_length(t.text) AS bytes FROM body_tails t
         WHERE NOT EXISTS (SELECT 1 FROM delivery_bodies b WHERE b.tail_id = t.id) LIMIT ?`)})`,
    ),
    insertEvent(id, tenantId, type, subjectId, createdAt, data, trace) {
      insertEvent(id, tenantId, type, subjectId, createdAt, data, trace);
      insertPosition(tenantId, nextPosition(createdAt, tenantId), id);
    },
    insertRemainder: run(
      db,
      'INSERT INTO event_remainders (event_id, part, tenant_id, deliveries) VALUES (?, ?, ?, ?)',
    ),
    takeRemainder: value(
      db,
      'DELETE FROM event_remainders WHERE event_id = ? AND part = ? RETURNING deliveries',
    ),
    selectRemainder: row(
      db,
      'SELECT event_id AS eventId, part FROM event_remainders WHERE tenant_id = ? ORDER BY event_id, part LIMIT 1',
    ),
    selectRemainderEvent: row(
      db,
      `SELECT id, tenant_id AS tenantId, type, subject_id AS subjectId, data, created_at AS createdAt, trace
     FROM events WHERE id = ? AND tenant_id = ?`,
    ),
    selectRemaining: value(db, 'SELECT 1 FROM event_remainders WHERE event_id = ? LIMIT 1'),
    // Deliveries that were routed with their event have its time; those of a backfill have a later one.
    selectRouted: value(
      db,
      `SELECT 1 FROM deliveries WHERE endpoint_id = ? AND created_at = ? AND event_id = ?
       UNION ALL SELECT 1 FROM batched_events WHERE endpoint_id = ? AND event_id = ? LIMIT 1`,
    ),
    insertSkip: run(db, 'INSERT INTO event_skips (event_id, reason, endpoint_ids) VALUES (?, ?, ?)'),
    insertBatched: run(db, 'INSERT INTO batched_events (event_id, endpoint_id) VALUES (?, ?)'),
    selectReceivers: (tenantId, endpointIds) =>
      endpointIds.filter((id) => selectReceiver(tenantId, id) !== undefined),
    insertDeliveries({ id: eventId, tenantId, type, createdAt }, deliveries) {
      for (const { id, endpointId, status, dueAt, bodyId, inHand, urgent } of deliveries) {
        const [held, first] = [inHand ? 1 : 0, urgent ? 1 : 0];
        insertDelivery(
          id,
          endpointId,
          tenantId,
          eventId,
          type,
          status,
          dueAt,
          createdAt,
          bodyId,
          held,
          first,
        );
      }
    },
    insertNotice: run(
      db,
      `INSERT INTO endpoint_notices (tenant_id, type, endpoint_id, facts)
     SELECT ?, ?, id, ? FROM webhook_endpoints WHERE id = ? AND mode <> 'mcp'`,
    ),
    selectDead: row(
      db,
      `SELECT d.tenant_id AS tenantId, d.endpoint_id AS endpointId, d.event_type AS event, d.event_id,
            v.subject_id, d.attempt_count
     FROM deliveries d JOIN events v ON v.id = d.event_id WHERE d.id = ?`,
    ),
    countNotices: value(
      db,
      'SELECT count(*) FROM endpoint_notices WHERE id IN (SELECT value FROM json_each(?)) AND tenant_id = ?',
    ),
    removeNotices: run(db, 'DELETE FROM endpoint_notices WHERE id IN (SELECT value FROM json_each(?))'),
    insertLateDeliveries(tenantId, now, ids) {
      const first = (nextPosition(now, tenantId, ids.length) ?? 0) - ids.length + 1;
      for (const [n, id] of ids.entries()) insertLate(tenantId, first + n, id);
    },
    selectAbout: values(db, 'SELECT id FROM events WHERE subject_id IN (SELECT value FROM json_each(?))'),
    emptyEvent: changed(db, 'UPDATE events SET data = ? WHERE id = ? AND tenant_id = ?'),
    // Includes messages in which the event was batched with others.
    selectDeliveries: rows(
      db,
      `SELECT id, endpoint_id, ${WAITING} AS waits FROM deliveries d
     WHERE id IN (SELECT id FROM deliveries WHERE event_id = ? UNION SELECT value FROM json_each(?)) AND +id > ?
     ORDER BY id LIMIT ?`,
    ),
    // Includes dead letters: without a body, there is nothing to replay.
    discard: run(
      db,
      `UPDATE deliveries SET status = 'discarded', next_attempt_at = NULL, expires_at = NULL
     WHERE id = ? AND status IN ('pending', 'retrying', 'dead')`,
    ),
    // A new version tells the dispatcher that its claimed deliveries are outdated.
    renewEndpoint: run(db, 'UPDATE webhook_endpoints SET version = version + 1 WHERE id = ?'),
    // Receivers may echo what they were sent.
    emptyReplies: run(
      db,
      `UPDATE attempts SET detail = json_set(detail, '$.response.headers', json('{}'), '$.response.body', '')
     WHERE delivery_id = ? AND json_type(detail, '$.response') = 'object'`,
    ),
    advanceBackfill: changed(
      db,
      `UPDATE webhook_endpoints
     SET backfill_position = :next, backfill_from = iif(:isLast, NULL, backfill_from)
     WHERE id = :endpointId AND tenant_id = :tenantId AND backfill_from IS NOT NULL
       AND backfill_position = :position AND deleted_at IS NULL`,
    ),
    countBatched: value(
      db,
      `SELECT count(*) FROM batched_events INDEXED BY batched_events_waiting
       WHERE endpoint_id = ? AND delivery_id IS NULL AND event_id <= ?`,
    ),
    takeBatched: run(
      db,
      `UPDATE batched_events SET delivery_id = ? WHERE endpoint_id = ? AND delivery_id IS NULL AND event_id <= ?`,
    ),
    dropBatched: count(
      db,
      `DELETE FROM batched_events WHERE (event_id, endpoint_id) IN (
       SELECT event_id, endpoint_id FROM batched_events INDEXED BY batched_events_waiting
       WHERE endpoint_id = ? AND delivery_id IS NULL LIMIT ?)`,
    ),
    leaveBatches: values(db, 'DELETE FROM batched_events WHERE event_id = ? RETURNING delivery_id'),
    selectWaits: value(db, "SELECT 1 FROM deliveries WHERE id = ? AND status IN ('pending', 'retrying')"),
    releaseBatched: run(db, 'UPDATE batched_events SET delivery_id = NULL WHERE delivery_id = ?'),
    readBestOfBatch: createBestOfBatch(db),
  };
}
