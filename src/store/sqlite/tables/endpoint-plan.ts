import type { Database } from 'better-sqlite3';
import type { PlanFit, PlanTerms } from '../../plan-store.ts';
import { createEndpointStateSql } from './endpoint-state.ts';

/** A tenant's endpoints held to its plan: at most so many are active, at most so fast. Nothing is deleted. */
export function createEndpointPlanSql(db: Database) {
  const state = createEndpointStateSql(db);
  const selectActive = db
    .prepare<[string], string>(
      `SELECT id FROM webhook_endpoints WHERE tenant_id = ? AND deleted_at IS NULL AND status = 'active'
       ORDER BY created_at, id`,
    )
    .pluck();
  const selectPausedByPlan = db
    .prepare<[string, number], string>(
      `SELECT id FROM webhook_endpoints
       WHERE tenant_id = ? AND deleted_at IS NULL AND status = 'paused' AND paused_reason = 'plan'
       ORDER BY created_at, id LIMIT ?`,
    )
    .pluck();
  const countActive = db
    .prepare<[string], number>(
      `SELECT count(*) FROM webhook_endpoints WHERE tenant_id = ? AND deleted_at IS NULL AND status = 'active'`,
    )
    .pluck();
  const slowDown = db.prepare<[number, string, number]>(
    `UPDATE webhook_endpoints
     SET settings = json_set(settings, '$.rate_limit_per_minute', ?), version = version + 1
     WHERE tenant_id = ? AND deleted_at IS NULL AND json_extract(settings, '$.rate_limit_per_minute') > ?`,
  );

  const endProbes = db.prepare<[string]>(
    'UPDATE webhook_endpoints SET next_probe_at = NULL WHERE tenant_id = ? AND deleted_at IS NULL AND next_probe_at IS NOT NULL',
  );

  return {
    /** True where one more may be active. */
    hasRoom: (tenantId: string, limit: number | null): boolean =>
      limit === null || (countActive.get(tenantId) ?? 0) < limit,
    /** Pauses the newest of those over the limit, or resumes the oldest of those that an earlier plan had paused. */
    fit(tenantId: string, { endpoints: limit, maxRatePerMinute, now }: PlanTerms): PlanFit {
      slowDown.run(maxRatePerMinute, tenantId, maxRatePerMinute);
      const active = selectActive.all(tenantId);
      const over = limit === null ? [] : active.slice(limit);
      for (const id of over) state.pause(id, { reason: 'plan', now, probeAt: null });
      // A probe that succeeds would make one more active than the plan has.
      if (limit !== null && active.length >= limit) endProbes.run(tenantId);
      const room = limit === null ? Number.MAX_SAFE_INTEGER : Math.max(0, limit - active.length);
      const freed = room === 0 ? [] : selectPausedByPlan.all(tenantId, room);
      for (const id of freed) state.activate(id, { clearFailures: false });
      return { paused: over, resumed: freed };
    },
  };
}
