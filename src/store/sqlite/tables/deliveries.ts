import type { Database } from 'better-sqlite3';
import type { AttemptLog } from '../../../model/delivery.ts';
import type { EventRow, NewDelivery } from '../../../model/event.ts';
import type { DeliveryLog } from '../../delivery-store.ts';
import { createAttemptSql } from './attempts.ts';

interface DeliveryRow {
  id: string;
  endpoint_id: string;
  event_id: string;
  status: string;
  body: string;
  attempt_count: number;
  next_attempt_at: number | null;
  created_at: number;
}

function toLog(row: DeliveryRow, attempts: AttemptLog[]): DeliveryLog {
  return {
    id: row.id,
    endpointId: row.endpoint_id,
    eventId: row.event_id,
    status: row.status,
    body: row.body,
    attemptCount: row.attempt_count,
    nextAttemptAt: row.next_attempt_at,
    createdAt: row.created_at,
    attempts,
  };
}

/** Deliveries as they are made, shown and cleared; leases and outcomes are in `leases.ts`. */
export function createDeliverySql(db: Database) {
  // The endpoint decides at the moment of commit: deleted, nothing is stored; paused, the delivery is held.
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO deliveries (id, tenant_id, endpoint_id, event_id, status, next_attempt_at, created_at)
     SELECT :id, tenant_id, id, :eventId,
            CASE WHEN :status = 'pending' AND status = 'paused' THEN 'held' ELSE :status END,
            CASE WHEN :status = 'pending' AND status = 'active' THEN :createdAt END,
            :createdAt
     FROM webhook_endpoints WHERE id = :endpointId AND tenant_id = :tenantId AND deleted_at IS NULL`,
  );
  const insertBody = db.prepare<[string, string]>(
    'INSERT INTO delivery_bodies (delivery_id, body) VALUES (?, ?)',
  );
  const selectOne = db.prepare<[string, string], DeliveryRow>(
    `SELECT d.id, d.endpoint_id, d.event_id, d.status, b.body, d.attempt_count, d.next_attempt_at, d.created_at
     FROM deliveries d JOIN delivery_bodies b ON b.delivery_id = d.id
     WHERE d.id = ? AND d.tenant_id = ?`,
  );
  const attempts = createAttemptSql(db);
  // Two statements, each for its own partial index: one with all three states would read the whole table.
  const discardWaiting = db.prepare<[string]>(
    `UPDATE deliveries SET status = 'discarded', next_attempt_at = NULL
     WHERE endpoint_id = ? AND status IN ('pending', 'retrying')`,
  );
  const discardHeld = db.prepare<[string]>(
    "UPDATE deliveries SET status = 'discarded', next_attempt_at = NULL WHERE endpoint_id = ? AND status = 'held'",
  );

  return {
    insert({ id, tenantId, createdAt }: EventRow, delivery: NewDelivery): void {
      const { changes } = insert.run({
        id: delivery.id,
        eventId: id,
        tenantId,
        endpointId: delivery.endpointId,
        status: delivery.status,
        createdAt,
      });
      if (changes === 1) insertBody.run(delivery.id, delivery.body);
    },
    get(tenantId: string, id: string): DeliveryLog | null {
      const row = selectOne.get(id, tenantId);
      return row === undefined ? null : toLog(row, attempts.of(id));
    },
    discardOf(endpointId: string): void {
      discardWaiting.run(endpointId);
      discardHeld.run(endpointId);
    },
  };
}
