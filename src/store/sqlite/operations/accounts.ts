import type { Database } from 'better-sqlite3';
import type { ApiKey } from '../../../model/key.ts';
import type { AccountStore } from '../../account-store.ts';
import { createKeySql } from '../tables/keys.ts';
import { createProbeSql } from '../tables/probe.ts';
import { createProfileSql } from '../tables/profiles.ts';
import { createTenantSql } from '../tables/tenants.ts';

export function accountOperations(db: Database) {
  const tenants = createTenantSql(db);
  const profiles = createProfileSql(db);
  const keys = createKeySql(db);
  const probe = createProbeSql(db);

  return {
    createTenant(change: Parameters<AccountStore['createTenant']>[0]): void {
      tenants.insert(change.tenant);
      tenants.insertOwner(change.owner);
      profiles.insert(change.profile);
      keys.insert(change.key);
    },
    createKey: (key: ApiKey): void => keys.insert(key),
    touchKey: (id: string, now: number): void => keys.touch(id, now),
    revokeKey: (id: string, now: number): boolean => keys.revoke(id, now),
    probe: (now: number): void => probe.write(now),
  };
}
