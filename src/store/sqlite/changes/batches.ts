import type { Database } from 'better-sqlite3';
import type { BatchStore } from '../../batch-store.ts';
import type { Part } from '../../store.ts';
import { createBestOfBatch } from '../reads/batches.ts';
import { createBodies } from './bodies.ts';
import { createDeliveryWriter } from './events.ts';
import { createLatePlace } from './late-deliveries.ts';

/** What is sent in one message instead of one by one. */
export function batchChanges(db: Database) {
  const count = db
    .prepare<[string, string], number>(
      `SELECT count(*) FROM batched_events INDEXED BY batched_events_waiting
       WHERE endpoint_id = ? AND delivery_id IS NULL AND event_id <= ?`,
    )
    .pluck();
  const take = db.prepare<[string, string, string]>(
    `UPDATE batched_events SET delivery_id = ? WHERE endpoint_id = ? AND delivery_id IS NULL AND event_id <= ?`,
  );
  const drop = db.prepare<[string, number]>(
    `DELETE FROM batched_events WHERE (event_id, endpoint_id) IN (
       SELECT event_id, endpoint_id FROM batched_events INDEXED BY batched_events_waiting
       WHERE endpoint_id = ? AND delivery_id IS NULL LIMIT ?)`,
  );
  const readBest = createBestOfBatch(db);
  const bodies = createBodies(db);
  const insertDelivery = createDeliveryWriter(db);
  const addPlace = createLatePlace(db);

  return {
    commitBatch({ endpointId, tenantId, read, delivery, now }) {
      const { events, last, wires } = read;
      // Somebody may have been erased or blacked out since it was read.
      const isAsRead =
        count.get(endpointId, last.id) === events &&
        JSON.stringify(readBest(endpointId, events, wires.length)) === JSON.stringify(wires);
      if (!isAsRead) return false;
      const event = { ...last, tenantId, createdAt: now };
      if (!insertDelivery(event, delivery, bodies.createPlaces(tenantId))) return false;
      addPlace(tenantId, delivery.id, now);
      take.run(delivery.id, endpointId, last.id);
      return true;
    },
    dropBatched: (endpointId, limit) => drop.run(endpointId, limit).changes,
  } satisfies Part<BatchStore>;
}

/** Takes an event that is erased out of what is sent in one message: the deliveries it was in. Part of an erasure. */
export function createBatchEraser(db: Database): (eventId: string) => string[] {
  const forget = db
    .prepare<[string], string | null>('DELETE FROM batched_events WHERE event_id = ? RETURNING delivery_id')
    .pluck();
  const selectWaits = db
    .prepare<[string], number>("SELECT 1 FROM deliveries WHERE id = ? AND status IN ('pending', 'retrying')")
    .pluck();
  const release = db.prepare<[string]>('UPDATE batched_events SET delivery_id = NULL WHERE delivery_id = ?');

  return (eventId) =>
    forget.all(eventId).flatMap((id) => {
      if (id === null) return [];
      // The others are sent in another message, where this one was not sent yet.
      if (selectWaits.get(id) !== undefined) release.run(id);
      return [id];
    });
}
