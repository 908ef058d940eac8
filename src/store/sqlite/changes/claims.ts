import type { Database } from 'better-sqlite3';
import type { Endpoint } from '../../../model/webhook.ts';
import type { ClaimRequest, LaneClaim, LaneDemand } from '../../delivery-store.ts';
import { BODY_JOINS, WHOLE_BODY } from '../reads/bodies.ts';
import { ENDPOINTS } from '../reads/endpoints.ts';
import { WAITING } from '../reads/shown-state.ts';
import { createProbeSchedule } from './probes.ts';

/**
 * Bytes of bodies that one claim reads: those who wait for the writer wait for it. What comes after is due still, for the
 * next claim; a lane's own limit bounds what the last of them adds.
 */
const MOST_BYTES = 4_194_304;

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
  /** A JSON array: id, type of the event, attempt, attempts in this cycle and bytes of the body of each in turn. */
  list: string;
  /** Their bodies, one behind the other. A lost one has no bytes: its delivery is given out, so that it ends with its reason. */
  bodies: Uint8Array;
}

/** A claim's answer as it crosses from the writer. */
export interface StoredLaneClaim extends Omit<LaneClaim, 'deliveries' | 'bodies'> {
  deliveries: StoredDeliveries | null;
}

/** As {@link StoredLaneClaim}, of a probe. */
export interface StoredProbe {
  endpoint: Endpoint;
  delivery: StoredDeliveries;
}

/** Whose lease it is: the process as others find out whether it lives. */
export interface LeaseTerms extends Omit<ClaimRequest, 'lanes'> {
  process: string;
}

/** A claim whose lanes say what they hold as a JSON object, `{delivery id: attempt}`: one text crosses to the writer. */
export interface StoredClaim extends LeaseTerms {
  lanes: (Omit<LaneDemand, 'held'> & { held: string })[];
}

/** As {@link StoredClaim}, of one delivery of one endpoint. */
export interface StoredProbeClaim extends LeaseTerms {
  endpointId: string;
  held: string;
}

/** The delivery that is sent next to an endpoint which is sent one after the other. */
interface HeadRow {
  id: string;
  dueAt: number;
}

interface LeaseRow {
  endpoint_id: string;
  token: string;
  until: number;
  held: string;
}

type LaneTerms = StoredProbeClaim & { limit: number; oldest: number };

/**
 * Claims. One leases the endpoint, not each delivery: a claimed delivery stays as it is until its outcome, whose fence is
 * the number of the attempt.
 */
