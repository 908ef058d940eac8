import type { Database } from 'better-sqlite3';
import type { AttemptStart, DeliveryStore } from '../../delivery-store.ts';
import type { EndpointLane, LaneReads } from '../../due-lanes.ts';
import type { DueProbeReads, DueProbeRow, ProbePlace } from '../../due-probes.ts';
import type { AttemptReads } from '../../recent-attempts.ts';
import type { Part } from '../table.ts';
import { WAITING } from './shown-state.ts';

interface HeldRow {
  endpointId: string;
  id: string;
  attempt: number;
}

/** Of an endpoint `e`. */
const ACTIVE = "e.status = 'active' AND e.deleted_at IS NULL";

/** How `detail` states that the request was sent twice. */
const REPEATED = '"repeated":true';

/** Endpoints with waiting deliveries and their recent attempts: what the dispatcher starts with. */
export function laneReads(db: Database) {
  // Two index seeks per endpoint: the cost does not grow with the backlog.
  const firstDue = (urgent: 0 | 1) =>
    `(SELECT d.next_attempt_at FROM deliveries d INDEXED BY deliveries_due
      WHERE d.endpoint_id = e.id AND d.urgent = ${urgent} AND d.${WAITING} ORDER BY d.next_attempt_at LIMIT 1)`;
  const selectLanes = db.prepare<[string, number], EndpointLane>(
    `WITH lanes AS MATERIALIZED (
       SELECT id AS endpointId, tenant_id AS tenantId, CASE WHEN ${ACTIVE} THEN ${firstDue(1)} END AS urgent,
              CASE WHEN ${ACTIVE} THEN ${firstDue(0)} END AS other
       FROM webhook_endpoints e WHERE id > ? ORDER BY id LIMIT ?)
     SELECT endpointId, tenantId, min(ifnull(urgent, other), ifnull(other, urgent)) AS nextDueAt FROM lanes ORDER BY endpointId`,
  );
  const selectDue = db.prepare<[number, string, number, string, number], DueProbeRow>(
    `SELECT e.id AS endpointId, e.tenant_id AS tenantId, e.next_probe_at AS at,
            EXISTS (SELECT 1 FROM deliveries d INDEXED BY deliveries_due
                    WHERE d.endpoint_id = e.id AND d.status IN ('pending', 'retrying')) AS waits
     FROM webhook_endpoints e INDEXED BY webhook_endpoints_probed
     WHERE (e.next_probe_at, e.id) > (?, ?) AND e.next_probe_at <= ? AND e.status = 'paused' AND e.deleted_at IS NULL
       AND e.tenant_id NOT IN (SELECT value FROM json_each(?))
     ORDER BY e.next_probe_at, e.id LIMIT ?`,
  );
  // A repeated request is detected in the text, which cannot fail at startup, unlike parsing:
  // in a JSON string, the quotation marks would be escaped.
  const selectAttempts = db.prepare<
    [string, string, number, number],
    AttemptStart & { id: string; isRepeated: 0 | 1 }
  >(
    `SELECT a.id, d.endpoint_id AS endpointId, a.started_at AS startedAt, instr(a.detail, ?) > 0 AS isRepeated
     FROM attempts a CROSS JOIN deliveries d ON d.id = a.delivery_id
     WHERE a.id > ? AND a.started_at > ? ORDER BY a.id LIMIT ?`,
  );
  const selectTestSends = db.prepare<[number], AttemptStart>(
    'SELECT endpoint_id AS endpointId, started_at AS startedAt FROM test_sends WHERE started_at > ?',
  );
  // Deliveries that a process reserved when it stored them are in no lease. Released ones are counted as well. CROSS:
  // starts from the few leased endpoints, instead of scanning all waiting deliveries.
  const selectHeld = db.prepare<[string, number, number], HeldRow>(
    `WITH leases AS MATERIALIZED (SELECT endpoint_id, held FROM lane_leases WHERE endpoint_id > ? ORDER BY endpoint_id LIMIT ?)
     SELECT l.endpoint_id AS endpointId, h.key AS id, h.value AS attempt FROM leases l, json_each(l.held) h
     UNION
     SELECT d.endpoint_id, d.id, 1 FROM leases l CROSS JOIN deliveries d INDEXED BY deliveries_due
       ON d.endpoint_id = l.endpoint_id AND d.urgent IN (0, 1) AND d.${WAITING} AND d.next_attempt_at > ?
     WHERE d.in_hand AND d.attempt_count = 0`,
  );
  const selectLastLease = db
    .prepare<[string, number], string>(
      'SELECT endpoint_id FROM lane_leases WHERE endpoint_id > ? ORDER BY endpoint_id LIMIT 1 OFFSET ? - 1',
    )
    .pluck();
  const selectWaiting = db
    .prepare<[string, number], number>(
      `SELECT 1 FROM deliveries WHERE id = ? AND attempt_count = ? AND ${WAITING}`,
    )
    .pluck();

  const selectTraces = db
    .prepare<[string], [string, string]>(
      `SELECT d.id, e.trace FROM json_each(?) j JOIN deliveries d ON d.id = j.value JOIN events e ON e.id = d.event_id
       WHERE e.trace IS NOT NULL`,
    )
    .raw();

  return {
    tracesOf: (deliveryIds: readonly string[]) => selectTraces.all(JSON.stringify(deliveryIds)),
    lanesAfter: (after, limit) => selectLanes.all(after, limit),
    dueProbesAfter: (
      { at, endpointId }: ProbePlace,
      now: number,
      exceptTenants: readonly string[],
      limit: number,
    ) => selectDue.all(at, endpointId, now, JSON.stringify(exceptTenants), limit),
    testStarts: (since) => selectTestSends.all(since),
    heldAfter(after, since, limit) {
      const held = selectHeld.all(after, limit, since);
      const underWay = held.filter(({ id, attempt }) => selectWaiting.get(id, attempt - 1) === 1);
      return {
        endpointIds: underWay.map(({ endpointId }) => endpointId),
        last: selectLastLease.get(after, limit) ?? null,
      };
    },
    attemptsAfter: (after, since, limit) =>
      selectAttempts
        .all(REPEATED, after, since, limit)
        .map((row) => ({ ...row, isRepeated: row.isRepeated === 1 })),
  } satisfies Part<DeliveryStore & AttemptReads & LaneReads & DueProbeReads>;
}
