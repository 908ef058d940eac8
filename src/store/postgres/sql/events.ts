import type { EventStatements } from '../../changes/events.ts';
import type { Connection } from '../connection.ts';
import { createBestOfBatch } from '../reads/events.ts';
import { WAITING } from './claims.ts';
import { type Async, changed, count, row, rows, run, value, values } from './prepared.ts';

export function eventsSql(db: Connection): Async<EventStatements['events']> {
  const insertBody = value<[string, number | null], number>(
    db,
    'INSERT INTO delivery_bodies (body, tail_id) VALUES (?, ?) RETURNING id',
  );
  const insertTail = value<[string, string, string], number>(
    db,
    'INSERT INTO body_tails (tenant_id, hash, text) VALUES (?, ?, ?) RETURNING id',
  );
  const selectPlaces = rows<[string[]], { eventId: string; bodyIds: string }>(
    db,
    `SELECT event_id AS "eventId", json_agg(DISTINCT body_id)::text AS "bodyIds" FROM deliveries
     WHERE id = ANY (?::text[]) AND body_id IS NOT NULL GROUP BY event_id`,
  );
  const measureBodies = rows<[string[]], { deliveryId: string; bodyId: number; bytes: number }>(
    db,
    `SELECT d.id AS "deliveryId", b.id AS "bodyId", octet_length(b.body) AS bytes
     FROM deliveries d JOIN delivery_bodies b ON b.id = d.body_id WHERE d.id = ANY (?::text[])`,
  );
  const letGo = run<[string[]]>(
    db,
    'UPDATE deliveries SET body_id = NULL WHERE id = ANY (?::text[]) AND body_id IS NOT NULL',
  );
  const deleteBodies = run<[number[], string]>(
    db,
    `DELETE FROM delivery_bodies WHERE id = ANY (?::bigint[])
       AND id NOT IN (SELECT body_id FROM deliveries WHERE event_id = ? AND body_id IS NOT NULL)`,
  );
  const countNotices = value<[string[], string], number>(
    db,
    'SELECT count(*) FROM endpoint_notices WHERE id = ANY (?::bigint[]) AND tenant_id = ?',
  );
  const removeNotices = run<[string[]]>(db, 'DELETE FROM endpoint_notices WHERE id = ANY (?::bigint[])');
  const selectAbout = values<[string[]], string>(db, 'SELECT id FROM events WHERE subject_id = ANY (?)');
  // Includes messages in which the event was batched with others.
  const selectDeliveries = rows<
    [string, string[], string, number],
    { id: string; endpoint_id: string; waits: number }
  >(
    db,
    `SELECT id, endpoint_id, (${WAITING})::int AS waits FROM deliveries
     WHERE (event_id = ? OR id = ANY (?::text[])) AND id > ? ORDER BY id LIMIT ? FOR UPDATE`,
  );
  const insertDeliveries = run<[Record<string, unknown>]>(
    db,
    `INSERT INTO deliveries (id, endpoint_id, tenant_id, event_id, event_type, status, next_attempt_at, created_at,
       body_id, in_hand, urgent)
     SELECT d.id, d.endpoint_id, :tenantId, :eventId, :type, d.status, d.due_at, :createdAt, d.body_id, d.in_hand, d.urgent
     FROM unnest(:ids::text[], :endpointIds::text[], :statuses::text[], :due::bigint[], :bodyIds::bigint[],
       :held::boolean[], :urgent::boolean[]) d (id, endpoint_id, status, due_at, body_id, in_hand, urgent)`,
  );
  const insertLate = run<[{ tenantId: string; now: number; ids: readonly string[] }]>(
    db,
    `WITH moved AS (
       UPDATE stored_rows SET position = greatest(position + 1, :now::bigint << 10) + cardinality(:ids::text[]) - 1
       WHERE tenant_id = :tenantId RETURNING position - cardinality(:ids::text[]) AS before)
     INSERT INTO late_deliveries (tenant_id, position, delivery_id)
     SELECT :tenantId, moved.before + d.n, d.id FROM moved, unnest(:ids::text[]) WITH ORDINALITY d (id, n)`,
  );
  const selectDetails = rows<[string], { id: string; detail: string }>(
    db,
    'SELECT id, detail FROM attempts WHERE delivery_id = ?',
  );
  const updateDetail = run<[string, string]>(db, 'UPDATE attempts SET detail = ? WHERE id = ?');
  return {
    insertBody: async (body, tailId) => (await insertBody(body, tailId)) ?? 0,
    // Locked, so that it is not deleted as unused before the body that ends with it is stored.
    selectTail: value(db, 'SELECT id FROM body_tails WHERE tenant_id = ? AND hash = ? FOR KEY SHARE'),
    insertTail: async (tenantId, hash, text) => (await insertTail(tenantId, hash, text)) ?? 0,
    selectPlaces: (deliveryIds) => selectPlaces(JSON.parse(deliveryIds)),
    measureBodies: (deliveryIds) => measureBodies(JSON.parse(deliveryIds)),
    letGo: (deliveryIds) => letGo(JSON.parse(deliveryIds)),
    deleteBodiesUnlessSent: (bodyIds, eventId) => deleteBodies(JSON.parse(bodyIds), eventId),
    deleteUnusedTails: count(
      db,
      `DELETE FROM body_tails WHERE id = ANY (ARRAY(
         SELECT t.id FROM body_tails t
         WHERE NOT EXISTS (SELECT 1 FROM delivery_bodies b WHERE b.tail_id = t.id) LIMIT ? FOR UPDATE SKIP LOCKED))`,
    ),
    insertEvent: run(
      db,
      'INSERT INTO events (id, tenant_id, type, subject_id, created_at, data, trace) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
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
      'SELECT event_id AS "eventId", part FROM event_remainders WHERE tenant_id = ? ORDER BY event_id, part LIMIT 1',
    ),
    selectRemainderEvent: row(
      db,
      `SELECT id, tenant_id AS "tenantId", type, subject_id AS "subjectId", data, created_at AS "createdAt", trace
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
    // Decided at commit time: nothing is stored for a deleted endpoint. A pause makes no difference here.
    selectReceivers: values(
      db,
      'SELECT id FROM webhook_endpoints WHERE tenant_id = ? AND id = ANY (?::text[]) AND deleted_at IS NULL',
    ),
    insertDeliveries({ id: eventId, tenantId, type, createdAt }, deliveries) {
      insertDeliveries({
        ...{ eventId, tenantId, type, createdAt },
        ids: deliveries.map(({ id }) => id),
        endpointIds: deliveries.map(({ endpointId }) => endpointId),
        statuses: deliveries.map(({ status }) => status),
        due: deliveries.map(({ dueAt }) => dueAt),
        bodyIds: deliveries.map(({ bodyId }) => bodyId),
        held: deliveries.map(({ inHand }) => inHand),
        urgent: deliveries.map(({ urgent }) => urgent),
      });
    },
    insertNotice: run(
      db,
      `INSERT INTO endpoint_notices (tenant_id, type, endpoint_id, facts)
       SELECT ?, ?, id, ? FROM webhook_endpoints WHERE id = ? AND mode <> 'mcp'`,
    ),
    selectDead: row(
      db,
      `SELECT d.tenant_id AS "tenantId", d.endpoint_id AS "endpointId", d.event_type AS event, d.event_id,
              v.subject_id, d.attempt_count
       FROM deliveries d JOIN events v ON v.id = d.event_id WHERE d.id = ?`,
    ),
    countNotices: (ids, tenantId) => countNotices(JSON.parse(ids), tenantId),
    removeNotices: (ids) => removeNotices(JSON.parse(ids)),
    insertLateDeliveries: (tenantId, now, ids) => insertLate({ tenantId, now, ids }),
    selectAbout: (subjectIds) => selectAbout(JSON.parse(subjectIds)),
    emptyEvent: changed(db, 'UPDATE events SET data = ? WHERE id = ? AND tenant_id = ?'),
    selectDeliveries: (eventId, batches, after, limit) =>
      selectDeliveries(eventId, JSON.parse(batches), after, limit),
    // Includes dead letters: without a body, there is nothing to replay.
    discard: run(
      db,
      `UPDATE deliveries SET status = 'discarded', next_attempt_at = NULL, expires_at = NULL
       WHERE id = ? AND status IN ('pending', 'retrying', 'dead')`,
    ),
    // A new version tells the dispatcher that its claimed deliveries are outdated.
    renewEndpoint: run(db, 'UPDATE webhook_endpoints SET version = version + 1 WHERE id = ?'),
    // Receivers may echo what they were sent, with escapes that PostgreSQL rejects: it is parsed here.
    async emptyReplies(deliveryId) {
      for (const { id, detail } of await selectDetails(deliveryId)) {
        const whole = JSON.parse(detail) as { response?: object | null };
        if (typeof whole.response !== 'object' || whole.response === null) continue;
        const response = { ...whole.response, headers: {}, body: '' };
        updateDetail(JSON.stringify({ ...whole, response }), id);
      }
    },
    advanceBackfill: changed(
      db,
      `UPDATE webhook_endpoints
       SET backfill_position = :next, backfill_from = CASE WHEN :isLast::boolean THEN NULL ELSE backfill_from END
       WHERE id = :endpointId AND tenant_id = :tenantId AND backfill_from IS NOT NULL
         AND backfill_position = :position AND deleted_at IS NULL`,
    ),
    countBatched: value(
      db,
      'SELECT count(*) FROM batched_events WHERE endpoint_id = ? AND delivery_id IS NULL AND event_id <= ?',
    ),
    takeBatched: run(
      db,
      'UPDATE batched_events SET delivery_id = ? WHERE endpoint_id = ? AND delivery_id IS NULL AND event_id <= ?',
    ),
    dropBatched: count(
      db,
      `DELETE FROM batched_events WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM batched_events
         WHERE endpoint_id = ? AND delivery_id IS NULL LIMIT ? FOR UPDATE))`,
    ),
    leaveBatches: values(db, 'DELETE FROM batched_events WHERE event_id = ? RETURNING delivery_id'),
    selectWaits: value(db, `SELECT 1 FROM deliveries WHERE id = ? AND ${WAITING}`),
    releaseBatched: run(db, 'UPDATE batched_events SET delivery_id = NULL WHERE delivery_id = ?'),
    readBestOfBatch: createBestOfBatch(db),
  };
}
