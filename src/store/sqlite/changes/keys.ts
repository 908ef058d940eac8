import type { Database } from 'better-sqlite3';
import type { AccountStore } from '../../account-store.ts';
import type { KeyStore } from '../../key-store.ts';
import type { Part } from '../../store.ts';
import { KEYS, keyReads } from '../reads/keys.ts';

/** Requests that come together have all seen the same last use; one of them writes it. */
const TOUCH_EVERY_MS = 60_000;

export function keyChanges(db: Database) {
  const insert = KEYS.insert(db);
  const count = db
    .prepare<[string], number>('SELECT count(*) FROM api_keys WHERE tenant_id = ? AND revoked_at IS NULL')
    .pluck();
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE api_keys SET name = :name, scopes = :scopes, rate_limit = :rateLimit, expires_at = :expiresAt
     WHERE id = :id`,
  );
  const touch = db.prepare<Record<string, unknown>[]>(
    `UPDATE api_keys SET last_used_at = :now
     WHERE id = :id AND ifnull(last_used_at, 0) <= :now - ${TOUCH_EVERY_MS}`,
  );
  const revoke = db.prepare<[number, string]>(
    'UPDATE api_keys SET revoked_at = ifnull(revoked_at, ?) WHERE id = ?',
  );
  const prune = db.prepare<[number, number]>(
    'DELETE FROM api_keys WHERE id IN (SELECT id FROM api_keys WHERE revoked_at < ? LIMIT ?)',
  );
  const { getKey } = keyReads(db);

  return {
    createKey(key, limit) {
      if ((count.get(key.tenantId) ?? 0) >= limit) return false;
      insert(key);
      return true;
    },
    touchKey: (id, now) => void touch.run({ id, now }),
    revokeKey: (id, now) => revoke.run(now, id).changes === 1,
    pruneKeys: (before, limit) => prune.run(before, limit).changes,
    changeKey(tenantId, id, change) {
      const key = getKey(tenantId, id);
      if (key === null || key.revokedAt !== null) return null;
      const changed = { ...key, ...change };
      const { name, scopes, rateLimit, expiresAt } = changed;
      update.run(KEYS.encode({ id, name, scopes, rateLimit, expiresAt }));
      return changed;
    },
  } satisfies Part<AccountStore & KeyStore>;
}
