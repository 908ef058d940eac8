import type { Plan, Tenant } from '../model/tenant.ts';

export const TRIAL_MS = 14 * 24 * 3_600_000;

/** What a plan includes (CONTRACT of plans: README, "Plans"). Null means no limit. */
export interface PlanLimits {
  endpoints: number | null;
  customPayload: boolean;
  sourceIps: boolean;
  maxRatePerMinute: number;
}

const PRO: PlanLimits = { endpoints: 10, customPayload: true, sourceIps: true, maxRatePerMinute: 60 };

const LIMITS = {
  trial: PRO,
  starter: { endpoints: 1, customPayload: false, sourceIps: false, maxRatePerMinute: 60 },
  pro: PRO,
  enterprise: { endpoints: null, customPayload: true, sourceIps: true, maxRatePerMinute: 1_000_000 },
} satisfies Record<Plan, PlanLimits>;

/** The plan in force: a trial that has ended is `starter`. */
export function effectivePlan(tenant: Tenant, now: number): Plan {
  const ended = tenant.plan === 'trial' && tenant.trialEndsAt !== null && tenant.trialEndsAt <= now;
  return ended ? 'starter' : tenant.plan;
}

export function planLimits(plan: Plan): PlanLimits {
  return LIMITS[plan];
}
