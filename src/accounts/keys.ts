import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { Random } from '../lib/random.ts';
import { DomainError, invalidAt } from '../model/errors.ts';
import {
  type ApiKey,
  DEFAULT_KEY_RATE_LIMIT,
  type KeyInput,
  type KeyPatch,
  presetScopes,
  SCOPES,
  type Scope,
  scopesNamed,
} from '../model/key.ts';
import type { Tenant } from '../model/tenant.ts';
import type { KeyStore } from '../store/account-store.ts';
import type { Store } from '../store/store.ts';
import { beyondPlan, effectivePlan, planLimits } from './plans.ts';

/** The dependencies of accounts. */
export interface AccountDeps {
  store: Store;
  clock: Clock;
  random: Random;
  newId: NewId;
}

/** A key record with its secret, not yet stored. */
export function newKey(
  { clock, random, newId }: Omit<AccountDeps, 'store'>,
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

const PREFIX = 'sp_live_';
const RANDOM_CHARS = 30;
const CHECK_CHARS = 6;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORMAT = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_CHARS + CHECK_CHARS}}$`);

/** A new secret key: `sp_live_`, 30 random base62 characters, and their CRC32 in 6 more. */
export function generateApiKey(random: Random): string {
  let body = '';
  while (body.length < RANDOM_CHARS) {
    for (const byte of random.bytes(RANDOM_CHARS)) {
      // 248 = 4 x 62: higher bytes would favour the first characters.
      if (byte < 248 && body.length < RANDOM_CHARS) body += BASE62[byte % 62];
    }
  }
  return `${PREFIX}${body}${checkOf(body)}`;
}

/** Whether a string has the form of an API key, without a query: typos fail the check characters. */
export function isWellFormedApiKey(key: string): boolean {
  if (!FORMAT.test(key)) return false;
  const body = key.slice(PREFIX.length, -CHECK_CHARS);
  return checkOf(body) === key.slice(-CHECK_CHARS);
}

/** The hash that a key is stored and looked up by: SHA-256, hex. 178 random bits need no slow hash. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

function checkOf(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let i = 0; i < CHECK_CHARS; i++) {
    text = BASE62[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** Why a stored key is not valid now; null if it is. */
export function keyRefusal(key: ApiKey, now: number): 'revoked' | 'expired' | null {
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt !== null && key.expiresAt <= now ? 'expired' : null;
}

/** Whether `scopes` permit `needed`; `:write` includes `:read`. */
export function allows(scopes: readonly Scope[], needed: Scope): boolean {
  if (scopes.includes(needed)) return true;
  return needed.endsWith(':read') && scopes.includes(needed.replace(/:read$/, ':write') as Scope);
}

/**
 * Parses a comma-separated list of scopes and presets (`read`, `write`: all but keys, `admin`); returns the unknown
 * names, if any.
 */
export function parseScopes(text: string): { scopes: Scope[] } | { unknown: string[] } {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => presetScopes(name) === null && !SCOPES.includes(name as Scope));
  return unknown.length > 0 ? { unknown } : { scopes: scopesNamed(names) };
}

/** The manager of keys: another key, or a user with all scopes. */
export type KeyManager = Pick<ApiKey, 'tenantId' | 'scopes'>;

/**
 * Creates a key for the tenant of `caller`, the calling key. The secret is returned only here.
 * @throws DomainError `INSUFFICIENT_SCOPE` if it would have more permissions than `caller`, `PLAN_REQUIRED` (too
 * many)
 */
export async function createKey(
  deps: AccountDeps,
  { key: caller, tenant }: { key: KeyManager; tenant: Tenant },
  input: KeyInput,
): Promise<{ key: ApiKey; apiKey: string }> {
  const scopes = scopesNamed(input.scopes ?? input.preset ?? []);
  refuseMoreThan(caller, scopes);
  refusePast(deps, input.expires_at);
  const made = newKey(deps, {
    tenantId: tenant.id,
    name: input.name,
    scopes,
    expiresAt: input.expires_at ?? null,
    ...(input.rate_limit === undefined ? {} : { rateLimit: input.rate_limit }),
  });
  await storeKey(deps, tenant, made.key);
  return made;
}

/** Stores a new key if the plan allows another one. @throws DomainError `PLAN_REQUIRED` */
export async function storeKey(
  { store, clock }: Pick<AccountDeps, 'store' | 'clock'>,
  tenant: Tenant,
  key: ApiKey,
): Promise<void> {
  const plan = effectivePlan(tenant, clock.now());
  const limit = planLimits(plan).keys;
  if (await store.createKey(key, limit)) return;
  throw beyondPlan(plan, { counted: 'keys', fact: `The ${plan} plan has at most ${limit} API keys.` });
}

/** Applies `patch`. @throws DomainError `NOT_FOUND`, `CONFLICT` for a revoked key, `INSUFFICIENT_SCOPE` */
export async function changeKey(
  deps: Pick<AccountDeps, 'clock'> & { store: KeyStore },
  caller: KeyManager,
  { id, patch }: { id: string; patch: KeyPatch },
): Promise<ApiKey> {
  const { tenantId } = caller;
  const key = await findKey(deps.store, tenantId, id);
  refuseStronger(caller, key);
  const scopes = patch.scopes === undefined ? undefined : scopesNamed(patch.scopes);
  refuseMoreThan(caller, scopes ?? []);
  refusePast(deps, patch.expires_at);
  const changed = await deps.store.changeKey(tenantId, id, {
    ...(patch.name === undefined ? {} : { name: patch.name }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(patch.rate_limit === undefined ? {} : { rateLimit: patch.rate_limit }),
    ...(patch.expires_at === undefined ? {} : { expiresAt: patch.expires_at }),
  });
  if (changed !== null) return changed;
  throw new DomainError('CONFLICT', 'This key was revoked, which cannot be undone.', {
    hint: 'Create a new key.',
  });
}

/** Revokes a key immediately and permanently; idempotent. @throws DomainError `NOT_FOUND`, `INSUFFICIENT_SCOPE` */
export async function revokeKey(
  { store, clock }: Pick<AccountDeps, 'store' | 'clock'>,
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
    rule: 'A key cannot grant scopes that it does not have',
    hint: 'Omit those scopes, or use a key that has them.',
  });
}

/** A key cannot revoke or restrict one with more permissions: a leaked key must not lock out the owner. */
function refuseStronger(caller: KeyManager, key: ApiKey): void {
  refuseLacking(caller, key.scopes, {
    rule: 'A key cannot change or revoke one with scopes that it does not have',
    hint: 'Use a key that has those scopes.',
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

function refusePast({ clock }: Pick<AccountDeps, 'clock'>, expiresAt: number | null | undefined): void {
  if (expiresAt === null || expiresAt === undefined || expiresAt > clock.now()) return;
  throw invalidAt('/expires_at', '"expires_at" must lie in the future; to end a key now, revoke it.');
}
