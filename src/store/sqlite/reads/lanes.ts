import type { Database } from 'better-sqlite3';
import { idFloor } from '../../../lib/ids.ts';
import type { DeliveryStore, DueLane } from '../../delivery-store.ts';
import type { Part } from '../../store.ts';
import { WAITING } from './shown-state.ts';

export interface StartRow {
  endpointId: string;
  startedAt: number;
}

interface HeldRow {
  endpointId: string;
  id: string;
  attempt: number;
}

/** How `detail` says that the request was sent twice. */
const REPEATED = '"repeated":true';

/** Where work waits, and how fast it went lately: what the dispatcher begins with. */
export function laneReads(db: Database) {
  // One index seek an endpoint: the cost does not grow with the backlog.
  const selectLanes = db.prepare<[], DueLane>(
    `SELECT * FROM (
       SELECT id AS endpointId, tenant_id AS tenantId,
              (SELECT d.next_attempt_at FROM deliveries d INDEXED BY deliveries_due
               WHERE d.endpoint_id = e.id AND d.${WAITING} ORDER BY d.next_attempt_at LIMIT 1) AS nextDueAt
       FROM webhook_endpoints e WHERE status = 'active' AND deleted_at IS NULL)
     WHERE nextDueAt IS NOT NULL ORDER BY nextDueAt, endpointId`,
  );
  const selectDue = db.prepare<[number, number], { endpointId: string; tenantId: string }>(
    `SELECT e.id AS endpointId, e.tenant_id AS tenantId FROM webhook_endpoints e
     WHERE e.next_probe_at <= ? AND e.status = 'paused' AND e.deleted_at IS NULL
       AND EXISTS (SELECT 1 FROM deliveries d INDEXED BY deliveries_due
                   WHERE d.endpoint_id = e.id AND d.status IN ('pending', 'retrying'))
     ORDER BY e.next_probe_at LIMIT ?`,
  );
  // A request that was sent twice counts twice. Told from the text, which cannot fail at the start of a server as parsing
  // could: within a string of JSON the quotation marks would be escaped.
  const selectSince = db.prepare<[string, string, number], { endpointId: string; startedAt: number }>(
    `SELECT d.endpoint_id AS endpointId, a.started_at AS startedAt
     FROM attempts a JOIN json_each(iif(instr(a.detail, ?), '[1, 2]', '[1]'))
       JOIN deliveries d ON d.id = a.delivery_id
     WHERE a.id >= ? AND a.started_at > ? ORDER BY a.started_at`,
  );
  const selectTestSends = db.prepare<[number], StartRow>(
    'SELECT endpoint_id AS endpointId, started_at AS startedAt FROM test_sends WHERE started_at > ? ORDER BY started_at',
  );
  // What its process took as it stored it stands in no lease. It may have given some of it back since, which counts too.
  // CROSS: from the few lanes that are leased on, not through all that waits.
  const selectHeld = db.prepare<[number], HeldRow>(
    `SELECT l.endpoint_id AS endpointId, h.key AS id, h.value AS attempt FROM lane_leases l, json_each(l.held) h
     UNION
     SELECT d.endpoint_id, d.id, 1 FROM lane_leases l CROSS JOIN deliveries d INDEXED BY deliveries_due
       ON d.endpoint_id = l.endpoint_id AND d.${WAITING} AND d.next_attempt_at > ?
     WHERE d.in_hand AND d.attempt_count = 0`,
  );
  const selectWaiting = db
    .prepare<[string, number], number>(
      `SELECT 1 FROM deliveries WHERE id = ? AND attempt_count = ? AND ${WAITING}`,
    )
    .pluck();

  const selectProcesses = db.prepare<[], string>('SELECT name FROM processes').pluck();
  const selectTraces = db
    .prepare<[string], [string, string]>(
      `SELECT d.id, e.trace FROM json_each(?) j JOIN deliveries d ON d.id = j.value JOIN events e ON e.id = d.event_id
       WHERE e.trace IS NOT NULL`,
    )
    .raw();

  return {
    tracesOf: (deliveryIds: readonly string[]) => selectTraces.all(JSON.stringify(deliveryIds)),
    listProcesses: () => selectProcesses.all(),
    listDueLanes: () => selectLanes.all(),
    listDueProbes: (now, limit) => selectDue.all(now, limit),
    recentAttempts(since, now) {
      // What was under way when the process died may have reached its receiver just now: counted as sent now.
      const underWay = selectHeld
        .all(since)
        .filter(({ id, attempt }) => selectWaiting.get(id, attempt - 1) === 1)
        .map(({ endpointId }) => ({ endpointId, startedAt: now }));
      const sent = selectSince.all(REPEATED, idFloor('att', since), since);
      return [...sent, ...selectTestSends.all(since), ...underWay].sort((a, b) => a.startedAt - b.startedAt);
    },
  } satisfies Part<DeliveryStore> & Record<'listProcesses', unknown>;
}
