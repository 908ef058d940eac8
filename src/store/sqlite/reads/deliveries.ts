import type { Database } from 'better-sqlite3';
import type { DeliveryLogStore, DeliverySummary } from '../../delivery-log-store.ts';
import type { DeliveryStore } from '../../delivery-store.ts';
import type { Part } from '../../store.ts';
import { createAttemptList } from './attempts.ts';
import { BODY_JOINS, WHOLE_BODY } from './bodies.ts';
import { SHOWN_COLUMNS, SHOWN_JOINS, WAITING } from './shown-state.ts';

/** A delivery with all that is known of it; pages of deliveries are in `delivery-log.ts`. */
export function deliveryReads(db: Database) {
  const selectOne = db.prepare<[string, string], DeliverySummary & { body: string | null }>(
    `SELECT ${SHOWN_COLUMNS}, ${WHOLE_BODY} AS body FROM deliveries d ${SHOWN_JOINS} ${BODY_JOINS}
     WHERE d.id = ? AND d.tenant_id = ?`,
  );
  const attemptsOf = createAttemptList(db);
  const countWaiting = db
    .prepare<[string, number], number>(
      `SELECT count(*) FROM (SELECT 1 FROM deliveries INDEXED BY deliveries_due WHERE endpoint_id = ? AND ${WAITING} LIMIT ?)`,
    )
    .pluck();

  return {
    getDelivery(tenantId, id) {
      const row = selectOne.get(id, tenantId);
      return row === undefined ? null : { ...row, attempts: attemptsOf(id) };
    },
    countWaiting: (endpointId, most) => countWaiting.get(endpointId, most) ?? 0,
  } satisfies Part<DeliveryStore> & Part<DeliveryLogStore>;
}
