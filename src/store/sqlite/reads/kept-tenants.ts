import { createRecentMap } from '../../../lib/recent-map.ts';
import type { AccountStore } from '../../account-store.ts';
import type { EndpointStore } from '../../endpoint-store.ts';
import type { ProfileStore } from '../../profile-store.ts';
import type { Part } from '../../store.ts';
import type { KeptReads } from './kept.ts';

/** What every request asks of its tenant. */
type TenantReads = Pick<Required<Part<AccountStore>>, 'findKey' | 'getTenant'> &
  Pick<Required<Part<ProfileStore>>, 'profileStamp'> &
  Pick<Required<Part<EndpointStore>>, 'listEndpoints'>;

/** Hashes of keys whose tenant is remembered; keys that are no one's are not among them. */
const MAX_OWNERS = 100_000;

/** The same questions, answered from what is kept. */
export function keptTenantReads(kept: KeptReads, reads: TenantReads): TenantReads {
  /** A key never changes its tenant. */
  const owners = createRecentMap<string, string>(MAX_OWNERS);

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
