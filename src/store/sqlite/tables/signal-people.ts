import type { Database } from 'better-sqlite3';

/** Whose posts the signals are, by the keys of `model/person-keys.ts`. */
export function createSignalPeopleSql(db: Database) {
  const insert = db.prepare<[string, string, string]>(
    'INSERT INTO signal_people (tenant_id, key, signal_id) VALUES (?, ?, ?)',
  );
  const remove = db.prepare<[string, string]>('DELETE FROM signal_people WHERE tenant_id = ? AND key = ?');

  return {
    insert(tenantId: string, signalId: string, keys: readonly string[]): void {
      for (const key of keys) insert.run(tenantId, key, signalId);
    },
    forget(tenantId: string, keys: readonly string[]): void {
      for (const key of keys) remove.run(tenantId, key);
    },
  };
}
