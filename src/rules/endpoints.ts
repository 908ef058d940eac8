import { MINUTE_MS } from '../lib/clock.ts';
import { parseUrl } from '../lib/text.ts';
import type { Outcome } from '../model/delivery.ts';
import type { NewMail } from '../model/mail.ts';
import type { Plan } from '../model/tenant.ts';
import type { PausedReason } from '../model/webhook.ts';

/** Number of consecutive failures that pauses an endpoint (specification, section 3). */
const PAUSE_AT_FAILURES = 20;

/** Numbers of consecutive failures that are announced before the pause; the first one by mail, too. */
const WARN_AT_FAILURES = [10, 15];

const FIRST_PROBE_MINUTES = 5;
const LAST_PROBE_MINUTES = 60;

/**
 * When a paused endpoint is probed next, after `probes` probes: in 5 min, then 10, 20, 40, and 60 from then
 * on.
 */
export function nextProbeAt(now: number, probes: number): number {
  return now + Math.min(FIRST_PROBE_MINUTES * 2 ** Math.min(probes, 10), LAST_PROBE_MINUTES) * MINUTE_MS;
}

/** A pause, and the time of its first probe (Unix milliseconds; null: none). */
export interface Pause {
  reason: PausedReason;
  probeAt: number | null;
}

/**
 * The pause caused by the `failures`th consecutive failure; null if there is none. A 410 always causes one.
 */
export function pauseAfterFailure(
  { gone, at }: Pick<Outcome, 'gone' | 'at'>,
  { failures, autoResume }: { failures: number; autoResume: boolean },
): Pause | null {
  if (gone) return { reason: 'gone', probeAt: null };
  if (failures < PAUSE_AT_FAILURES) return null;
  return { reason: 'failures', probeAt: autoResume ? nextProbeAt(at, 0) : null };
}

/** The facts in the event of an endpoint that is failing but not paused yet. */
export interface FailingFacts {
  consecutive_failures: number;
  pauses_at: number;
  previous: 'active' | 'failing';
  current: 'failing';
}

/** The notice due after the `failures`th consecutive failure of an active endpoint; null if there is none. */
export function warningAt(failures: number): { facts: FailingFacts; byMail: boolean } | null {
  const index = WARN_AT_FAILURES.indexOf(failures);
  if (index === -1) return null;
  const previous = stateAfter(failures - 1);
  const facts = { consecutive_failures: failures, pauses_at: PAUSE_AT_FAILURES, previous } as const;
  return { facts: { ...facts, current: 'failing' }, byMail: index === 0 };
}

/** The state of an active endpoint after this number of consecutive failures. */
export function stateAfter(failures: number): 'active' | 'failing' {
  return failures < (WARN_AT_FAILURES[0] ?? 0) ? 'active' : 'failing';
}

/** The effect of a probe's outcome on its endpoint. */
export type ProbeStep = { step: 'activate' | 'end_probes' | 'nothing' } | { step: 'probe_again'; at: number };

/**
 * `probes` is the number of earlier probes; null if no probe is planned, because a user paused or resumed the
 * endpoint.
 */
export function afterProbe(
  { streak, gone, at }: Pick<Outcome, 'streak' | 'gone' | 'at'>,
  probes: number | null,
): ProbeStep {
  if (streak === 'reset' && probes !== null) return { step: 'activate' };
  if (gone) return { step: 'end_probes' };
  return probes === null ? { step: 'nothing' } : { step: 'probe_again', at: nextProbeAt(at, probes + 1) };
}

/** An endpoint that is failing or was just paused. */
export interface PausedEndpoint {
  id: string;
  tenantId: string;
  version: number;
  label: string;
  url: string;
}

/** The mail to the owner about an automatic pause; null if a user or a plan caused it. */
export function pauseMail(endpoint: PausedEndpoint, reason: PausedReason, now: number): NewMail | null {
  if (reason !== 'failures' && reason !== 'gone') return null;
  const { id, tenantId, version, label, url } = endpoint;
  return {
    id: `mal_${id.slice(4)}_${version}`,
    tenantId,
    facts: { kind: 'endpoint_paused', endpointId: id, label, host: parseUrl(url)?.host ?? '', reason },
    createdAt: now,
  };
}

/** The mail to the owner about a failing endpoint. */
export function failingMail(endpoint: PausedEndpoint, facts: FailingFacts, now: number): NewMail {
  const { id, tenantId, version, label, url } = endpoint;
  const { consecutive_failures: failures, pauses_at: pausesAt } = facts;
  return {
    id: `mal_${id.slice(4)}_f${version}_${now}`,
    tenantId,
    facts: {
      kind: 'endpoint_failing',
      endpointId: id,
      label,
      host: parseUrl(url)?.host ?? '',
      failures,
      pausesAt,
    },
    createdAt: now,
  };
}

/** The effect of a plan on a tenant's endpoints, by id. */
export interface EndpointFit {
  pause: string[];
  resume: string[];
  /** Whether a successful probe would activate more endpoints than the plan allows. */
  endsProbes: boolean;
}

/**
 * Pauses the newest endpoints over the limit (null: no limit), or resumes the oldest ones that an earlier
 * plan had paused. Both lists are oldest first.
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

/** The mail to the owner about endpoints paused by the plan; null if there are none. */
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
