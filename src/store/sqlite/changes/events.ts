import type { Database } from 'better-sqlite3';
import type { EventRow, NewDelivery, RoutedEvent } from '../../../model/event.ts';
import { type HeldDelivery, skipsOf, unbundled } from '../bundles.ts';
import { createBodies } from './bodies.ts';

/** Stores an event with every delivery it causes and the reason for each it does not: part of the change that caused it. */
export function createEventWriter(db: Database): (routed: RoutedEvent) => void {
  const insertEvent = db.prepare<[string, string, string, string, number, string, string | null]>(
    'INSERT INTO events (id, tenant_id, type, subject_id, created_at, data, trace) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const insertSkip = db.prepare<[string, string, string]>(
    'INSERT INTO event_skips (event_id, reason, endpoint_ids) VALUES (?, ?, ?)',
  );
  const insertBatched = db.prepare<[string, string]>(
    'INSERT INTO batched_events (event_id, endpoint_id) VALUES (?, ?)',
  );
  const insertDelivery = createDeliveryWriter(db);
  const bodies = createBodies(db);

  return (routed) => {
    const { event, batched, urgent = false } = routed;
    const { id, tenantId, type, subjectId, createdAt, data, trace = null } = event;
    insertEvent.run(id, tenantId, type, subjectId, createdAt, data, trace);
    const placeOf = bodies.createPlaces(tenantId);
    for (const delivery of unbundled(routed)) insertDelivery(event, { ...delivery, urgent }, placeOf);
    for (const endpointId of batched) insertBatched.run(id, endpointId);
    for (const { reason, endpointIds } of skipsOf(routed)) insertSkip.run(id, reason, endpointIds);
  };
}

/** `urgent`: it goes before others of its endpoint; left out: it takes its turn. */
interface StoredDelivery extends HeldDelivery {
  urgent?: boolean;
}

/** Stores a delivery as one of an event, which is there; false where its endpoint is gone. */
export function createDeliveryWriter(
  db: Database,
): (event: EventRow, delivery: StoredDelivery, placeOf: (delivery: NewDelivery) => number) => boolean {
  // Decided at the moment of commit: to a deleted endpoint nothing is stored. That it is paused changes nothing here.
  const selectReceiver = db
    .prepare<[string, string], number>(
      `SELECT 1 FROM webhook_endpoints INDEXED BY webhook_endpoints_live
       WHERE tenant_id = ? AND id = ? AND deleted_at IS NULL`,
    )
    .pluck();
  // Without names, which cost 3 us a row.
  const insert = db.prepare<(string | number | null)[]>(
    `INSERT INTO deliveries
       (id, endpoint_id, tenant_id, event_id, event_type, status, next_attempt_at, created_at, body_id, in_hand,
        urgent)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );

  return ({ id: eventId, tenantId, type, createdAt }, delivery, placeOf) => {
    const { id, endpointId, status, inHand = false, urgent = false } = delivery;
    if (selectReceiver.get(tenantId, endpointId) === undefined) return false;
    const dueAt = status === 'pending' ? createdAt : null;
    const [bodyId, held] = [placeOf(delivery), inHand ? 1 : 0];
    const goesFirst = urgent ? 1 : 0;
    insert.run(id, endpointId, tenantId, eventId, type, status, dueAt, createdAt, bodyId, held, goesFirst);
    return true;
  };
}
