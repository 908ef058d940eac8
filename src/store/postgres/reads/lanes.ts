import { idFloor } from '../../../lib/ids.ts';
import { standInLine } from '../../../lib/yielding.ts';
import type { AttemptStart, DeliveryStore } from '../../delivery-store.ts';
import type { EndpointLane, LaneReads } from '../../due-lanes.ts';
import type { DueProbeReads, DueProbeRow, ProbePlace } from '../../due-probes.ts';
import type { StartsOf } from '../../methods.ts';
import type { AttemptReads, StoredStart } from '../../recent-attempts.ts';
import type { Connection } from '../connection.ts';
import { WAITING } from '../sql/claims.ts';
import { rows, value } from '../sql/prepared.ts';

/** How `detail` states that the request was sent twice. */
const REPEATED = '"repeated":true';
/** Attempts read at once, in about 10 ms. 180,000 to an endpoint that was taken over from another node took 0.3 s. */
const ATTEMPTS_AT_ONCE = 3_000;

/** Endpoints with waiting deliveries and their recent attempts: what the dispatcher starts with. */
export function laneReads(db: Connection) {
  // One index seek per endpoint: the cost does not grow with the backlog.
  const selectLanes = rows<[string, number], EndpointLane>(
    db,
    `SELECT e.id AS "endpointId", e.tenant_id AS "tenantId", d.next_attempt_at AS "nextDueAt"
     FROM (SELECT id, tenant_id, status, deleted_at FROM webhook_endpoints WHERE id > ? ORDER BY id LIMIT ?) e
       LEFT JOIN LATERAL (
         SELECT next_attempt_at FROM deliveries
         WHERE endpoint_id = e.id AND ${WAITING} AND e.status = 'active' AND e.deleted_at IS NULL
         ORDER BY next_attempt_at LIMIT 1) d ON true
     ORDER BY e.id`,
  );
  const selectProbes = rows<[number, string, number, readonly string[], number], DueProbeRow>(
    db,
    `SELECT e.id AS "endpointId", e.tenant_id AS "tenantId", e.next_probe_at AS at,
            EXISTS (SELECT 1 FROM deliveries d WHERE d.endpoint_id = e.id AND d.${WAITING}) AS waits
     FROM webhook_endpoints e
     WHERE (e.next_probe_at, e.id) > (?, ?) AND e.next_probe_at <= ? AND e.status = 'paused' AND e.deleted_at IS NULL
       AND e.tenant_id <> ALL (?::text[])
     ORDER BY e.next_probe_at, e.id LIMIT ?`,
  );
  const selectAttempts = rows<[string, string, number, number], StoredStart>(
    db,
    `SELECT a.id, d.endpoint_id AS "endpointId", a.started_at AS "startedAt", strpos(a.detail, ?) > 0 AS "isRepeated"
     FROM attempts a JOIN deliveries d ON d.id = a.delivery_id
     WHERE a.id > ? AND a.started_at > ? ORDER BY a.id LIMIT ?`,
  );
  const selectTestSends = rows<[number], AttemptStart>(
    db,
    'SELECT endpoint_id AS "endpointId", started_at AS "startedAt" FROM test_sends WHERE started_at > ?',
  );
  // Deliveries that a process reserved when it stored them are in no lease. Released ones are counted as well.
  const selectHeld = rows<[string, number, number], { endpointId: string }>(
    db,
    `WITH leases AS MATERIALIZED (SELECT endpoint_id, held FROM lane_leases WHERE endpoint_id > ? ORDER BY endpoint_id LIMIT ?)
     SELECT h."endpointId" FROM (
       SELECT l.endpoint_id AS "endpointId", j.key AS id, j.value::bigint AS attempt
       FROM leases l, json_each_text(l.held::json) j
       UNION
       SELECT d.endpoint_id, d.id, 1 FROM leases l
         JOIN deliveries d ON d.endpoint_id = l.endpoint_id AND d.${WAITING} AND d.next_attempt_at > ?
       WHERE d.in_hand AND d.attempt_count = 0) h
     WHERE EXISTS (SELECT 1 FROM deliveries d WHERE d.id = h.id AND d.attempt_count = h.attempt - 1 AND d.${WAITING})`,
  );
  const selectLastLease = value<[string, number], string>(
    db,
    'SELECT endpoint_id FROM lane_leases WHERE endpoint_id > ? ORDER BY endpoint_id LIMIT 1 OFFSET ?::bigint - 1',
  );
  const selectSentTo = rows<[string, string, number, string[], number], StoredStart>(
    db,
    `SELECT a.id, d.endpoint_id AS "endpointId", a.started_at AS "startedAt", strpos(a.detail, ?) > 0 AS "isRepeated"
     FROM attempts a JOIN deliveries d ON d.id = a.delivery_id
     WHERE a.id > ? AND a.started_at > ? AND d.endpoint_id = ANY (?) ORDER BY a.id LIMIT ?`,
  );
  const selectTestedOf = rows<[number, string[]], AttemptStart>(
    db,
    `SELECT endpoint_id AS "endpointId", started_at AS "startedAt" FROM test_sends
     WHERE started_at > ? AND endpoint_id = ANY (?)`,
  );
  const selectHeldOf = rows<[string[], number[], string[], number], { endpointId: string }>(
    db,
    `SELECT d.endpoint_id AS "endpointId" FROM unnest(?::text[], ?::bigint[]) h (id, attempt)
       JOIN deliveries d ON d.id = h.id AND d.attempt_count = h.attempt - 1 AND d.${WAITING}
     UNION ALL
     SELECT endpoint_id FROM deliveries
     WHERE endpoint_id = ANY (?) AND ${WAITING} AND next_attempt_at > ? AND in_hand AND attempt_count = 0`,
  );
  const selectTraces = rows<[readonly string[]], { id: string; trace: string }>(
    db,
    `SELECT d.id, e.trace FROM unnest(?::text[]) WITH ORDINALITY j (id, place)
       JOIN deliveries d ON d.id = j.id JOIN events e ON e.id = d.event_id
     WHERE e.trace IS NOT NULL ORDER BY j.place`,
  );

  return {
    async tracesOf(deliveryIds) {
      const found = await selectTraces(deliveryIds);
      return found.map(({ id, trace }): [string, string] => [id, trace]);
    },
    async startsOf({ endpointIds, held, since, now }: Parameters<StartsOf>[0]) {
      const starts = new Map(endpointIds.map((id): [string, number[]] => [id, []]));
      const add = (endpointId: string, startedAt: number) => starts.get(endpointId)?.push(startedAt);
      // First, because an attempt whose outcome is stored meanwhile would be in neither list otherwise.
      const open = await selectHeldOf(Object.keys(held), Object.values(held), endpointIds, since);
      for (const { endpointId } of open) add(endpointId, now);
      for (const test of await selectTestedOf(since, endpointIds)) add(test.endpointId, test.startedAt);
      let after: string | undefined = idFloor('att', since);
      while (after !== undefined) {
        const sent: StoredStart[] = await selectSentTo(REPEATED, after, since, endpointIds, ATTEMPTS_AT_ONCE);
        for (const { endpointId, startedAt, isRepeated } of sent) {
          add(endpointId, startedAt);
          if (isRepeated) add(endpointId, startedAt);
        }
        after = sent.length < ATTEMPTS_AT_ONCE ? undefined : sent.at(-1)?.id;
        await standInLine();
      }
      for (const own of starts.values()) own.sort((a, b) => a - b);
      return starts;
    },
    lanesAfter: selectLanes,
    dueProbesAfter: (
      { at, endpointId }: ProbePlace,
      now: number,
      exceptTenants: readonly string[],
      limit: number,
    ) => selectProbes(at, endpointId, now, exceptTenants, limit),
    testStarts: selectTestSends,
    async heldAfter(after, since, limit) {
      const [held, last = null] = await Promise.all([
        selectHeld(after, limit, since),
        selectLastLease(after, limit),
      ]);
      return { endpointIds: held.map(({ endpointId }) => endpointId), last };
    },
    attemptsAfter: (after, since, limit) => selectAttempts(REPEATED, after, since, limit),
  } satisfies Partial<DeliveryStore> & AttemptReads & LaneReads & DueProbeReads & { startsOf: StartsOf };
}
