import { createHash } from 'node:crypto';
import { type Clock, DAY_MS } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { Random } from '../lib/random.ts';
import { defaultProfile } from '../model/icp.ts';
import { type ApiKey, DEFAULT_KEY_RATE_LIMIT, SCOPES, type Scope } from '../model/key.ts';
import type { Plan, Tenant } from '../model/tenant.ts';
import type { Store } from '../store/store.ts';
import { generateApiKey, hashApiKey } from './keys.ts';
import { TRIAL_MS } from './plans.ts';

const SETUP_LINK_MS = 7 * DAY_MS;

/** What accounts need of the process. */
export interface AccountParts {
  store: Store;
  clock: Clock;
  random: Random;
  newId: NewId;
}

/** A new tenant's secrets, shown once: the owner's one-time set-up token and a full-access key. */
export interface CreatedTenant {
  tenant: Tenant;
  apiKey: string;
  setupToken: string;
}

/** Who a new tenant is. */
export interface TenantInput {
  name: string;
  email: string;
  plan: Plan;
}

/** Makes a tenant with its owner, its `Default` profile and a first full-access key, in one commit. */
export async function createTenant(parts: AccountParts, input: TenantInput): Promise<CreatedTenant> {
  const { tenant, owner, profile, setupToken } = newTenant(parts, input);
  const { key, apiKey } = newKey(parts, { tenantId: tenant.id, name: 'First key', scopes: [...SCOPES] });
  await parts.store.createTenant({ tenant, owner, profile, key });
  return { tenant, apiKey, setupToken };
}

/** A tenant with its owner and its `Default` profile, not yet stored, and the token of the owner's set-up link. */
export function newTenant({ clock, random, newId }: Omit<AccountParts, 'store'>, input: TenantInput) {
  const now = clock.now();
  const tenant: Tenant = {
    id: newId('ten'),
    name: input.name,
    plan: input.plan,
    trialEndsAt: trialEnd(input.plan, now),
    createdAt: now,
  };
  const setupToken = random.bytes(32).toString('base64url');
  const owner = {
    id: newId('usr'),
    tenantId: tenant.id,
    email: input.email,
    setupTokenHash: createHash('sha256').update(setupToken).digest('hex'),
    setupExpiresAt: now + SETUP_LINK_MS,
    createdAt: now,
  };
  return { tenant, owner, profile: defaultProfile(newId('icp'), tenant.id, now), setupToken };
}

/** When a trial of `plan` begun at `now` ends; null where the plan is no trial. */
export function trialEnd(plan: Plan, now: number): number | null {
  return plan === 'trial' ? now + TRIAL_MS : null;
}

/** A key record with its secret, not yet stored. */
export function newKey(
  { clock, random, newId }: Omit<AccountParts, 'store'>,
  input: { tenantId: string; name: string; scopes: Scope[]; rateLimit?: number; expiresAt?: number | null },
): { key: ApiKey; apiKey: string } {
  const apiKey = generateApiKey(random);
  const key: ApiKey = {
    id: newId('key'),
    tenantId: input.tenantId,
    name: input.name,
    hash: hashApiKey(apiKey),
    last4: apiKey.slice(-4),
    scopes: input.scopes,
    rateLimit: input.rateLimit ?? DEFAULT_KEY_RATE_LIMIT,
    expiresAt: input.expiresAt ?? null,
    lastUsedAt: null,
    revokedAt: null,
    createdAt: clock.now(),
  };
  return { key, apiKey };
}
