import type { Database } from 'better-sqlite3';
import { LRUCache } from 'lru-cache';
import type { AccountStore } from '../../account-store.ts';
import type { ProfileStore } from '../../profile-store.ts';
import type { Part } from '../table.ts';

/**
 * The maximum size of the cache in characters of JSON: about as many bytes of memory, and twice as many as objects.
 */
const MAX_CHARS = 16_000_000;

/** The cached results of one tenant at one revision. */
interface TenantCache {
  revision: number;
  values: Map<string, unknown>;
  chars: number;
}

/** Results that are cached until the tenant's account, keys, profiles or endpoints change, in any process. */
export interface ReadCache {
  /** The result of `read`, cached per revision. It is shared: it is frozen, and must not be modified. */
  of<T>(tenantId: string, name: string, read: () => T): T;
}

/**
 * A request looks up key, tenant and profiles, nearly always with the same result. The database counts
 * their changes (`tenants.revision`, by triggers): each look-up reads only that number, and a revoked key is refused
 * as soon as its change is committed. The number is read before the data, so that a commit in between makes the data
 * newer than the number, never older. The least recently used tenants are evicted.
 */
export function createReadCache(db: Database, maxChars = MAX_CHARS): ReadCache {
  const selectRevision = db.prepare<[string], number>('SELECT revision FROM tenants WHERE id = ?').pluck();
  /** By tenant, least recently used first. */
  const cache = new Map<string, TenantCache>();
  let chars = 0;

  function cacheOf(tenantId: string): TenantCache {
    const revision = selectRevision.get(tenantId) ?? -1;
    const known = cache.get(tenantId);
    cache.delete(tenantId);
    if (known?.revision === revision) {
      cache.set(tenantId, known);
      return known;
    }
    chars -= known?.chars ?? 0;
    const fresh = { revision, values: new Map(), chars: 0 };
    cache.set(tenantId, fresh);
    return fresh;
  }

  /** The current tenant is the last one, and fits by itself. */
  function forgetOldest(): void {
    for (const [id, one] of cache) {
      if (chars <= maxChars) return;
      cache.delete(id);
      chars -= one.chars;
    }
  }

  return {
    of<T>(tenantId: string, name: string, read: () => T): T {
      const known = cacheOf(tenantId);
      if (known.values.has(name)) return known.values.get(name) as T;
      const value = Object.freeze(read());
      const size = JSON.stringify(value)?.length ?? 0;
      if (known.revision === -1 || known.chars + size > maxChars) return value;
      known.values.set(name, value);
      known.chars += size;
      chars += size;
      forgetOldest();
      return value;
    },
  };
}

/** The look-ups of every request. */
type TenantReads = Pick<Required<Part<AccountStore>>, 'findKey' | 'getTenant'> &
  Pick<Required<Part<ProfileStore>>, 'profileStamp'>;

/** Hashes of keys with a cached tenant; unknown keys are not cached. */
const MAX_OWNERS = 100_000;

/** The same look-ups, with the cache. */
export function cachedTenantReads(cache: ReadCache, reads: TenantReads): TenantReads {
  /** A key never changes its tenant. */
  const owners = new LRUCache<string, string>({ max: MAX_OWNERS });

  function ownerOf(hash: string): string | null {
    const known = owners.get(hash);
    if (known !== undefined) return known;
    const found = reads.findKey(hash);
    if (found === null) return null;
    owners.set(hash, found.tenant.id);
    return found.tenant.id;
  }

  return {
    findKey(hash) {
      const owner = ownerOf(hash);
      return owner === null ? null : cache.of(owner, `key ${hash}`, () => reads.findKey(hash));
    },
    getTenant: (id) => cache.of(id, 'tenant', () => reads.getTenant(id)),
    profileStamp: (tenantId) => cache.of(tenantId, 'profiles', () => reads.profileStamp(tenantId)),
  };
}
