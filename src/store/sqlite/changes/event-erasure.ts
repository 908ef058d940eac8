import type { Database } from 'better-sqlite3';
import { WAITING } from '../reads/shown-state.ts';
import { createBatchEraser } from './batches.ts';
import { createBodies } from './bodies.ts';

/** What an event's data is when the person it told of is erased. */
const ERASED_DATA = '{"erased":true}';

/** Taking a person out of events and deliveries, which stay as what was counted: parts of an erasure. */
export function createEventEraser(db: Database) {
  const selectAbout = db
    .prepare<[string], string>('SELECT id FROM events WHERE subject_id IN (SELECT value FROM json_each(?))')
    .pluck();
  const emptyEvent = db.prepare<[string, string, string]>(
    'UPDATE events SET data = ? WHERE id = ? AND tenant_id = ?',
  );
  // Those of messages too in which it was sent with others.
  const selectDeliveries = db.prepare<[string, string], { id: string; endpoint_id: string; waits: number }>(
    `SELECT id, endpoint_id, ${WAITING} AS waits FROM deliveries d
     WHERE id IN (SELECT id FROM deliveries WHERE event_id = ? UNION SELECT value FROM json_each(?))`,
  );
  const leaveBatches = createBatchEraser(db);
  // Dead letters too: without a body there is nothing to replay.
  const discard = db.prepare<[string]>(
    `UPDATE deliveries SET status = 'discarded', next_attempt_at = NULL, expires_at = NULL
     WHERE id = ? AND status IN ('pending', 'retrying', 'dead')`,
  );
  const bodies = createBodies(db);
  // A new version tells the dispatcher that what it has claimed ahead is old.
  const renew = db.prepare<[string]>('UPDATE webhook_endpoints SET version = version + 1 WHERE id = ?');
  const emptyReplies = createReplyEraser(db);

  function eraseDeliveries(eventId: string): string[] {
    const batches = JSON.stringify(leaveBatches(eventId));
    return selectDeliveries.all(eventId, batches).flatMap(({ id, endpoint_id, waits }) => {
      discard.run(id);
      bodies.remove(id);
      emptyReplies(id);
      return waits === 1 ? [endpoint_id] : [];
    });
  }

  return {
    about: (subjectIds: readonly string[]): string[] => selectAbout.all(JSON.stringify(subjectIds)),
    /** Empties events with their deliveries; the endpoints that lost waiting ones, each once. */
    erase(tenantId: string, eventIds: Iterable<string>): string[] {
      const endpointIds = new Set<string>();
      for (const id of new Set(eventIds)) {
        if (emptyEvent.run(ERASED_DATA, id, tenantId).changes === 0) continue;
        for (const endpointId of eraseDeliveries(id)) endpointIds.add(endpointId);
      }
      return [...endpointIds];
    },
    /** Says that what was claimed ahead of these endpoints is old. */
    renewEndpoints(ids: Iterable<string>): void {
      for (const id of ids) renew.run(id);
    },
    emptyReplies,
  };
}

/** Empties what a delivery's attempts brought back: receivers may send back what they were sent. */
export function createReplyEraser(db: Database): (deliveryId: string) => void {
  // Receivers may send back what they were sent.
  const emptyReplies = db.prepare<[string]>(
    `UPDATE attempts SET detail = json_set(detail, '$.response.headers', json('{}'), '$.response.body', '')
     WHERE delivery_id = ? AND json_type(detail, '$.response') = 'object'`,
  );

  return (deliveryId) => void emptyReplies.run(deliveryId);
}
