import type { KeyProof } from '../lib/secret-box.ts';
import type { MigrationResult } from './migrations.ts';
import { latestVersion as latestPostgresVersion } from './postgres/migrate.ts';
import { latestVersion as latestSqliteVersion } from './sqlite/migrate.ts';
import type { SqliteStoreOptions } from './sqlite/open.ts';
import type { OpenedStore } from './store.ts';

// The driver that a process runs on: nothing outside of `store` knows which. What opens a store is loaded when it is called,
// as commands that need none start sooner.

export { refuseOtherKey } from './sqlite/master-key.ts';
export { backUpSqlite as backUp } from './sqlite/upkeep/backup.ts';
export { checkEverything } from './sqlite/upkeep/check.ts';
export type { OnProgress } from './sqlite/upkeep/copy.ts';
export { inUse, isInUse, restoreSqlite as restoreBackup } from './sqlite/upkeep/restore.ts';

/** Where data is kept: in a database of PostgreSQL, or, where `databaseUrl` is null, in a file of SQLite. */
interface Place {
  file: string;
  databaseUrl: string | null;
}

/** Opens, checks and migrates the storage. @throws StoreOpenError */
export async function openStore({
  databaseUrl,
  ...options
}: Place & SqliteStoreOptions): Promise<OpenedStore> {
  if (databaseUrl === null) {
    const { openSqliteStore } = await import('./sqlite/open.ts');
    return openSqliteStore(options);
  }
  const { openPostgresStore } = await import('./postgres/open.ts');
  return openPostgresStore({ ...options, config: { connectionString: databaseUrl } });
}

/** Brings the schema to this program's version without starting anything. @throws StoreOpenError */
export async function migrateStore(
  { file, databaseUrl }: Place,
  keyProof: KeyProof,
): Promise<MigrationResult> {
  if (databaseUrl === null) {
    const { migrateSqlite } = await import('./sqlite/open.ts');
    return migrateSqlite(file, keyProof);
  }
  const { migratePostgres } = await import('./postgres/open.ts');
  return migratePostgres({ connectionString: databaseUrl }, keyProof);
}

/** The version that this program brings a database to. */
export function latestVersion(databaseUrl: string | null): number {
  return databaseUrl === null ? latestSqliteVersion() : latestPostgresVersion();
}
