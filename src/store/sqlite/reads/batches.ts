import type { Database } from 'better-sqlite3';
import { CLASSIFICATIONS } from '../../../model/constants.ts';
import type { Classification } from '../../../model/signal.ts';
import type { BatchedSignals, BatchStore, WaitingBatch } from '../../batch-store.ts';
import type { Part } from '../../store.ts';

/** The oldest events that wait for an endpoint. */
const OLDEST = `SELECT event_id FROM batched_events INDEXED BY batched_events_waiting
  WHERE endpoint_id = :endpointId AND delivery_id IS NULL ORDER BY event_id LIMIT :limit`;

/** What waits to be sent in one message. */
export function batchReads(db: Database) {
  // From one endpoint to the next: the cost grows with endpoints for which something waits, and not with what waits.
  const selectWaiting = db.prepare<[], WaitingBatch>(
    `WITH RECURSIVE waiting (id) AS (
       SELECT min(endpoint_id) FROM batched_events INDEXED BY batched_events_waiting WHERE delivery_id IS NULL
       UNION ALL
       SELECT (SELECT min(b.endpoint_id) FROM batched_events b INDEXED BY batched_events_waiting
               WHERE b.delivery_id IS NULL AND b.endpoint_id > w.id)
       FROM waiting w WHERE w.id IS NOT NULL)
     SELECT w.id AS endpointId, e.tenant_id AS tenantId, e.created_at AS since
     FROM waiting w JOIN events e ON e.id =
       (SELECT min(b.event_id) FROM batched_events b INDEXED BY batched_events_waiting
        WHERE b.endpoint_id = w.id AND b.delivery_id IS NULL)`,
  );
  const selectLast = db.prepare<Record<string, unknown>[], BatchedSignals['last'] & { events: number }>(
    `SELECT o.n AS events, e.id, e.tenant_id AS tenantId, e.type, e.subject_id AS subjectId, e.data,
            e.created_at AS createdAt FROM (SELECT count(*) AS n, max(event_id) AS id FROM (${OLDEST})) o JOIN events e ON e.id = o.id`,
  );
  const readBest = createBestOfBatch(db);
  const countClasses = db.prepare<Record<string, unknown>[], { classification: Classification; n: number }>(
    `SELECT classification, count(*) AS n FROM signals WHERE id IN (
       SELECT e.subject_id FROM (${OLDEST}) o JOIN events e ON e.id = o.event_id) GROUP BY classification`,
  );

  return {
    listWaitingBatches: () => selectWaiting.all(),
    readBatch(endpointId, { limit, best }) {
      const row = selectLast.get({ endpointId, limit });
      if (row === undefined) return null;
      const counted = new Map(
        countClasses.all({ endpointId, limit }).map(({ classification, n }) => [classification, n]),
      );
      const counts = CLASSIFICATIONS.map((name) => [name, counted.get(name) ?? 0]);
      const { events, ...last } = row;
      return {
        events,
        last,
        counts: Object.fromEntries(counts) as BatchedSignals['counts'],
        wires: readBest(endpointId, limit, best),
      };
    },
  } satisfies Part<BatchStore>;
}

/** The best signals of the oldest `limit` events that wait for an endpoint, as wire JSON. */
export function createBestOfBatch(
  db: Database,
): (endpointId: string, limit: number, best: number) => string[] {
  const select = db
    .prepare<Record<string, unknown>[], string>(
      `SELECT wire FROM signals WHERE id IN (
         SELECT e.subject_id FROM (${OLDEST}) o JOIN events e ON e.id = o.event_id)
       ORDER BY score DESC, seq DESC LIMIT :best`,
    )
    .pluck();

  return (endpointId, limit, best) => select.all({ endpointId, limit, best });
}
