import type { Clock } from '../lib/clock.ts';
import type { Plan } from '../model/tenant.ts';
import type { PlanFit, PlanTerms } from '../store/plan-store.ts';
import type { Store } from '../store/store.ts';
import { planLimits } from './plans.ts';
import { trialEnd } from './tenants.ts';

const TRIALS_AT_ONCE = 100;

interface PlanParts {
  store: Store;
  clock: Clock;
}

/**
 * Puts a tenant on another plan; a trial begins anew. Endpoints over its limit are paused with what waits for them, those
 * that an earlier plan had paused are resumed as far as there is room. Null where there is no such tenant.
 */
export function changePlan(
  { store, clock }: PlanParts,
  tenantId: string,
  plan: Plan,
): Promise<PlanFit | null> {
  const now = clock.now();
  return store.setPlan(tenantId, { plan, trialEndsAt: trialEnd(plan, now), terms: termsOf(plan, now) });
}

/** Puts every tenant whose trial has run out on Starter. */
export async function endTrials({ store, clock }: PlanParts): Promise<void> {
  const now = clock.now();
  for (const tenantId of await store.listEndedTrials(now, TRIALS_AT_ONCE)) {
    await store.endTrial(tenantId, 'starter', termsOf('starter', now));
  }
}

function termsOf(plan: Plan, now: number): PlanTerms {
  const { endpoints, maxRatePerMinute } = planLimits(plan);
  return { endpoints, maxRatePerMinute, now };
}
