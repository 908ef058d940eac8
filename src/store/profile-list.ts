import { addAll } from '../lib/lists.ts';
import { standInLine } from '../lib/yielding.ts';
import type { Position } from '../model/filters.ts';
import type { IcpProfile } from '../model/icp.ts';
import type { ProfileStore } from './profile-store.ts';

/** About 2 MB of the longest profiles, which take 10 ms. */
const AT_ONCE = 10;

/**
 * Lists all profiles of a tenant by pages, yielding between them: a thousand long ones at once took 0.8 s. Concurrent
 * calls share one list, of up to 150 MB, as long as no profile changes.
 */
export function createProfileList({
  pageProfiles,
  profileStamp,
}: Pick<ProfileStore, 'pageProfiles' | 'profileStamp'>): ProfileStore['listProfiles'] {
  /** Lists in progress, by tenant and stamp. */
  const underWay = new Map<string, Promise<IcpProfile[]>>();

  async function list(tenantId: string): Promise<IcpProfile[]> {
    const profiles: IcpProfile[] = [];
    let after: Position | null = null;
    do {
      if (after !== null) await standInLine();
      const page = await pageProfiles(tenantId, { limit: AT_ONCE, after });
      addAll(profiles, page.rows);
      after = page.last;
    } while (after !== null);
    return profiles;
  }

  return async (tenantId) => {
    const key = `${tenantId} ${await profileStamp(tenantId)}`;
    const shared = underWay.get(key) ?? list(tenantId).finally(() => underWay.delete(key));
    underWay.set(key, shared);
    return await shared;
  };
}
