import type { Database } from 'better-sqlite3';
import type { Plan } from '../../../model/tenant.ts';
import type { PlanFit, PlanStore, PlanTerms } from '../../plan-store.ts';
import { createEndpointPlanSql } from '../tables/endpoint-plan.ts';
import { enqueueMail } from '../tables/outbox.ts';
import { createTenantSql } from '../tables/tenants.ts';

export function planOperations(db: Database) {
  const tenants = createTenantSql(db);
  const plans = createEndpointPlanSql(db);
  const addMail = enqueueMail(db);

  /** Endpoints that are paused without anyone having asked for it are told to the owner. */
  function holdToPlan(tenantId: string, plan: Plan, terms: PlanTerms): PlanFit {
    const result = plans.fit(tenantId, terms);
    if (result.paused.length > 0) {
      addMail({
        id: `mal_${tenantId.slice(4)}_${terms.now}`,
        tenantId,
        facts: { kind: 'endpoints_over_plan', plan, limit: terms.endpoints ?? 0, endpointIds: result.paused },
        createdAt: terms.now,
      });
    }
    return result;
  }

  return {
    setPlan(tenantId: string, change: Parameters<PlanStore['setPlan']>[1]): PlanFit | null {
      const { plan, trialEndsAt, terms } = change;
      return tenants.setPlan(tenantId, plan, trialEndsAt) ? holdToPlan(tenantId, plan, terms) : null;
    },
    endTrial: (tenantId: string, plan: Plan, terms: PlanTerms): PlanFit | null =>
      tenants.endTrial(tenantId, plan, terms.now) ? holdToPlan(tenantId, plan, terms) : null,
  };
}
