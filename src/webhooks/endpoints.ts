import { effectivePlan, planLimits } from '../accounts/plans.ts';
import { type Clock, toIso } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { AddressSet } from '../lib/network.ts';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { DomainError, invalidAt } from '../model/errors.ts';
import type { Tenant } from '../model/tenant.ts';
import type { Endpoint, WebhookInput, WebhookResource } from '../model/webhook.ts';
import type { Store } from '../store/store.ts';
import { generateSecret } from './signature.ts';
import { createLookup } from './target-lookup.ts';
import { checkResolvedTarget, checkTarget } from './targets.ts';

/** What the use cases of endpoints need of the process. */
export interface EndpointParts {
  store: Store;
  clock: Clock;
  random: Random;
  newId: NewId;
  secretBox: SecretBox;
  allowTargets: AddressSet;
}

/**
 * Makes an endpoint with a secret of its own; the secret is returned here and never again.
 * @throws DomainError `INVALID_REQUEST` (target, unknown profile), `PLAN_REQUIRED` (count, throughput)
 */
export async function createEndpoint(
  parts: EndpointParts,
  tenant: Tenant,
  input: WebhookInput,
): Promise<{ endpoint: Endpoint; secret: string }> {
  const { store, clock, random, newId, secretBox } = parts;
  const plan = effectivePlan(tenant, clock.now());
  const limits = planLimits(plan);
  if (input.rate_limit_per_minute > limits.maxRatePerMinute) {
    throw planRequired(
      'enterprise',
      `The ${plan} plan sends at most ${limits.maxRatePerMinute} requests a minute.`,
    );
  }
  await refuseUnknownProfiles(store, tenant.id, input.icp_profile_ids);
  const url = await acceptTarget(parts, input.url);

  const secret = generateSecret(random);
  const id = newId('whk');
  const endpoint: Endpoint = {
    id,
    tenantId: tenant.id,
    settings: { ...input, url },
    secretBox: secretBox.seal(secret, id),
    secretLast4: secret.slice(-4),
    status: 'active',
    pausedReason: null,
    pausedAt: null,
    consecutiveFailures: 0,
    version: 1,
    createdAt: clock.now(),
  };
  const created = await store.createEndpoint(endpoint, limits.endpoints);
  if (!created) {
    const next = plan === 'starter' ? 'pro' : 'enterprise';
    throw planRequired(
      next,
      `The ${plan} plan has at most ${limits.endpoints} webhook endpoint${limits.endpoints === 1 ? '' : 's'}.`,
    );
  }
  return { endpoint, secret };
}

/** An endpoint as every answer shows it, without its secret. */
export function endpointResource(endpoint: Endpoint): WebhookResource {
  const { url, label, ...settings } = endpoint.settings;
  return {
    id: endpoint.id,
    url,
    label,
    ...settings,
    status: endpoint.status,
    paused_reason: endpoint.pausedReason,
    paused_at: endpoint.pausedAt === null ? null : toIso(endpoint.pausedAt),
    consecutive_failures: endpoint.consecutiveFailures,
    secret_last4: endpoint.secretLast4,
    created_at: toIso(endpoint.createdAt),
  };
}

async function acceptTarget({ allowTargets }: EndpointParts, text: string): Promise<string> {
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

function planRequired(plan: string, detail: string): DomainError {
  return new DomainError('PLAN_REQUIRED', `${detail} The ${plan} plan allows more.`, {
    members: { required_plan: plan },
  });
}
