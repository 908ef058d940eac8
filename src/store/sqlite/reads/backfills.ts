import type { Database } from 'better-sqlite3';
import type { Backfill, BackfillStore } from '../../backfill-store.ts';
import type { Part } from '../../store.ts';

export function backfillReads(db: Database) {
  const select = db.prepare<[number], Backfill>(
    `SELECT id AS endpointId, tenant_id AS tenantId, backfill_from AS "from", created_at AS until,
            backfill_position AS position
     FROM webhook_endpoints INDEXED BY webhook_endpoints_backfilled
     WHERE backfill_from IS NOT NULL AND deleted_at IS NULL ORDER BY created_at LIMIT ?`,
  );
  return { listBackfills: (limit) => select.all(limit) } satisfies Part<BackfillStore>;
}
