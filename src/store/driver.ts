import type { KeyProof } from '../lib/secret-box.ts';
import type { MigrationResult } from './migrations.ts';
import { latestVersion as latestPostgresVersion } from './postgres/migrate.ts';
import { latestVersion as latestSqliteVersion } from './sqlite/migrate.ts';
import type { SqliteStoreOptions } from './sqlite/open.ts';
import type { OpenedStore } from './store.ts';

// The driver of this process: nothing outside `store` knows which one it is. Its modules are imported on demand,
// because commands without a store start faster.

export { refuseOtherKey } from './sqlite/master-key.ts';
export { backUpSqlite as backUp } from './sqlite/upkeep/backup.ts';
export { checkEverything } from './sqlite/upkeep/check.ts';
export type { OnProgress } from './sqlite/upkeep/copy.ts';
export { inUse, isInUse, restoreSqlite as restoreBackup } from './sqlite/upkeep/restore.ts';

/** Where data is stored: in a PostgreSQL database or, if `databaseUrl` is null, in a SQLite file. */
interface StorageLocation {
  file: string;
  databaseUrl: string | null;
}

/** Opens, checks and migrates the storage. @throws StoreOpenError */
export async function openStore({
  databaseUrl,
  ...options
}: StorageLocation & SqliteStoreOptions): Promise<OpenedStore> {
  if (databaseUrl === null) {
    const { openSqliteStore } = await import('./sqlite/open.ts');
    return openSqliteStore(options);
  }
  const { openPostgresStore } = await import('./postgres/open.ts');
  return openPostgresStore({ ...options, config: { connectionString: databaseUrl } });
}

/** Migrates the schema to this program's version without starting anything. @throws StoreOpenError */
export async function migrateStore(
  { file, databaseUrl }: StorageLocation,
  keyProof: KeyProof,
): Promise<MigrationResult> {
  if (databaseUrl === null) {
    const { migrateSqlite } = await import('./sqlite/open.ts');
    return migrateSqlite(file, keyProof);
  }
  const { migratePostgres } = await import('./postgres/open.ts');
  return migratePostgres({ connectionString: databaseUrl }, keyProof);
}

/** The schema version of this program. */
export function latestVersion(databaseUrl: string | null): number {
  return databaseUrl === null ? latestSqliteVersion() : latestPostgresVersion();
}
