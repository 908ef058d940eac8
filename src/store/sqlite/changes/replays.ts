import type { Database } from 'better-sqlite3';
import type { DeliveryStatus } from '../../../model/delivery.ts';
import { replayRefusal } from '../../../rules/replay.ts';
import type { DeliveryLogStore, ReplayResult } from '../../delivery-log-store.ts';
import type { Part } from '../../store.ts';
import { createDeliveryWalk } from '../reads/delivery-walk.ts';

interface ReplayRow {
  status: string;
  endpoint_id: string;
  has_body: number;
  deleted: number;
  pull: number;
}

/**
 * Sending again what has ended: pending, due at once, with all its retries before it. Its id stays, and so does the count
 * of its attempts; `cycle_start` is what the retries are counted from. A paused endpoint's is held by that alone.
 */
export function replayChanges(db: Database) {
  const selectOne = db.prepare<[string, string], ReplayRow>(
    `SELECT d.status, d.endpoint_id, d.body_id IS NOT NULL AS has_body,
            e.deleted_at IS NOT NULL AS deleted, e.mode = 'pull' AS pull
     FROM deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id WHERE d.id = ? AND d.tenant_id = ?`,
  );
  const again = db.prepare<[number, string, string]>(
    `UPDATE deliveries SET status = 'pending', next_attempt_at = ?, cycle_start = attempt_count, expires_at = NULL
     WHERE id = ? AND status = ? AND body_id IS NOT NULL`,
  );
  const walk = createDeliveryWalk(db);

  function replayOne(tenantId: string, id: string, now: number, only: string | null = null): ReplayResult {
    const row = selectOne.get(id, tenantId);
    if (row === undefined || (only !== null && row.endpoint_id !== only)) return { outcome: 'absent' };
    const status = row.status as DeliveryStatus;
    const refusal = replayRefusal({
      status,
      hasBody: row.has_body === 1,
      endpointDeleted: row.deleted === 1,
      isPull: row.pull === 1,
    });
    if (refusal !== null) return { outcome: refusal };
    again.run(now, id, row.status);
    return { outcome: 'replayed', endpointId: row.endpoint_id };
  }

  return {
    replayDelivery: replayOne,
    replayList: ({ tenantId, endpointId, ids, now }) =>
      [...new Set(ids)].filter((id) => replayOne(tenantId, id, now, endpointId).outcome === 'replayed')
        .length,
    replayRange({ tenantId, endpointId, status, eventType = null, from, to, after, limit, now }) {
      const { found, next } = walk(
        {
          ...{ tenantId, endpointId, from, to, direction: 'ASC' },
          ...{ statuses: [status], ofEndpoints: null, eventType },
        },
        after === null ? null : { createdAt: Number(after[0]), id: String(after[1]) },
        { scan: limit, limit },
      );
      const replayed = found.filter(({ id }) => again.run(now, id, status).changes === 1).length;
      return { replayed, next: next === null ? null : [next.createdAt, next.id] };
    },
  } satisfies Part<DeliveryLogStore>;
}
