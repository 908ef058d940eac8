import type { Database } from 'better-sqlite3';
import type { ReplayableStatus, ReplayResult } from '../../delivery-log-store.ts';

interface ReplayRow {
  status: string;
  endpoint_id: string;
  has_body: number;
  deleted: number;
}

/**
 * Sending again what has ended: pending, due at once, with all its retries before it. Its id stays, and so does the count
 * of its attempts; `cycle_start` is what the retries are counted from. A paused endpoint's is held by that alone.
 */
export function createReplaySql(db: Database) {
  const selectOne = db.prepare<[string, string], ReplayRow>(
    `SELECT d.status, d.endpoint_id, EXISTS (SELECT 1 FROM delivery_bodies b WHERE b.delivery_id = d.id) AS has_body,
            e.deleted_at IS NOT NULL AS deleted
     FROM deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id WHERE d.id = ? AND d.tenant_id = ?`,
  );
  const again = db.prepare<[number, string, string]>(
    `UPDATE deliveries SET status = 'pending', next_attempt_at = ?, cycle_start = attempt_count, expires_at = NULL
     WHERE id = ? AND status = ? AND EXISTS (SELECT 1 FROM delivery_bodies b WHERE b.delivery_id = id)`,
  );

  return {
    one(tenantId: string, id: string, now: number): ReplayResult {
      const row = selectOne.get(id, tenantId);
      if (row === undefined) return { outcome: 'absent' };
      if (row.deleted === 1) return { outcome: 'no_endpoint' };
      if (row.status === 'rejected') return { outcome: 'rejected' };
      if (row.status === 'pending' || row.status === 'retrying') return { outcome: 'waiting' };
      if (row.has_body === 0) return { outcome: 'no_body' };
      again.run(now, id, row.status);
      return { outcome: 'replayed', endpointId: row.endpoint_id };
    },
    /** False where it is not in that state any more, or its body is not kept. */
    again: (id: string, status: ReplayableStatus, now: number): boolean =>
      again.run(now, id, status).changes === 1,
  };
}
