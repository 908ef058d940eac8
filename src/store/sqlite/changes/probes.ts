import type { Database } from 'better-sqlite3';

/** Probes of paused endpoints, as the endpoint's row plans them: parts of changes. */
export function createProbeSchedule(db: Database) {
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
    isDue: (id: string, now: number): boolean => isDue.get(id, now) === 1,
    /** Probes made of it; null where a probe may not end its pause: it was paused by hand meanwhile, or by its plan. */
    made: (id: string): number | null => selectProbes.get(id) ?? null,
    /** After one that failed. */
    plan: (id: string, at: number): void => void plan.run(at, id),
    /** Wall time jumped: what is planned moves along. */
    shift: (deltaMs: number): void => void shift.run(deltaMs),
    /** After a probe that was answered with 410: it stays paused, and is probed no more. */
    giveUp: (id: string): void => void giveUp.run(id),
  };
}
