import type { Database } from 'better-sqlite3';
import type { DeliveryNext } from '../../../model/delivery.ts';
import type { DueLane } from '../../delivery-store.ts';
import { WAITING } from './shown-state.ts';

/** Deliveries of one endpoint, oldest first, in one row: a row each costs several times as much to pass on. */
interface DueRow {
  count: number;
  /** {@link StoredDeliveries.list} without its brackets; null where nothing is due. */
  list: string | null;
  held: string | null;
  bodies: Buffer | null;
}

/** What a claim gives out, as it crosses from the writer. */
export interface StoredDeliveries {
  /** A JSON array: id, attempt, attempts in this cycle and bytes of the body of each in turn. */
  list: string;
  /** Their bodies, one behind the other. A lost one has no bytes: its delivery is given out, so that it ends with its reason. */
  bodies: Uint8Array;
}

interface LeaseRow {
  endpoint_id: string;
  token: string;
  until: number;
  held: string;
}

/** One endpoint's part of a claim, as the SQL wants it. `held` is a JSON object of delivery ids. */
export interface LaneTerms {
  endpointId: string;
  limit: number;
  held: string;
  now: number;
  leaseUntil: number;
  leaseToken: string;
}

/** A delivery that a process held when it was last heard of, and the number of the attempt it held it for. */
export interface HeldDelivery {
  endpointId: string;
  id: string;
  attempt: number;
}

/**
 * Claims and their outcomes. A claim leases the endpoint, not each delivery: a claimed delivery stays as it is until its
 * outcome, whose fence is the number of the attempt. A second outcome of the same attempt finds it counted already.
 */
export function createLeaseSql(db: Database) {
  const selectLease = db.prepare<[string], LeaseRow>('SELECT * FROM lane_leases WHERE endpoint_id = ?');
  const selectLeases = db.prepare<[], LeaseRow>('SELECT * FROM lane_leases');
  const writeLease = db.prepare<[string, string, number, string]>(
    `INSERT INTO lane_leases (endpoint_id, token, until, held) VALUES (?, ?, ?, ?)
     ON CONFLICT (endpoint_id) DO UPDATE SET token = excluded.token, until = excluded.until, held = excluded.held`,
  );
  const deleteLeases = db.prepare<[]>('DELETE FROM lane_leases');
  const deleteLeasesOf = db.prepare<[string]>('DELETE FROM lane_leases WHERE token = ?');
  const selectDue = db.prepare<[string, number, string, number], DueRow>(
    gathered('AND d.next_attempt_at <= ? AND d.id NOT IN (SELECT key FROM json_each(?))'),
  );
  const selectOldest = db.prepare<[string, string, number], DueRow>(
    gathered('AND d.id NOT IN (SELECT key FROM json_each(?))'),
  );
  const selectLeftDue = db
    .prepare<[string, number, string], number>(
      `SELECT d.next_attempt_at FROM deliveries d INDEXED BY deliveries_due
       WHERE d.endpoint_id = ? AND d.${WAITING} AND d.next_attempt_at <= ?
         AND d.id NOT IN (SELECT key FROM json_each(?))
       ORDER BY d.next_attempt_at LIMIT 1`,
    )
    .pluck();
  const selectNextDue = db
    .prepare<[string, number], number>(
      `SELECT next_attempt_at FROM deliveries INDEXED BY deliveries_due
       WHERE endpoint_id = ? AND ${WAITING} AND next_attempt_at > ? ORDER BY next_attempt_at LIMIT 1`,
    )
    .pluck();
  const finish = db.prepare<[string, number | null, number | null, number, string, number]>(
    `UPDATE deliveries SET status = ?, next_attempt_at = ?, expires_at = ?, attempt_count = ?
     WHERE id = ? AND attempt_count = ? AND ${WAITING}`,
  );
  const finishDelivered = db.prepare<[number, string, number]>(
    `UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL, attempt_count = ?
     WHERE id = ? AND attempt_count = ? AND ${WAITING}`,
  );
  // A failed probe takes no retry from its delivery: the attempts of its cycle stay as many.
  const spare = db.prepare<[string]>('UPDATE deliveries SET cycle_start = cycle_start + 1 WHERE id = ?');
  const waitingIds = `SELECT id FROM deliveries INDEXED BY deliveries_due WHERE ${WAITING}`;
  const shiftRetries = db.prepare<[number]>(
    `UPDATE deliveries SET next_attempt_at = next_attempt_at + ? WHERE id IN (${waitingIds} AND status = 'retrying')`,
  );
  const pullFirstAttempts = db.prepare<[number, number]>(
    `UPDATE deliveries SET next_attempt_at = ?
     WHERE id IN (${waitingIds} AND status = 'pending' AND next_attempt_at > ?)`,
  );
  const selectWaiting = db
    .prepare<[string, number], number>(
      `SELECT 1 FROM deliveries WHERE id = ? AND attempt_count = ? AND ${WAITING}`,
    )
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
    claim({ endpointId, limit, held, now, leaseUntil, leaseToken }: LaneTerms) {
      const lease = selectLease.get(endpointId);
      if (lease !== undefined && lease.token !== leaseToken && lease.until > now) {
        return { deliveries: null, nextDueAt: lease.until };
      }
      const row = selectDue.get(endpointId, now, held, limit);
      const given = heldWith(held, row?.held ?? null);
      const left = row?.count === limit ? selectLeftDue.get(endpointId, now, given) : undefined;
      const nextDueAt = left ?? selectNextDue.get(endpointId, now) ?? null;
      if (given !== held || lease !== undefined) writeLease.run(endpointId, leaseToken, leaseUntil, given);
      return { deliveries: toStored(row), nextDueAt };
    },
    /** The delivery that has waited longest, due or not, under a lease like a claim's; null where none waits. */
    claimOldest({
      endpointId,
      held,
      now,
      leaseUntil,
      leaseToken,
    }: Omit<LaneTerms, 'limit'>): StoredDeliveries | null {
      const lease = selectLease.get(endpointId);
      if (lease !== undefined && lease.token !== leaseToken && lease.until > now) return null;
      const row = selectOldest.get(endpointId, held, 1);
      const given = toStored(row);
      if (given !== null)
        writeLease.run(endpointId, leaseToken, leaseUntil, heldWith(held, row?.held ?? null));
      return given;
    },
    /** As {@link finish}, for the common end. */
    finishDelivered: (deliveryId: string, attempt: number): boolean =>
      finishDelivered.run(attempt, deliveryId, attempt - 1).changes === 1,
    /** False where that attempt was counted already, or the delivery waits for none any more. */
    finish(
      deliveryId: string,
      attempt: number,
      { next, spares }: { next: DeliveryNext; spares: boolean },
    ): boolean {
      const dueAt = next.status === 'retrying' ? next.at : null;
      const expiresAt = next.status === 'dead' ? next.expiresAt : null;
      const { changes } = finish.run(next.status, dueAt, expiresAt, attempt, deliveryId, attempt - 1);
      if (changes === 1 && spares) spare.run(deliveryId);
      return changes === 1;
    },
    shiftDue(now: number, deltaMs: number): void {
      shiftRetries.run(deltaMs);
      pullFirstAttempts.run(now, now);
    },
    releaseAll: (): void => void deleteLeases.run(),
    release: (token: string): void => void deleteLeasesOf.run(token),
    /** Every delivery that a lease names and whose attempt has no outcome. */
    held: (): HeldDelivery[] =>
      selectLeases
        .all()
        .flatMap(heldOf)
        .filter(({ id, attempt }) => selectWaiting.get(id, attempt - 1) === 1),
    lanes: (): DueLane[] => selectLanes.all(),
  };
}