export function claimChanges(db: Database) {
  const selectLease = db.prepare<[string], LeaseRow>('SELECT * FROM lane_leases WHERE endpoint_id = ?');
  const writeLease = db.prepare<[string, string, number, string, string]>(
    `INSERT INTO lane_leases (endpoint_id, token, until, held, process) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (endpoint_id) DO UPDATE SET
       token = excluded.token, until = excluded.until, held = excluded.held, process = excluded.process`,
  );
  const deleteLeasesOf = db.prepare<[string]>('DELETE FROM lane_leases WHERE token = ?');
  const selectDue = db.prepare<[string, number, string, number], DueRow>(
    gathered('deliveries_due', 'AND d.next_attempt_at <= ? AND d.id NOT IN (SELECT key FROM json_each(?))'),
  );
  const selectUrgent = db.prepare<[string, number, string, number], DueRow>(
    gathered(
      'deliveries_urgent',
      'AND d.urgent = 1 AND d.next_attempt_at <= ? AND d.id NOT IN (SELECT key FROM json_each(?))',
    ),
  );
  const selectOldest = db.prepare<[string, string, number], DueRow>(
    gathered('deliveries_due', 'AND d.id NOT IN (SELECT key FROM json_each(?))'),
  );
  const selectOne = db.prepare<[string, string, number], DueRow>(gathered(null, 'AND d.id = ?'));
  const selectFirstRetried = db.prepare<[string], HeadRow>(
    `SELECT id, next_attempt_at AS dueAt FROM deliveries INDEXED BY deliveries_retrying
     WHERE endpoint_id = ? AND status = 'retrying' ORDER BY body_id LIMIT 1`,
  );
  const selectFirstPending = db.prepare<[string], HeadRow>(
    `SELECT id, next_attempt_at AS dueAt FROM deliveries INDEXED BY deliveries_due
     WHERE endpoint_id = ? AND ${WAITING} ORDER BY next_attempt_at, body_id LIMIT 1`,
  );
  const selectLeftDue = db
    .prepare<[string, number, string], number>(
      `SELECT d.next_attempt_at FROM deliveries d INDEXED BY deliveries_due
       WHERE d.endpoint_id = +? AND d.${WAITING} AND d.next_attempt_at <= ?
         AND d.id NOT IN (SELECT key FROM json_each(?))
       ORDER BY d.next_attempt_at LIMIT 1`,
    )
    .pluck();
  const selectNextDue = db
    .prepare<[string, number], number>(
      `SELECT next_attempt_at FROM deliveries INDEXED BY deliveries_due
       WHERE endpoint_id = +? AND ${WAITING} AND next_attempt_at > ? ORDER BY next_attempt_at LIMIT 1`,
    )
    .pluck();
  const waitingIds = `SELECT id FROM deliveries INDEXED BY deliveries_due WHERE ${WAITING}`;
  const shiftRetries = db.prepare<[number]>(
    `UPDATE deliveries SET next_attempt_at = next_attempt_at + ? WHERE id IN (${waitingIds} AND status = 'retrying')`,
  );
  const pullFirstAttempts = db.prepare<[number, number]>(
    `UPDATE deliveries SET next_attempt_at = ?
     WHERE id IN (${waitingIds} AND status = 'pending' AND next_attempt_at > ?)`,
  );
  const selectActiveVersion = db.prepare<[string], { version: number; ordered: number }>(
    "SELECT version, ordered FROM webhook_endpoints WHERE id = ? AND status = 'active' AND deleted_at IS NULL",
  );
  const selectById = ENDPOINTS.select<[string]>(db, 'WHERE id = ?');
  const probes = createProbeSchedule(db);

  /** What a claim tells its caller about the endpoint. */
  function changedSince(id: string, version: number, knownVersion: number): LaneClaim['endpoint'] {
    if (version === knownVersion) return null;
    try {
      return selectById.get(id) ?? 'gone';
    } catch {
      return 'gone'; // its settings are unreadable: that must not end the claim of every other endpoint
    }
  }

  /** The first in the order of events of all that wait: one that is retried, as the others then wait behind it. */
  function headOf(endpointId: string): HeadRow | undefined {
    return selectFirstRetried.get(endpointId) ?? selectFirstPending.get(endpointId);
  }

  /** Of an endpoint that is sent one after the other: its first delivery, where none is on its way and it is due. */
  function selectInOrder({ endpointId, limit, held, now }: LaneTerms): {
    row: DueRow | undefined;
    waitsUntil: number | null;
  } {
    const head = limit > 0 && held === '{}' ? headOf(endpointId) : undefined;
    if (head === undefined) return { row: undefined, waitsUntil: null };
    if (head.dueAt > now) return { row: undefined, waitsUntil: head.dueAt };
    return { row: selectOne.get(endpointId, head.id, 1), waitsUntil: null };
  }

  /** As a probe sends it, due or not; nothing where one is on its way. */
  function selectHead(endpointId: string, held: string): DueRow | undefined {
    const head = held === '{}' ? headOf(endpointId) : undefined;
    return head === undefined ? undefined : selectOne.get(endpointId, head.id, 1);
  }

  function claimInOrder(terms: LaneTerms) {
    const { endpointId, held, now, leaseUntil, leaseToken, process } = terms;
    const lease = selectLease.get(endpointId);
    if (lease !== undefined && lease.token !== leaseToken && lease.until > now) {
      return { deliveries: null, nextDueAt: lease.until };
    }
    const { row, waitsUntil } = selectInOrder(terms);
    const given = heldWith(held, row?.held ?? null);
    const next =
      waitsUntil ?? selectLeftDue.get(endpointId, now, given) ?? selectNextDue.get(endpointId, now);
    if (given !== held || lease !== undefined)
      writeLease.run(endpointId, leaseToken, leaseUntil, given, process);
    return { deliveries: toStored(row), nextDueAt: next ?? null };
  }

  function claimDue(terms: LaneTerms) {
    const { endpointId, limit, oldest, held, now, leaseUntil, leaseToken, process } = terms;
    const lease = selectLease.get(endpointId);
    if (lease !== undefined && lease.token !== leaseToken && lease.until > now) {
      return { deliveries: null, nextDueAt: lease.until };
    }
    const urgent = selectUrgent.get(endpointId, now, held, limit - oldest);
    const withUrgent = heldWith(held, urgent?.held ?? null);
    const others = selectDue.get(endpointId, now, withUrgent, limit - (urgent?.count ?? 0));
    const given = heldWith(withUrgent, others?.held ?? null);
    const row = together(urgent, others);
    const left = row?.count === limit ? selectLeftDue.get(endpointId, now, given) : undefined;
    const nextDueAt = left ?? selectNextDue.get(endpointId, now) ?? null;
    if (given !== held || lease !== undefined) {
      writeLease.run(endpointId, leaseToken, leaseUntil, given, process);
    }
    return { deliveries: toStored(row), nextDueAt };
  }

  return {
    releaseLeases: (leaseToken: string): void => void deleteLeasesOf.run(leaseToken),
    claimLanes({ lanes, ...terms }: StoredClaim): StoredLaneClaim[] {
      let bytes = 0;
      return lanes.map(({ endpointId, limit: asked, knownVersion, held, oldest = 0 }) => {
        const current = selectActiveVersion.get(endpointId);
        const endpoint =
          current === undefined ? 'gone' : changedSince(endpointId, current.version, knownVersion);
        if (current === undefined || endpoint === 'gone') {
          return { endpointId, deliveries: null, nextDueAt: null, endpoint };
        }
        const limit = bytes < MOST_BYTES ? asked : 0;
        const claimOne = current.ordered === 1 ? claimInOrder : claimDue;
        const claimed = claimOne({ endpointId, limit, oldest: Math.min(oldest, limit), held, ...terms });
        bytes += claimed.deliveries?.bodies.length ?? 0;
        return { endpointId, endpoint, ...claimed };
      });
    },
    /** The delivery that has waited longest, due or not, under a lease like a claim's; null where none is to be probed. */
    claimOldest({
      endpointId,
      held,
      now,
      leaseUntil,
      leaseToken,
      process,
    }: StoredProbeClaim): StoredProbe | null {
      if (!probes.isDue(endpointId, now)) return null;
      const lease = selectLease.get(endpointId);
      if (lease !== undefined && lease.token !== leaseToken && lease.until > now) return null;
      const endpoint = selectById.get(endpointId);
      const row =
        endpoint?.ordered === true ? selectHead(endpointId, held) : selectOldest.get(endpointId, held, 1);
      const delivery = toStored(row);
      if (endpoint === null || delivery === null) return null;
      writeLease.run(endpointId, leaseToken, leaseUntil, heldWith(held, row?.held ?? null), process);
      return { endpoint, delivery };
    },
    shiftDue(now: number, deltaMs: number): void {
      shiftRetries.run(deltaMs);
      pullFirstAttempts.run(now, now);
      probes.shift(deltaMs);
    },
  };
}

