import type { Database } from 'better-sqlite3';
import type { ApiKey, Scope } from '../../../model/key.ts';
import type { AccountStore } from '../../account-store.ts';
import type { KeyStore } from '../../key-store.ts';
import type { Part } from '../../store.ts';
import { pageByCreation } from './pages.ts';
import { type TenantRow, toTenant } from './tenants.ts';

interface KeyRow {
  id: string;
  tenant_id: string;
  name: string;
  hash: string;
  last4: string;
  scopes: string;
  rate_limit: number;
  expires_at: number | null;
  last_used_at: number | null;
  revoked_at: number | null;
  created_at: number;
}

function toKey(row: KeyRow): ApiKey {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    hash: row.hash,
    last4: row.last4,
    scopes: JSON.parse(row.scopes) as Scope[],
    rateLimit: row.rate_limit,
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
    createdAt: row.created_at,
  };
}

export function keyReads(db: Database) {
  const selectAll = db.prepare<[], KeyRow>('SELECT * FROM api_keys ORDER BY created_at, id');
  const selectOfTenant = db.prepare<[string], KeyRow>(
    'SELECT * FROM api_keys WHERE tenant_id = ? ORDER BY created_at, id',
  );
  const selectPage = db.prepare<Record<string, unknown>[], KeyRow>(
    `SELECT * FROM api_keys WHERE tenant_id = :tenantId AND (created_at, id) > (:createdAt, :id)
     ORDER BY created_at, id LIMIT :limit`,
  );
  const selectOne = db.prepare<[string, string], KeyRow>(
    'SELECT * FROM api_keys WHERE id = ? AND tenant_id = ?',
  );
  // Two look-ups by primary key, once a request: a join would have to rename the columns both tables have.
  const selectByHash = db.prepare<[string], KeyRow>('SELECT * FROM api_keys WHERE hash = ?');
  const selectTenant = db.prepare<[string], TenantRow>('SELECT * FROM tenants WHERE id = ?');

  return {
    listKeys: (tenantId) => (tenantId === null ? selectAll.all() : selectOfTenant.all(tenantId)).map(toKey),
    findKey(hash) {
      const row = selectByHash.get(hash);
      const tenant = row === undefined ? undefined : selectTenant.get(row.tenant_id);
      return row === undefined || tenant === undefined ? null : { key: toKey(row), tenant: toTenant(tenant) };
    },
    pageKeys: (tenantId, page) =>
      pageByCreation(page, (position) => selectPage.all({ tenantId, ...position }).map(toKey)),
    getKey(tenantId, id) {
      const row = selectOne.get(id, tenantId);
      return row === undefined ? null : toKey(row);
    },
  } satisfies Part<AccountStore & KeyStore>;
}
