import { DomainError, invalidAt } from '../model/errors.ts';
import { type ApiKey, type KeyInput, type KeyPatch, type Scope, scopesNamed } from '../model/key.ts';
import type { KeyStore } from '../store/key-store.ts';
import { allows } from './keys.ts';
import { type AccountParts, newKey } from './tenants.ts';

/**
 * Makes a key for the tenant of `caller`, the key that asks for it; the secret is told here and never again.
 * @throws DomainError `INSUFFICIENT_SCOPE` where it would be able to do more than `caller`
 */
export async function createKey(
  parts: AccountParts,
  caller: ApiKey,
  input: KeyInput,
): Promise<{ key: ApiKey; apiKey: string }> {
  const scopes = scopesNamed(input.scopes ?? input.preset ?? []);
  refuseMoreThan(caller, scopes);
  refusePast(parts, input.expires_at);
  const made = newKey(parts, {
    tenantId: caller.tenantId,
    name: input.name,
    scopes,
    expiresAt: input.expires_at ?? null,
    ...(input.rate_limit === undefined ? {} : { rateLimit: input.rate_limit }),
  });
  await parts.store.createKey(made.key);
  return made;
}

/** Changes what `patch` names. @throws DomainError `NOT_FOUND`, `CONFLICT` for a revoked key, `INSUFFICIENT_SCOPE` */
export async function changeKey(
  parts: Pick<AccountParts, 'clock'> & { store: KeyStore },
  caller: ApiKey,
  { id, patch }: { id: string; patch: KeyPatch },
): Promise<ApiKey> {
  const { tenantId } = caller;
  const key = await findKey(parts.store, tenantId, id);
  const scopes = patch.scopes === undefined ? undefined : scopesNamed(patch.scopes);
  // What the key can do already is not given by this change, so that its other settings stay within reach.
  refuseMoreThan(caller, scopes?.filter((scope) => !key.scopes.includes(scope)) ?? []);
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

/** @throws DomainError `NOT_FOUND` */
export async function findKey(store: KeyStore, tenantId: string, id: string): Promise<ApiKey> {
  const key = await store.getKey(tenantId, id);
  if (key === null) throw new DomainError('NOT_FOUND', `There is no API key "${id}".`);
  return key;
}

function refuseMoreThan(caller: ApiKey, scopes: readonly Scope[]): void {
  const missing = scopes.filter((scope) => !allows(caller.scopes, scope));
  const [first] = missing;
  if (first === undefined) return;
  const detail = `A key never gives more than it may do itself; this one lacks ${missing.map((s) => `"${s}"`).join(', ')}.`;
  throw new DomainError('INSUFFICIENT_SCOPE', detail, {
    hint: 'Leave those scopes out, or ask with a key that has them.',
    members: { required_scope: first },
  });
}

function refusePast({ clock }: Pick<AccountParts, 'clock'>, expiresAt: number | null | undefined): void {
  if (expiresAt === null || expiresAt === undefined || expiresAt > clock.now()) return;
  throw invalidAt('/expires_at', '"expires_at" must lie in the future; to end a key now, revoke it.');
}
