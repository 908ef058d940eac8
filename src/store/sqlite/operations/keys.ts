import type { Database } from 'better-sqlite3';
import type { ApiKey } from '../../../model/key.ts';
import type { KeyChange } from '../../key-store.ts';
import { createKeySql } from '../tables/keys.ts';

export function keyOperations(db: Database) {
  const keys = createKeySql(db);

  return {
    changeKey(tenantId: string, id: string, change: KeyChange): ApiKey | null {
      const key = keys.get(tenantId, id);
      if (key === null || key.revokedAt !== null) return null;
      const changed = { ...key, ...change };
      keys.update(changed);
      return changed;
    },
  };
}
