import type { Database } from 'better-sqlite3';
import type { DeliveryLogStore } from '../../delivery-log-store.ts';
import type { Part } from '../../store.ts';

/** When test deliveries were sent: all that is kept of them, for the throttle. */
export function testSendChanges(db: Database) {
  const insert = db.prepare<[string, string, number]>(
    'INSERT INTO test_sends (id, endpoint_id, started_at) VALUES (?, ?, ?)',
  );

  return {
    recordTestSend: ({ id, endpointId, startedAt }) => void insert.run(id, endpointId, startedAt),
  } satisfies Part<DeliveryLogStore>;
}