/**
 * The waiting deliveries of one endpoint that also meet `terms`, a number of them at most, in one row. What stands under a
 * plus is hidden from the planner (docs/decisions/hot-statements-hide-parameters.md).
 */
function gathered(index: 'deliveries_due' | 'deliveries_urgent' | null, terms: string): string {
  const by = index === null ? '' : `INDEXED BY ${index}`;
  return `SELECT count(*) AS count,
      group_concat('"' || id || '","' || event_type || '",' || (attempt_count + 1) || ','
        || (attempt_count - cycle_start) || ',' || octet_length(body)) AS list,
      group_concat('"' || id || '":' || (attempt_count + 1)) AS held,
      CAST(group_concat(body, '') AS BLOB) AS bodies
    FROM (
      SELECT d.id, d.event_type, d.attempt_count, d.cycle_start, coalesce(${WHOLE_BODY}, '') AS body
      FROM deliveries d ${by} ${BODY_JOINS}
      WHERE d.endpoint_id = +? AND d.${WAITING} ${terms}
      ORDER BY d.next_attempt_at, d.id LIMIT +?)`;
}

/** One claim's deliveries, the urgent first. */
function together(urgent: DueRow | undefined, others: DueRow | undefined): DueRow | undefined {
  if (urgent === undefined || urgent.list === null || urgent.bodies === null) return others;
  if (others === undefined || others.list === null || others.bodies === null) return urgent;
  return {
    count: urgent.count + others.count,
    list: `${urgent.list},${others.list}`,
    held: `${urgent.held},${others.held}`,
    bodies: Buffer.concat([urgent.bodies, others.bodies]),
  };
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
