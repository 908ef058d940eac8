import { heldWith, type StoredClaim, type StoredLaneClaim } from '../changes/claims.ts';
import { heardWithin } from '../changes/processes.ts';
import type { Connection } from './connection.ts';
import { BODY_JOINS, idsOf, WAITING } from './sql/claims.ts';
import { prepared, rows, run } from './sql/prepared.ts';
import { ENDPOINTS } from './tables.ts';

/** The maximum bytes of bodies per claim, exceeded at most by the last endpoint: the same as for every engine. */
const MOST_BYTES = 4_194_304;
/** When to try an endpoint again whose lease another node is taking at the moment. */
const BUSY_MS = 20;

/** An active endpoint, with its lease if this transaction has locked it. */
interface LaneRow {
  endpointId: string;
  version: number;
  ordered: boolean;
  isNew: boolean;
  token: string | null;
  until: number | null;
  held: string | null;
  /** When the lease of another node ends, as committed when the statement started. */
  seenUntil: number | null;
}

/** An endpoint whose lease was obtained, with the caller's demand. */
interface LeasedLane {
  lane: LaneRow;
  demand: StoredClaim['lanes'][number];
}

interface Due {
  place: number;
  list: string | null;
  held: string | null;
  bodies: string | null;
  nextDueAt: number | null;
}

/**
 * The change `claimLanes` in three statements for all its endpoints: lock their leases, skipping those that another
 * node holds or is taking; read due deliveries under these leases; and write the leases. `oneByOne` is the same
 * change, statement by statement: it claims for endpoints with ordered delivery.
 */
