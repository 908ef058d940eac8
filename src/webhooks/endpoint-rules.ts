import { effectivePlan, planLimits } from '../accounts/plans.ts';
import type { Clock } from '../lib/clock.ts';
import type { AddressSet } from '../lib/network.ts';
import { DomainError, invalidAt } from '../model/errors.ts';
import type { PayloadFormat } from '../model/payload-format.ts';
import type { Plan, Tenant } from '../model/tenant.ts';
import type { WebhookPatch } from '../model/webhook.ts';
import type { Store } from '../store/store.ts';
import { createLookup } from './target-lookup.ts';
import { checkResolvedTarget, checkTarget } from './targets.ts';

/** What the rules need of the process. */
export interface RuleParts {
  store: Store;
  clock: Clock;
  allowTargets: AddressSet;
}

/**
 * The settings that are given, held to plan, profiles and target rules; the URL comes back in its normal form.
 * @throws DomainError `INVALID_REQUEST` (target, unknown profile), `PLAN_REQUIRED` (throughput, format)
 */
export async function acceptSettings<S extends WebhookPatch>(
  parts: RuleParts,
  tenant: Tenant,
  settings: S,
): Promise<S> {
  const plan = effectivePlan(tenant, parts.clock.now());
  refuseRate(plan, settings.rate_limit_per_minute ?? 0);
  refuseFormat(plan, settings.payload_format ?? null);
  await refuseUnknownProfiles(parts.store, tenant.id, settings.icp_profile_ids ?? []);
  return settings.url === undefined
    ? settings
    : { ...settings, url: await acceptTarget(parts, settings.url) };
}

/** @throws DomainError `PLAN_REQUIRED` where the plan knows the standard payload only */
export function refuseFormat(plan: Plan, format: PayloadFormat | null): void {
  if (format === null || planLimits(plan).customPayload) return;
  throw planRequired('pro', `The ${plan} plan sends the standard payload.`);
}

/** The refusal of one more endpoint. */
export function tooManyEndpoints(plan: Plan): DomainError {
  const { endpoints } = planLimits(plan);
  const next = plan === 'starter' ? 'pro' : 'enterprise';
  return planRequired(
    next,
    `The ${plan} plan has at most ${endpoints} webhook endpoint${endpoints === 1 ? '' : 's'}.`,
  );
}

/** A refusal that names the plan which would allow it. */
export function planRequired(plan: Plan, detail: string): DomainError {
  return new DomainError('PLAN_REQUIRED', `${detail} The ${plan} plan allows more.`, {
    members: { required_plan: plan },
  });
}

function refuseRate(plan: Plan, rate: number): void {
  const { maxRatePerMinute } = planLimits(plan);
  if (rate <= maxRatePerMinute) return;
  throw planRequired('enterprise', `The ${plan} plan sends at most ${maxRatePerMinute} requests a minute.`);
}

async function acceptTarget({ allowTargets }: RuleParts, text: string): Promise<string> {
  const target = checkTarget(text, allowTargets);
  if ('fault' in target) throw invalidAt('/url', target.fault);
  const fault = await checkResolvedTarget(target.url, allowTargets, createLookup());
  if (fault !== null) throw invalidAt('/url', fault);
  return target.url.href;
}

async function refuseUnknownProfiles(store: Store, tenantId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const known = new Set((await store.listProfiles(tenantId)).map((profile) => profile.id));
  const errors = ids.flatMap((id, index) =>
    known.has(id) ? [] : [{ pointer: `/icp_profile_ids/${index}`, detail: `There is no profile "${id}".` }],
  );
  if (errors.length > 0)
    throw new DomainError('INVALID_REQUEST', 'The endpoint names an unknown profile.', { errors });
}
