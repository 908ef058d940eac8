import { type Clock, DAY_MS } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { Plan, Tenant } from '../model/tenant.ts';
import type { AccountStore, StoredRows } from '../store/account-store.ts';

export const TRIAL_MS = 14 * DAY_MS;

/** The limits of a plan (docs/configuration.md, "Plans"). Null means unlimited. */
export interface PlanLimits {
  endpoints: number | null;
  sourceIps: boolean;
  /** The highest rate that an endpoint can be configured with. */
  maxRatePerMinute: number;
  /** Requests to `/v1` with all keys together. */
  requestsPerMinute: number;
  /** Keys that are not revoked. */
  keys: number;
  /** Every post is matched with each active profile. */
  profiles: number;
  /** Phrases in all profiles together. */
  profilePhrases: number;
  sources: number;
  /** Stored rows, each with a limit of its own ({@link requireRoom}). */
  signals: number;
  leads: number;
  campaignEvents: number;
  /** Maximum size of a payload format as JSON; 0: only the standard payload. */
  payloadFormatBytes: number;
  /** Maximum size of the payload formats of all endpoints together: each event needs all of them in memory. */
  payloadFormatsBytes: number;
}

const KIB = 1024;

const PRO: PlanLimits = {
  endpoints: 10,
  sourceIps: true,
  maxRatePerMinute: 60,
  requestsPerMinute: 3_000,
  keys: 100,
  profiles: 100,
  profilePhrases: 5_000,
  sources: 100,
  signals: 2_000_000,
  leads: 500_000,
  campaignEvents: 10_000_000,
  payloadFormatBytes: 16 * KIB,
  payloadFormatsBytes: 160 * KIB,
};

const LIMITS = {
  trial: PRO,
  starter: {
    endpoints: 1,
    sourceIps: false,
    maxRatePerMinute: 60,
    requestsPerMinute: 600,
    keys: 20,
    profiles: 10,
    profilePhrases: 500,
    sources: 10,
    signals: 100_000,
    leads: 25_000,
    campaignEvents: 500_000,
    payloadFormatBytes: 0,
    payloadFormatsBytes: 0,
  },
  pro: PRO,
  enterprise: {
    endpoints: null,
    sourceIps: true,
    maxRatePerMinute: 1_000_000,
    requestsPerMinute: 60_000,
    keys: 1_000,
    profiles: 1_000,
    profilePhrases: 50_000,
    sources: 1_000,
    signals: 50_000_000,
    leads: 10_000_000,
    campaignEvents: 200_000_000,
    payloadFormatBytes: 448 * KIB,
    payloadFormatsBytes: 8 * 1_024 * KIB,
  },
} satisfies Record<Plan, PlanLimits>;

/** The effective plan: a trial that has ended is `starter`. */
export function effectivePlan(tenant: Tenant, now: number): Plan {
  const ended = tenant.plan === 'trial' && tenant.trialEndsAt !== null && tenant.trialEndsAt <= now;
  return ended ? 'starter' : tenant.plan;
}

export function planLimits(plan: Plan): PlanLimits {
  return LIMITS[plan];
}

/** A numeric limit. */
type NumericLimit = Exclude<keyof PlanLimits, 'sourceIps'>;

/**
 * The error for exceeding a numeric limit of a plan. `fact` states the limit ("The pro plan has at most 100 API
 * keys."), `needed` is the number required; the response names the smallest plan that allows it.
 */
export function beyondPlan(
  plan: Plan,
  { counted, needed, fact }: { counted: NumericLimit; needed?: number; fact: string },
): DomainError {
  const included = (other: Plan) => planLimits(other)[counted] ?? Number.POSITIVE_INFINITY;
  const limit = included(plan);
  const larger = (['pro', 'enterprise'] as const).find((other) => included(other) >= (needed ?? limit + 1));
  if (larger !== undefined) return planRequired(larger, fact, { limit });
  return new DomainError('PLAN_REQUIRED', fact, {
    hint: 'No plan includes more. Remove what you no longer need.',
    members: { limit },
  });
}

/** The error for a feature that the named plan includes. */
export function planRequired(plan: Plan, fact: string, members: Record<string, unknown> = {}): DomainError {
  return new DomainError('PLAN_REQUIRED', `${fact} The ${plan} plan allows more.`, {
    members: { required_plan: plan, ...members },
  });
}

const NAMES: Record<keyof StoredRows, string> = {
  signals: 'signals',
  leads: 'leads',
  campaignEvents: 'campaign events',
};

/**
 * Refuses to store rows if the plan's limit is reached. Call it once per request or run, before its first commit, so
 * that nothing is stored in part: the last request below the limit may exceed it by its own items.
 * @throws DomainError `PLAN_REQUIRED` with the number
 */
export async function requireRoom(
  { store, clock }: { store: Pick<AccountStore, 'getTenant' | 'countStored'>; clock: Pick<Clock, 'now'> },
  tenantId: string,
  counted: keyof StoredRows,
): Promise<void> {
  const [tenant, stored] = await Promise.all([store.getTenant(tenantId), store.countStored(tenantId)]);
  if (tenant === null) throw new DomainError('NOT_FOUND', 'There is no such tenant.');
  const plan = effectivePlan(tenant, clock.now());
  const limit = planLimits(plan)[counted];
  if (stored[counted] < limit) return;
  const fact = `The ${plan} plan keeps at most ${limit.toLocaleString('en')} ${NAMES[counted]}, and you have reached that limit.`;
  throw beyondPlan(plan, { counted, fact });
}