/** The waiting deliveries of one endpoint that also meet `terms`, a number of them at most, in one row. */
function gathered(terms: string): string {
  return `SELECT count(*) AS count,
      group_concat('"' || id || '",' || (attempt_count + 1) || ',' || (attempt_count - cycle_start) || ','
        || octet_length(body)) AS list,
      group_concat('"' || id || '":' || (attempt_count + 1)) AS held,
      CAST(group_concat(body, '') AS BLOB) AS bodies
    FROM (
      SELECT d.id, d.attempt_count, d.cycle_start, coalesce(b.body, '') AS body
      FROM deliveries d INDEXED BY deliveries_due LEFT JOIN delivery_bodies b ON b.delivery_id = d.id
      WHERE d.endpoint_id = ? AND d.${WAITING} ${terms}
      ORDER BY d.next_attempt_at, d.id LIMIT ?)`;
}

function toStored(row: DueRow | undefined): StoredDeliveries | null {
  if (row === undefined || row.list === null || row.bodies === null) return null;
  return { list: `[${row.list}]`, bodies: row.bodies };
}

/** JSON put together as text: ids need no escaping, and parsing what the caller holds would cost more than the claim. */
function heldWith(held: string, more: string | null): string {
  if (more === null) return held;
  return held === '{}' ? `{${more}}` : `${held.slice(0, -1)},${more}}`;
}

function heldOf({ endpoint_id, held }: LeaseRow): HeldDelivery[] {
  const attempts = JSON.parse(held) as Record<string, number>;
  return Object.entries(attempts).map(([id, attempt]) => ({ endpointId: endpoint_id, id, attempt }));
}
