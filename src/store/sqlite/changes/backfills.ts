import type { Database } from 'better-sqlite3';
import type { BackfillStore } from '../../backfill-store.ts';
import type { Part } from '../../store.ts';
import { createBodies } from './bodies.ts';
import { createDeliveryWriter } from './events.ts';
import { createLatePlace } from './late-deliveries.ts';

export function backfillChanges(db: Database) {
  const advance = db.prepare<Record<string, unknown>[]>(
    `UPDATE webhook_endpoints
     SET backfill_position = :next, backfill_from = iif(:isLast, NULL, backfill_from)
     WHERE id = :endpointId AND tenant_id = :tenantId AND backfill_from IS NOT NULL
       AND backfill_position = :position AND deleted_at IS NULL`,
  );
  const bodies = createBodies(db);
  const insertDelivery = createDeliveryWriter(db);
  const addPlace = createLatePlace(db);

  return {
    commitBackfill({ tenantId, endpointId, position, next, isLast, items, now }) {
      const step = { tenantId, endpointId, position, next, isLast: isLast ? 1 : 0 };
      if (advance.run(step).changes === 0) return false;
      for (const { event, delivery } of items) {
        // Made now: it is due now, and its log is kept from now on.
        if (insertDelivery({ ...event, createdAt: now }, delivery, bodies.createPlaces(tenantId))) {
          addPlace(tenantId, delivery.id, now);
        }
      }
      return true;
    },
  } satisfies Part<BackfillStore>;
}
