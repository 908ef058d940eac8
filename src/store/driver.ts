import type { KeyProof } from '../lib/secret-box.ts';
import type { MigrationResult } from './migrations.ts';
import type { SqliteStoreOptions } from './sqlite/open.ts';
import type { OpenedStore } from './store.ts';

// The driver that a process runs on: nothing outside of `store` knows which. What opens a store is loaded when it is called,
// as commands that need none start sooner.

export { refuseOtherKey } from './sqlite/master-key.ts';
export { latestVersion } from './sqlite/migrate.ts';
export { backUpSqlite as backUp } from './sqlite/upkeep/backup.ts';
export { checkEverything } from './sqlite/upkeep/check.ts';
export type { OnProgress } from './sqlite/upkeep/copy.ts';
export { inUse, isInUse, restoreSqlite as restoreBackup } from './sqlite/upkeep/restore.ts';

/** Opens, checks and migrates the storage. @throws StoreOpenError */
export async function openStore(options: SqliteStoreOptions): Promise<OpenedStore> {
  const { openSqliteStore } = await import('./sqlite/open.ts');
  return openSqliteStore(options);
}

/** Brings the schema to this program's version without starting anything. @throws StoreOpenError */
export async function migrateStore(file: string, keyProof: KeyProof): Promise<MigrationResult> {
  const { migrateSqlite } = await import('./sqlite/open.ts');
  return migrateSqlite(file, keyProof);
}
