import { DomainError, invalidAt } from '../model/errors.ts';
import { type ApiKey, type KeyInput, type KeyPatch, type Scope, scopesNamed } from '../model/key.ts';
import type { Tenant } from '../model/tenant.ts';
import type { KeyStore } from '../store/key-store.ts';
import { allows } from './keys.ts';
import { beyondPlan, effectivePlan, planLimits } from './plans.ts';
import { type AccountParts, newKey } from './tenants.ts';

/** Who manages keys: another key, or a person with all its scopes. */
export type KeyManager = Pick<ApiKey, 'tenantId' | 'scopes'>;

/**
 * Makes a key for the tenant of `caller`, the key that asks for it; the secret is told here and never again.
 * @throws DomainError `INSUFFICIENT_SCOPE` where it would be able to do more than `caller`, `PLAN_REQUIRED` (too many)
 */
export async function createKey(
  parts: AccountParts,
  { key: caller, tenant }: { key: KeyManager; tenant: Tenant },
  input: KeyInput,
): Promise<{ key: ApiKey; apiKey: string }> {
  const scopes = scopesNamed(input.scopes ?? input.preset ?? []);
  refuseMoreThan(caller, scopes);
  refusePast(parts, input.expires_at);
  const made = newKey(parts, {
    tenantId: tenant.id,
    name: input.name,
    scopes,
    expiresAt: input.expires_at ?? null,
    ...(input.rate_limit === undefined ? {} : { rateLimit: input.rate_limit }),
  });
  await storeKey(parts, tenant, made.key);
  return made;
}

/** Stores a new key where the plan has room for it. @throws DomainError `PLAN_REQUIRED` */
export async function storeKey(
  { store, clock }: Pick<AccountParts, 'store' | 'clock'>,
  tenant: Tenant,
  key: ApiKey,
): Promise<void> {
  const plan = effectivePlan(tenant, clock.now());
  const limit = planLimits(plan).keys;
  if (await store.createKey(key, limit)) return;
  throw beyondPlan(plan, { counted: 'keys', fact: `The ${plan} plan has at most ${limit} API keys.` });
}

/** Changes what `patch` names. @throws DomainError `NOT_FOUND`, `CONFLICT` for a revoked key, `INSUFFICIENT_SCOPE` */
export async function changeKey(
  parts: Pick<AccountParts, 'clock'> & { store: KeyStore },
  caller: KeyManager,
  { id, patch }: { id: string; patch: KeyPatch },
): Promise<ApiKey> {
  const { tenantId } = caller;
  const key = await findKey(parts.store, tenantId, id);
  refuseStronger(caller, key);
  const scopes = patch.scopes === undefined ? undefined : scopesNamed(patch.scopes);
  refuseMoreThan(caller, scopes ?? []);
  refusePast(parts, patch.expires_at);
  const changed = await parts.store.changeKey(tenantId, id, {
    ...(patch.name === undefined ? {} : { name: patch.name }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(patch.rate_limit === undefined ? {} : { rateLimit: patch.rate_limit }),
    ...(patch.expires_at === undefined ? {} : { expiresAt: patch.expires_at }),
  });
  if (changed !== null) return changed;
  throw new DomainError('CONFLICT', 'The key is revoked, which is final.', { hint: 'Create a new key.' });
}

/** Ends a key at once and for good; again changes nothing. @throws DomainError `NOT_FOUND`, `INSUFFICIENT_SCOPE` */
export async function revokeKey(
  { store, clock }: Pick<AccountParts, 'store' | 'clock'>,
  caller: KeyManager,
  id: string,
): Promise<void> {
  refuseStronger(caller, await findKey(store, caller.tenantId, id));
  await store.revokeKey(id, clock.now());
}

/** @throws DomainError `NOT_FOUND` */
export async function findKey(store: KeyStore, tenantId: string, id: string): Promise<ApiKey> {
  const key = await store.getKey(tenantId, id);
  if (key === null) throw new DomainError('NOT_FOUND', `There is no API key "${id}".`);
  return key;
}

function refuseMoreThan(caller: KeyManager, scopes: readonly Scope[]): void {
  refuseLacking(caller, scopes, {
    rule: 'A key never gives more than it may do itself',
    hint: 'Leave those scopes out, or ask with a key that has them.',
  });
}

/** A lesser key neither ends a greater one nor takes from it: whoever found the one would lock out the owner. */
function refuseStronger(caller: KeyManager, key: ApiKey): void {
  refuseLacking(caller, key.scopes, {
    rule: 'A key neither changes nor revokes one that may do more than itself',
    hint: 'Ask with a key that has those scopes.',
  });
}

function refuseLacking(
  caller: KeyManager,
  scopes: readonly Scope[],
  { rule, hint }: { rule: string; hint: string },
): void {
  const missing = scopes.filter((scope) => !allows(caller.scopes, scope));
  const [first] = missing;
  if (first === undefined) return;
  const names = missing.map((scope) => `"${scope}"`).join(', ');
  throw new DomainError('INSUFFICIENT_SCOPE', `${rule}; this one lacks ${names}.`, {
    hint,
    members: { required_scope: first },
  });
}

function refusePast({ clock }: Pick<AccountParts, 'clock'>, expiresAt: number | null | undefined): void {
  if (expiresAt === null || expiresAt === undefined || expiresAt > clock.now()) return;
  throw invalidAt('/expires_at', '"expires_at" must lie in the future; to end a key now, revoke it.');
}