export function createLaneClaims(
  db: Connection,
  oneByOne: (claim: StoredClaim) => Promise<StoredLaneClaim[]>,
): (claim: StoredClaim) => Promise<StoredLaneClaim[]> {
  // A free lease is inserted at once, under a lock: an insert of the same row would wait for the other node's whole transaction.
  const lock = rows<[Record<string, unknown>], LaneRow>(
    db,
    `WITH live AS MATERIALIZED (
       SELECT e.id, e.version, e.ordered FROM webhook_endpoints e
       WHERE e.id = ANY (:ids::text[]) AND e.status = 'active' AND e.deleted_at IS NULL
     ), locked AS MATERIALIZED (
       SELECT endpoint_id, token, until, held FROM lane_leases
       WHERE endpoint_id IN (SELECT id FROM live) AND (token = :leaseToken OR until <= :now)
       ORDER BY endpoint_id FOR UPDATE SKIP LOCKED
     ), free AS (
       SELECT id FROM live WHERE NOT EXISTS (SELECT 1 FROM lane_leases l WHERE l.endpoint_id = live.id)
     ), share AS MATERIALIZED (
       SELECT id FROM free ORDER BY random() LIMIT (
         SELECT ceil((SELECT count(*) FROM free)::numeric / (1 + count(*))) FROM processes
         WHERE name <> :process AND seen_at BETWEEN :heardFrom AND :heardUntil)
     ), gained AS MATERIALIZED (
       SELECT id FROM share WHERE pg_try_advisory_xact_lock(hashtextextended(id, 1))
     ), added AS (
       INSERT INTO lane_leases (endpoint_id, token, until, held, process)
       SELECT id, :leaseToken, :leaseUntil, '{}', :process FROM gained ORDER BY id
       ON CONFLICT (endpoint_id) DO NOTHING
       RETURNING endpoint_id
     )
     SELECT live.id AS "endpointId", live.version, live.ordered, added.endpoint_id IS NOT NULL AS "isNew",
       locked.token, locked.until, CASE WHEN locked.token <> :leaseToken THEN locked.held END AS held,
       seen.until AS "seenUntil"
     FROM live LEFT JOIN locked ON locked.endpoint_id = live.id LEFT JOIN added ON added.endpoint_id = live.id
       LEFT JOIN lane_leases seen ON seen.endpoint_id = live.id AND seen.token <> :leaseToken`,
  );
  // One more than claimed shows when the next one is due.
  const selectDue = rows<[Record<string, unknown>], Due>(
    db,
    `WITH asked AS MATERIALIZED (
       SELECT id, most, oldest, string_to_array(held, ',') AS held, place
       FROM unnest(:ids::text[], :limits::bigint[], :oldest::bigint[], :held::text[]) WITH ORDINALITY
         j (id, most, oldest, held, place)
     ), found AS MATERIALIZED (
       SELECT a.place, a.most, d.*,
         row_number() OVER (PARTITION BY a.place ORDER BY d.part, d.next_attempt_at, d.id) AS number
       FROM asked a CROSS JOIN LATERAL (
         WITH urgent AS MATERIALIZED (
           SELECT 0 AS part, d.id, d.event_type, d.attempt_count, d.cycle_start, d.next_attempt_at, d.body_id
           FROM deliveries d
           WHERE d.endpoint_id = a.id AND d.${WAITING} AND d.urgent AND d.next_attempt_at <= :now
             AND d.id <> ALL (a.held)
           ORDER BY d.next_attempt_at, d.id LIMIT a.most - a.oldest)
         SELECT * FROM urgent
         UNION ALL
         (SELECT 1, d.id, d.event_type, d.attempt_count, d.cycle_start, d.next_attempt_at, d.body_id
          FROM deliveries d
          WHERE d.endpoint_id = a.id AND d.${WAITING} AND d.next_attempt_at <= :now
            AND d.id <> ALL (a.held) AND NOT EXISTS (SELECT 1 FROM urgent u WHERE u.id = d.id)
          ORDER BY d.next_attempt_at, d.id LIMIT 1 + a.most - (SELECT count(*) FROM urgent))) d
     ), sized AS (
       SELECT d.*, b.body, t.text,
         coalesce(octet_length(b.body) + coalesce(octet_length(t.text), 0), 0) AS bytes
       FROM found d ${BODY_JOINS}
     ), given AS (
       SELECT s.*, s.number <= s.most AND coalesce(sum(s.bytes) FILTER (WHERE s.number <= s.most)
         OVER (ORDER BY s.place RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) < ${MOST_BYTES} AS is_given
       FROM sized s
     ), lanes AS (
       SELECT b.place,
         string_agg('"' || b.id || '","' || b.event_type || '",' || (b.attempt_count + 1) || ','
           || (b.attempt_count - b.cycle_start) || ',' || b.bytes, ',' ORDER BY b.number) FILTER (WHERE b.is_given) AS list,
         string_agg('"' || b.id || '":' || (b.attempt_count + 1), ',' ORDER BY b.number) FILTER (WHERE b.is_given) AS held,
         string_agg(coalesce(b.body || coalesce(b.text, ''), ''), '' ORDER BY b.number)
           FILTER (WHERE b.is_given) AS bodies,
         min(b.next_attempt_at) FILTER (WHERE NOT b.is_given) AS left_due
       FROM given b GROUP BY b.place
     )
     SELECT a.place, l.list, l.held, l.bodies,
       coalesce(l.left_due, (
         SELECT d.next_attempt_at FROM deliveries d
         WHERE d.endpoint_id = a.id AND d.${WAITING} AND d.next_attempt_at > :now
         ORDER BY d.next_attempt_at LIMIT 1)) AS "nextDueAt"
     FROM asked a LEFT JOIN lanes l ON l.place = a.place`,
  );
  const write = run<[Record<string, unknown>]>(
    db,
    `UPDATE lane_leases l SET token = :leaseToken, until = :leaseUntil, process = :process, held = j.held
     FROM unnest(:ids::text[], string_to_array(:held, E'\\n')) j (id, held) WHERE l.endpoint_id = j.id`,
  );
  const remove = prepared('DELETE FROM lane_leases WHERE endpoint_id = ANY (?::text[])');
  const selectById = ENDPOINTS.select<[string]>(db, 'WHERE id = ?');

  /** Endpoints newer than the caller's copies. One with unreadable settings counts as gone for this claim. */
  async function changedOf(live: readonly LaneRow[], lanes: StoredClaim['lanes']) {
    const known = new Map(lanes.map(({ endpointId, knownVersion }) => [endpointId, knownVersion]));
    const ids = live
      .filter(({ endpointId, version }) => known.get(endpointId) !== version)
      .map(({ endpointId }) => endpointId);
    const found = await Promise.allSettled(ids.map((id) => selectById.get(id)));
    return new Map(
      found.map((each, i) => [
        ids[i],
        (each.status === 'fulfilled' ? each.value : null) ?? ('gone' as const),
      ]),
    );
  }

  async function claimAll(leased: readonly LeasedLane[], row: Record<string, unknown>) {
    if (leased.length === 0) return [];
    const due = await selectDue({
      now: row.now,
      ids: leased.map(({ lane }) => lane.endpointId),
      limits: leased.map(({ demand }) => demand.limit),
      oldest: leased.map(({ demand: { limit, oldest = 0 } }) => Math.min(oldest, limit)),
      held: leased.map(({ demand }) => idsOf(demand.held).join(',')),
    });
    const leases: [endpointId: string, held: string][] = [];
    const claims = due.map(({ place, list, held: more, bodies, nextDueAt }) => {
      const { lane, demand } = leased[place - 1] as LeasedLane;
      const { endpointId, isNew, until, token } = lane;
      const hadLease = !isNew && until !== 0;
      if (more !== null || hadLease) leases.push([endpointId, heldWith(demand.held, more)]);
      const deliveries =
        list === null || bodies === null
          ? null
          : { list: `[${list}]`, bodies: new TextEncoder().encode(bodies) };
      const before = isNew || token === row.leaseToken ? {} : { takenFrom: lane.held ?? '{}' };
      return { endpointId, deliveries, nextDueAt, ...before };
    });
    if (leases.length > 0)
      write({ ...row, ids: leases.map(([id]) => id), held: leases.map(([, held]) => held).join('\n') });
    return claims;
  }

  return async ({ lanes, ...terms }) => {
    const { now, leaseToken, leaseUntil, process } = terms;
    const row = { now, leaseToken, leaseUntil, process };
    const [heardFrom, heardUntil] = heardWithin(now);
    const live = await lock({
      ...{ ...row, heardFrom, heardUntil },
      ids: lanes.map(({ endpointId }) => endpointId),
    });
    const byId = new Map(live.map((lane) => [lane.endpointId, lane]));
    const changed = await changedOf(live, lanes);
    const claims = new Map<string, StoredLaneClaim>();
    const leased: LeasedLane[] = [];
    const inOrder: StoredClaim['lanes'] = [];
    for (const demand of lanes) {
      const { endpointId } = demand;
      const lane = byId.get(endpointId);
      const endpoint = changed.get(endpointId) ?? null;
      if (lane === undefined || endpoint === 'gone') {
        claims.set(endpointId, { endpointId, deliveries: null, nextDueAt: null, endpoint: 'gone' });
        continue;
      }
      claims.set(endpointId, { endpointId, endpoint, deliveries: null, nextDueAt: null });
      if (!lane.isNew && lane.token === null) {
        const until = lane.seenUntil ?? 0;
        const nextDueAt = until > now ? until : now + BUSY_MS;
        claims.set(endpointId, { endpointId, endpoint, deliveries: null, nextDueAt });
      } else if (lane.ordered) inOrder.push(demand);
      else leased.push({ lane, demand });
    }
    for (const { endpointId, ...claimed } of await claimAll(leased, row))
      claims.set(endpointId, { endpointId, endpoint: changed.get(endpointId) ?? null, ...claimed });
    if (inOrder.length > 0)
      for (const claim of await oneByOne({ lanes: inOrder, ...terms })) claims.set(claim.endpointId, claim);
    const unused = live.filter(
      ({ isNew, endpointId }) => isNew && claims.get(endpointId)?.deliveries === null,
    );
    if (unused.length > 0) db.send(remove, [unused.map(({ endpointId }) => endpointId)]);
    return lanes.flatMap(({ endpointId }) => claims.get(endpointId) ?? []);
  };
}
