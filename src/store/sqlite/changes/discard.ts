import type { Database } from 'better-sqlite3';
import { WAITING } from '../reads/shown-state.ts';

/** Discards up to so many that wait for an endpoint; how many there were. */
export function createDiscard(db: Database): (endpointId: string, limit: number) => number {
  const discardWaiting = db.prepare<[string, number]>(
    `UPDATE deliveries SET status = 'discarded', next_attempt_at = NULL WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_due WHERE endpoint_id = ? AND ${WAITING} LIMIT ?)`,
  );

  return (endpointId, limit) => discardWaiting.run(endpointId, limit).changes;
}
