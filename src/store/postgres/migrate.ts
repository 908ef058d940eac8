import { join } from 'node:path';
import { StoreOpenError } from '../errors.ts';
import { type MigrationResult, readMigrations } from '../migrations.ts';
import type { Connection } from './connection.ts';
import { prepared } from './sql/prepared.ts';

const MIGRATIONS_DIR = join(import.meta.dirname, 'migrations');

/** An arbitrary lock number of our own: "SgPo", the application id of SQLite files. */
const MIGRATION_LOCK = 0x5367506f;

const lock = prepared('SELECT pg_advisory_xact_lock(?)');
const findTables = prepared(
  `SELECT count(*) FILTER (WHERE tablename = 'schema_version'), count(*) FROM pg_tables
   WHERE schemaname = current_schema()`,
);
const readVersion = prepared('SELECT version FROM schema_version');
const writeVersion = prepared('UPDATE schema_version SET version = ?');

/**
 * Migrates the schema to this program's version, atomically and forward only. If several nodes start at once, one of
 * them migrates, and the others wait for it.
 * @throws StoreOpenError
 */
export async function migrate(db: Connection): Promise<MigrationResult> {
  const migrations = readMigrations(MIGRATIONS_DIR);
  let from = 0;
  await db.transact(async () => {
    await db.ask(lock, [MIGRATION_LOCK]);
    from = await findVersion(db);
    if (from > migrations.length) throw newerSchema(from, migrations.length);
    for (const { sql } of migrations.slice(from)) await db.execute(sql);
    db.send(writeVersion, [migrations.length]);
  });
  return { from, to: migrations.length };
}

/** The schema version of this program. */
export function latestVersion(): number {
  return readMigrations(MIGRATIONS_DIR).length;
}

async function findVersion(db: Connection): Promise<number> {
  const [counts = []] = (await db.ask(findTables, [])).rows;
  const [ours, all] = counts.map(Number);
  await refuseUnfinishedCopy(db);
  if (ours === 1) return Number((await db.ask(readVersion, [])).rows[0]?.[0]);
  // Do not create our tables in a database of another program.
  if (all !== 0) {
    throw new StoreOpenError(
      'foreign_database',
      'The database contains tables of another program. Create an empty database for Signalpost, and use its address.',
    );
  }
  await db.execute(
    'CREATE TABLE schema_version (version bigint NOT NULL); INSERT INTO schema_version VALUES (0)',
  );
  return 0;
}

function newerSchema(found: number, known: number): StoreOpenError {
  return new StoreOpenError(
    'newer_schema',
    `The database has schema version ${found}, and this program knows versions up to ${known}: a newer release has ` +
      'used it. Run that release, or restore a backup made before the upgrade.',
  );
}

/** The table with the progress of "migrate-store". It exists until the copy is complete. */
export const UNFINISHED_COPY = 'unfinished_copy';

const findCopy = prepared('SELECT to_regclass(?) IS NOT NULL');

export async function hasUnfinishedCopy(db: Connection): Promise<boolean> {
  return (await db.ask(findCopy, [UNFINISHED_COPY])).rows[0]?.[0] === true;
}

/** A server must not use an incomplete copy. @throws StoreOpenError */
async function refuseUnfinishedCopy(db: Connection): Promise<void> {
  if (!(await hasUnfinishedCopy(db))) return;
  throw new StoreOpenError(
    'unfinished_copy',
    'The database holds a copy that "signalpost migrate-store" has not completed. Run that command again: it continues where it ' +
      'stopped. Or begin anew with an empty database.',
  );
}
