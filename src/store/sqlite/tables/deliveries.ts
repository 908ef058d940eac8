import type { Database } from 'better-sqlite3';
import type { EventRow, NewDelivery } from '../../../model/event.ts';
import type { DeliveryLog } from '../../delivery-store.ts';
import { createAttemptSql } from './attempts.ts';
import { type ShownRow, toSummary } from './delivery-rows.ts';
import { SHOWN_COLUMNS, SHOWN_JOINS, WAITING } from './shown-state.ts';

/** Deliveries as they are made, shown and cleared; leases and outcomes are in `leases.ts`. */
export function createDeliverySql(db: Database) {
  // The endpoint decides at the moment of commit: deleted, nothing is stored. That it is paused changes nothing here.
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO deliveries (id, tenant_id, endpoint_id, event_id, event_type, status, next_attempt_at, created_at)
     SELECT :id, tenant_id, id, :eventId, :eventType, :status, iif(:status = 'pending', :createdAt, NULL), :createdAt
     FROM webhook_endpoints WHERE id = :endpointId AND tenant_id = :tenantId AND deleted_at IS NULL`,
  );
  const insertBody = db.prepare<[string, string]>(
    'INSERT INTO delivery_bodies (delivery_id, body) VALUES (?, ?)',
  );
  const selectOne = db.prepare<[string, string], ShownRow & { body: string | null }>(
    `SELECT ${SHOWN_COLUMNS}, b.body
     FROM deliveries d ${SHOWN_JOINS} LEFT JOIN delivery_bodies b ON b.delivery_id = d.id
     WHERE d.id = ? AND d.tenant_id = ?`,
  );
  const attempts = createAttemptSql(db);
  const discardWaiting = db.prepare<[string, number]>(
    `UPDATE deliveries SET status = 'discarded', next_attempt_at = NULL WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_due WHERE endpoint_id = ? AND ${WAITING} LIMIT ?)`,
  );

  return {
    insert({ id, tenantId, type, createdAt }: EventRow, delivery: NewDelivery): void {
      const { changes } = insert.run({
        id: delivery.id,
        eventId: id,
        eventType: type,
        tenantId,
        endpointId: delivery.endpointId,
        status: delivery.status,
        createdAt,
      });
      if (changes === 1) insertBody.run(delivery.id, delivery.body);
    },
    get(tenantId: string, id: string): DeliveryLog | null {
      const row = selectOne.get(id, tenantId);
      return row === undefined ? null : { ...toSummary(row), body: row.body, attempts: attempts.of(id) };
    },
    /** Discards up to `limit` that wait for the endpoint; how many there were. */
    discardWaiting: (endpointId: string, limit: number): number =>
      discardWaiting.run(endpointId, limit).changes,
  };
}
