import type { Database } from 'better-sqlite3';
import type { ApiKey, Scope } from '../../../model/key.ts';
import type { Tenant } from '../../../model/tenant.ts';
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

export function createKeySql(db: Database) {
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO api_keys (id, tenant_id, name, hash, last4, scopes, rate_limit, expires_at, last_used_at, revoked_at, created_at)
     VALUES (:id, :tenantId, :name, :hash, :last4, :scopes, :rateLimit, :expiresAt, :lastUsedAt, :revokedAt, :createdAt)`,
  );
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
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE api_keys SET name = :name, scopes = :scopes, rate_limit = :rateLimit, expires_at = :expiresAt
     WHERE id = :id`,
  );
  // Two look-ups by primary key, once a request: a join would have to rename the columns both tables have.
  const selectByHash = db.prepare<[string], KeyRow>('SELECT * FROM api_keys WHERE hash = ?');
  const selectTenant = db.prepare<[string], TenantRow>('SELECT * FROM tenants WHERE id = ?');
  const touch = db.prepare<[number, string]>(
    'UPDATE api_keys SET last_used_at = max(ifnull(last_used_at, 0), ?) WHERE id = ?',
  );
  const revoke = db.prepare<[number, string]>(
    'UPDATE api_keys SET revoked_at = ifnull(revoked_at, ?) WHERE id = ?',
  );

  return {
    insert(key: ApiKey): void {
      insert.run({ ...key, scopes: JSON.stringify(key.scopes) });
    },
    list: (tenantId: string | null): ApiKey[] =>
      (tenantId === null ? selectAll.all() : selectOfTenant.all(tenantId)).map(toKey),
    find(hash: string): { key: ApiKey; tenant: Tenant } | null {
      const row = selectByHash.get(hash);
      const tenant = row === undefined ? undefined : selectTenant.get(row.tenant_id);
      return row === undefined || tenant === undefined ? null : { key: toKey(row), tenant: toTenant(tenant) };
    },
    page: (tenantId: string, page: { createdAt: number; id: string; limit: number }): ApiKey[] =>
      selectPage.all({ tenantId, ...page }).map(toKey),
    get(tenantId: string, id: string): ApiKey | null {
      const row = selectOne.get(id, tenantId);
      return row === undefined ? null : toKey(row);
    },
    update({ id, name, scopes, rateLimit, expiresAt }: ApiKey): void {
      update.run({ id, name, scopes: JSON.stringify(scopes), rateLimit, expiresAt });
    },
    touch(id: string, now: number): void {
      touch.run(now, id);
    },
    revoke: (id: string, now: number): boolean => revoke.run(now, id).changes === 1,
  };
}
