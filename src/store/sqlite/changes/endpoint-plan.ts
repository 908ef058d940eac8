import type { Database } from 'better-sqlite3';
import { fitToPlan } from '../../../rules/plan-fit.ts';
import type { PlanFit, PlanTerms } from '../../plan-store.ts';
import { createEndpointState } from './endpoint-state.ts';

/** Holds a tenant's endpoints to its plan: at most so many are active, at most so fast. Nothing is deleted. */
export function createEndpointPlan(db: Database): (tenantId: string, terms: PlanTerms) => PlanFit {
  const state = createEndpointState(db);
  const selectActive = db
    .prepare<[string], string>(
      `SELECT id FROM webhook_endpoints WHERE tenant_id = ? AND deleted_at IS NULL AND status = 'active' AND mode <> 'mcp'
       ORDER BY created_at, id`,
    )
    .pluck();
  const selectPausedByPlan = db
    .prepare<[string], string>(
      `SELECT id FROM webhook_endpoints
       WHERE tenant_id = ? AND deleted_at IS NULL AND status = 'paused' AND paused_reason = 'plan'
       ORDER BY created_at, id`,
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

  return (tenantId, { endpoints: limit, maxRatePerMinute, now }) => {
    slowDown.run(maxRatePerMinute, tenantId, maxRatePerMinute);
    const found = { active: selectActive.all(tenantId), pausedByPlan: selectPausedByPlan.all(tenantId) };
    const { pause, resume, endsProbes } = fitToPlan(found, limit);
    for (const id of pause) state.pause(id, now, { reason: 'plan', probeAt: null });
    if (endsProbes) endProbes.run(tenantId);
    for (const id of resume) state.activate(id, { clearFailures: false });
    return { paused: pause, resumed: resume };
  };
}
