import type { NewMail } from '../model/mail.ts';
import type { Plan } from '../model/tenant.ts';

/** What a plan does to a tenant's endpoints, by their ids. */
export interface EndpointFit {
  pause: string[];
  resume: string[];
  /** A probe that succeeds would make one more active than the plan has. */
  endsProbes: boolean;
}

/**
 * Pauses the newest of those over the limit (null: none), or resumes the oldest of those that an earlier plan had paused. Both
 * lists are oldest first.
 */
export function fitToPlan(
  { active, pausedByPlan }: { active: readonly string[]; pausedByPlan: readonly string[] },
  limit: number | null,
): EndpointFit {
  if (limit === null) return { pause: [], resume: [...pausedByPlan], endsProbes: false };
  return {
    pause: active.slice(limit),
    resume: pausedByPlan.slice(0, Math.max(0, limit - active.length)),
    endsProbes: active.length >= limit,
  };
}

/** What the owner is told of endpoints that a plan has paused; null where it has paused none. */
export function overPlanMail(change: {
  tenantId: string;
  plan: Plan;
  limit: number | null;
  paused: string[];
  now: number;
}): NewMail | null {
  const { tenantId, plan, limit, paused, now } = change;
  if (paused.length === 0) return null;
  return {
    id: `mal_${tenantId.slice(4)}_${now}`,
    tenantId,
    facts: { kind: 'endpoints_over_plan', plan, limit: limit ?? 0, endpointIds: paused },
    createdAt: now,
  };
}
