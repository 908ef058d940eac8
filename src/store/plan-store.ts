import type { Plan } from '../model/tenant.ts';

/** What a plan leaves of a tenant's endpoints. `endpoints` null: no limit. */
export interface PlanTerms {
  endpoints: number | null;
  maxRatePerMinute: number;
  now: number;
}

/** Ids of the endpoints that a plan paused and resumed. */
export interface PlanFit {
  paused: string[];
  resumed: string[];
}

/** Plans, and what a change of them does to a tenant's endpoints, in the same commit. */
export interface PlanStore {
  /** Null where there is no such tenant. */
  setPlan(
    tenantId: string,
    change: { plan: Plan; trialEndsAt: number | null; terms: PlanTerms },
  ): Promise<PlanFit | null>;
  /** Puts a tenant whose trial ran out by `terms.now` on `plan`; null where it did not, or is on another plan by now. */
  endTrial(tenantId: string, plan: Plan, terms: PlanTerms): Promise<PlanFit | null>;
  /** Tenants whose trial ran out by `now`. */
  listEndedTrials(now: number, limit: number): Promise<string[]>;
}
