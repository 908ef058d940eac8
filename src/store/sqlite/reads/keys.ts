import type { Database } from 'better-sqlite3';
import type { ApiKey } from '../../../model/key.ts';
import type { AccountStore } from '../../account-store.ts';
import type { KeyStore } from '../../key-store.ts';
import type { Part } from '../../store.ts';
import { Table } from '../table.ts';
import { type CreationPage, pageByCreation } from './pages.ts';
import { TENANTS } from './tenants.ts';

export const KEYS = new Table<ApiKey>('api_keys', {
  id: 'plain',
  tenantId: 'plain',
  name: 'plain',
  hash: 'plain',
  last4: 'plain',
  scopes: 'json',
  rateLimit: 'plain',
  expiresAt: 'plain',
  lastUsedAt: 'plain',
  revokedAt: 'plain',
  createdAt: 'plain',
});

export function keyReads(db: Database) {
  const selectAll = KEYS.select<[]>(db, 'ORDER BY created_at, id');
  const selectOfTenant = KEYS.select<[string]>(db, 'WHERE tenant_id = ? ORDER BY created_at, id');
  const selectPage = KEYS.select<[{ tenantId: string } & CreationPage]>(
    db,
    'WHERE tenant_id = :tenantId AND (created_at, id) > (:createdAt, :id) ORDER BY created_at, id LIMIT :limit',
  );
  const selectOne = KEYS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  // Two look-ups by primary key, once a request: a join would have to rename the columns both tables have.
  const selectByHash = KEYS.select<[string]>(db, 'WHERE hash = ?');
  const selectTenant = TENANTS.select<[string]>(db, 'WHERE id = ?');

  return {
    listKeys: (tenantId) => (tenantId === null ? selectAll.all() : selectOfTenant.all(tenantId)),
    findKey(hash) {
      const key = selectByHash.get(hash);
      const tenant = key === null ? null : selectTenant.get(key.tenantId);
      return key === null || tenant === null ? null : { key, tenant };
    },
    pageKeys: (tenantId, page) =>
      pageByCreation(page, (position) => selectPage.all({ tenantId, ...position })),
    getKey: (tenantId, id) => selectOne.get(id, tenantId),
  } satisfies Part<AccountStore & KeyStore>;
}
