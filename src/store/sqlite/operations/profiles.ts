import type { Database } from 'better-sqlite3';
import type { IcpProfile } from '../../../model/icp.ts';
import { createProfileSql } from '../tables/profiles.ts';

export function profileOperations(db: Database) {
  const profiles = createProfileSql(db);

  return {
    createProfile(profile: IcpProfile, limit: number): 'created' | 'name_taken' | 'full' {
      if (profiles.named(profile.tenantId, profile.name) !== null) return 'name_taken';
      if (profiles.count(profile.tenantId) >= limit) return 'full';
      profiles.insert(profile);
      return 'created';
    },
    changeProfile(profile: IcpProfile): 'changed' | 'name_taken' | 'stale' {
      const holder = profiles.named(profile.tenantId, profile.name);
      if (holder !== null && holder !== profile.id) return 'name_taken';
      return profiles.update(profile) ? 'changed' : 'stale';
    },
    deleteProfile(tenantId: string, id: string, now: number): 'deleted' | 'last' | 'missing' {
      if (profiles.get(tenantId, id) === null) return 'missing';
      if (profiles.count(tenantId) === 1) return 'last';
      profiles.markDeleted(tenantId, id, now);
      return 'deleted';
    },
  };
}
