import type { Database } from 'better-sqlite3';

/** Gives a delivery that is stored after its event a place of its own in the order by commit: part of the change that stores it. */
export function createLatePlace(db: Database): (tenantId: string, deliveryId: string, now: number) => void {
  // As the triggers of migration 032 do it for events. The cast: numbers are bound as floating point.
  const next = db
    .prepare<[number, string], number>(
      `UPDATE stored_rows SET position = max(position + 1, CAST(? AS INTEGER) << 10) WHERE tenant_id = ?
       RETURNING position`,
    )
    .pluck();
  const insert = db.prepare<[string, number, string]>(
    'INSERT INTO late_deliveries (tenant_id, position, delivery_id) VALUES (?, ?, ?)',
  );

  return (tenantId, deliveryId, now) => {
    insert.run(tenantId, next.get(now, tenantId) ?? 0, deliveryId);
  };
}
