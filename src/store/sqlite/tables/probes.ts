import type { Database } from 'better-sqlite3';

const MINUTE_MS = 60_000;
const FIRST_PROBE_MINUTES = 5;
const LAST_PROBE_MINUTES = 60;

/** When a paused endpoint is probed next, after `probes` probes: 5 min, then 10, 20, 40, and 60 from there on. */
export function nextProbeAt(now: number, probes: number): number {
  return now + Math.min(FIRST_PROBE_MINUTES * 2 ** Math.min(probes, 10), LAST_PROBE_MINUTES) * MINUTE_MS;
}

/** Probes of paused endpoints, as the endpoint's row plans them. */
export function createProbeScheduleSql(db: Database) {
  const selectDue = db.prepare<[number, number], { endpointId: string; tenantId: string }>(
    `SELECT e.id AS endpointId, e.tenant_id AS tenantId FROM webhook_endpoints e
     WHERE e.next_probe_at <= ? AND e.status = 'paused' AND e.deleted_at IS NULL
       AND EXISTS (SELECT 1 FROM deliveries d INDEXED BY deliveries_due
                   WHERE d.endpoint_id = e.id AND d.status IN ('pending', 'retrying'))
     ORDER BY e.next_probe_at LIMIT ?`,
  );
  const isDue = db
    .prepare<[string, number], number>(
      `SELECT 1 FROM webhook_endpoints
       WHERE id = ? AND next_probe_at <= ? AND status = 'paused' AND deleted_at IS NULL`,
    )
    .pluck();
  const selectProbes = db
    .prepare<[string], number>(
      "SELECT probes FROM webhook_endpoints WHERE id = ? AND status = 'paused' AND next_probe_at IS NOT NULL",
    )
    .pluck();
  const plan = db.prepare<[number, string]>(
    'UPDATE webhook_endpoints SET probes = probes + 1, next_probe_at = ? WHERE id = ?',
  );
  const shift = db.prepare<[number]>(
    'UPDATE webhook_endpoints SET next_probe_at = next_probe_at + ? WHERE next_probe_at IS NOT NULL',
  );
  const giveUp = db.prepare<[string]>(
    `UPDATE webhook_endpoints SET paused_reason = 'gone', next_probe_at = NULL
     WHERE id = ? AND status = 'paused' AND paused_reason = 'failures'`,
  );

  return {
    due: (now: number, limit: number) => selectDue.all(now, limit),
    isDue: (id: string, now: number): boolean => isDue.get(id, now) === 1,
    /** Whether it is still paused in a way that a probe may end: not by hand meanwhile, nor by its plan. */
    isPlanned: (id: string): boolean => selectProbes.get(id) !== undefined,
    /** After a probe that failed. Where somebody paused or resumed by hand meanwhile, there is nothing to plan. */
    planNext(id: string, now: number): void {
      const probes = selectProbes.get(id);
      if (probes !== undefined) plan.run(nextProbeAt(now, probes + 1), id);
    },
    /** Wall time jumped: what is planned moves along. */
    shift: (deltaMs: number): void => void shift.run(deltaMs),
    /** After a probe that was answered with 410: it stays paused, and is probed no more. */
    giveUp: (id: string): void => void giveUp.run(id),
  };
}
