import type { Database } from 'better-sqlite3';
import { LRUCache } from 'lru-cache';
import type { AccountStore } from '../../account-store.ts';
import type { EndpointStore } from '../../endpoint-store.ts';
import type { ProfileStore } from '../../profile-store.ts';
import type { Part } from '../table.ts';

/**
 * The maximum size of the cache in characters of JSON: about as many bytes of memory, and twice as many as objects.
 */
const MAX_CHARS = 16_000_000;

/** The cached results of one tenant at one revision. */
interface Kept {
  revision: number;
  values: Map<string, unknown>;
  chars: number;
}

/** Results that are cached until the tenant's account, keys, profiles or endpoints change, in any process. */
export interface KeptReads {
  /** The result of `read`, cached per revision. It is shared: it is frozen, and must not be modified. */
  of<T>(tenantId: string, name: string, read: () => T): T;
}

/**
 * A request looks up key, tenant, profiles and endpoints, nearly always with the same result. The database counts
 * their changes (`tenants.revision`, by triggers): each look-up reads only that number, and a revoked key is refused
 * as soon as its change is committed. The number is read before the data, so that a commit in between makes the data
 * newer than the number, never older. The least recently used tenants are evicted.
 */
export function createKeptReads(db: Database, maxChars = MAX_CHARS): KeptReads {
  const selectRevision = db.prepare<[string], number>('SELECT revision FROM tenants WHERE id = ?').pluck();
  /** By tenant, least recently used first. */
  const kept = new Map<string, Kept>();
  let chars = 0;

  function keptOf(tenantId: string): Kept {
    const revision = selectRevision.get(tenantId) ?? -1;
    const known = kept.get(tenantId);
    kept.delete(tenantId);
    if (known?.revision === revision) {
      kept.set(tenantId, known);
      return known;
    }
    chars -= known?.chars ?? 0;
    const fresh = { revision, values: new Map(), chars: 0 };
    kept.set(tenantId, fresh);
    return fresh;
  }

  /** The current tenant is the last one, and fits by itself. */
  function forgetOldest(): void {
    for (const [id, one] of kept) {
      if (chars <= maxChars) return;
      kept.delete(id);
      chars -= one.chars;
    }
  }

  return {
    of<T>(tenantId: string, name: string, read: () => T): T {
      const known = keptOf(tenantId);
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
  Pick<Required<Part<ProfileStore>>, 'profileStamp'> &
  Pick<Required<Part<EndpointStore>>, 'listEndpoints'>;

/** Hashes of keys with a cached tenant; unknown keys are not cached. */
const MAX_OWNERS = 100_000;

/** The same look-ups, with the cache. */
export function keptTenantReads(kept: KeptReads, reads: TenantReads): TenantReads {
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
      return owner === null ? null : kept.of(owner, `key ${hash}`, () => reads.findKey(hash));
    },
    getTenant: (id) => kept.of(id, 'tenant', () => reads.getTenant(id)),
    profileStamp: (tenantId) => kept.of(tenantId, 'profiles', () => reads.profileStamp(tenantId)),
    listEndpoints: (tenantId) => kept.of(tenantId, 'endpoints', () => reads.listEndpoints(tenantId)),
  };
}
