import type { Database } from 'better-sqlite3';
import type { ClaimedDelivery, DeliveryNext } from '../../../model/delivery.ts';
import type { ClaimRequest, DueLane, LaneDemand } from '../../delivery-store.ts';

interface DueRow {
  id: string;
  tenant_id: string;
  next_attempt_at: number;
  attempt_count: number;
  cycle_start: number;
  body: string;
}

/** The literal condition of the index `deliveries_due`: SQLite uses a partial index only where it reads the same. */
const WAITING = "status IN ('pending', 'retrying')";

/**
 * Claims and their outcomes. A claimed delivery keeps its status and carries a lease: the token fences the outcome, and
 * next_attempt_at is the lease's end, so that a claim nobody finished falls due again by itself.
 */
export function createLeaseSql(db: Database) {
  const selectDue = db.prepare<[string, number, number], DueRow>(
    `SELECT d.id, d.tenant_id, d.next_attempt_at, d.attempt_count, d.cycle_start, b.body
     FROM deliveries d INDEXED BY deliveries_due JOIN delivery_bodies b ON b.delivery_id = d.id
     WHERE d.endpoint_id = ? AND d.${WAITING} AND d.next_attempt_at <= ?
     ORDER BY d.next_attempt_at, d.id LIMIT ?`,
  );
  const selectNextDue = db
    .prepare<[string, number], number>(
      `SELECT next_attempt_at FROM deliveries INDEXED BY deliveries_due
       WHERE endpoint_id = ? AND ${WAITING} AND next_attempt_at > ? AND lease_token IS NULL
       ORDER BY next_attempt_at LIMIT 1`,
    )
    .pluck();
  const lease = db.prepare<[string, number, string]>(
    'UPDATE deliveries SET lease_token = ?, next_attempt_at = ? WHERE id = ?',
  );
  const finish = db.prepare<[string, number | null, number | null, string, string]>(
    `UPDATE deliveries SET status = ?, next_attempt_at = ?, expires_at = ?, lease_token = NULL,
            attempt_count = attempt_count + 1
     WHERE id = ? AND lease_token = ?`,
  );
  const releaseAll = db.prepare<[number]>(
    `UPDATE deliveries SET lease_token = NULL, next_attempt_at = ? WHERE ${WAITING} AND lease_token IS NOT NULL`,
  );
  const selectLeased = db
    .prepare<[], string>(`SELECT endpoint_id FROM deliveries WHERE ${WAITING} AND lease_token IS NOT NULL`)
    .pluck();
  // One index seek an endpoint: the cost does not grow with the backlog.
  const selectLanes = db.prepare<[], DueLane>(
    `SELECT * FROM (
       SELECT id AS endpointId, tenant_id AS tenantId,
              (SELECT d.next_attempt_at FROM deliveries d INDEXED BY deliveries_due
               WHERE d.endpoint_id = e.id AND d.${WAITING} ORDER BY d.next_attempt_at LIMIT 1) AS nextDueAt
       FROM webhook_endpoints e WHERE status = 'active' AND deleted_at IS NULL)
     WHERE nextDueAt IS NOT NULL ORDER BY nextDueAt, endpointId`,
  );

  return {
    claim(lane: LaneDemand, { now, leaseUntil, leaseToken }: Omit<ClaimRequest, 'lanes'>) {
      const rows = selectDue.all(lane.endpointId, now, lane.limit + 1); // one more tells what stays behind
      const left = rows[lane.limit];
      const deliveries = rows.slice(0, lane.limit).map((row): ClaimedDelivery => {
        lease.run(leaseToken, leaseUntil, row.id);
        return {
          id: row.id,
          endpointId: lane.endpointId,
          tenantId: row.tenant_id,
          body: row.body,
          attempt: row.attempt_count + 1,
          attemptsInCycle: row.attempt_count - row.cycle_start,
          leaseToken,
        };
      });
      const nextDueAt = left?.next_attempt_at ?? selectNextDue.get(lane.endpointId, now) ?? null;
      return { deliveries, nextDueAt };
    },
    /** False where the lease is no longer the holder's. */
    finish(deliveryId: string, leaseToken: string, next: DeliveryNext): boolean {
      const dueAt = next.status === 'retrying' ? next.at : null;
      const expiresAt = next.status === 'dead' ? next.expiresAt : null;
      return finish.run(next.status, dueAt, expiresAt, deliveryId, leaseToken).changes === 1;
    },
    releaseAll(now: number): void {
      releaseAll.run(now);
    },
    /** The endpoint of each delivery under way, one entry a delivery. */
    leasedEndpoints: (): string[] => selectLeased.all(),
    lanes: (): DueLane[] => selectLanes.all(),
  };
}
