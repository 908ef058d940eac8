import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { StoreOpenError } from '../errors.ts';
import { type MigrationResult, readMigrations } from '../migrations.ts';
import { createSignalIndex } from './signal-index.ts';

const MIGRATIONS_DIR = join(import.meta.dirname, 'migrations');

/** Marks the file as ours (`PRAGMA application_id`): "SgPo". */
const APPLICATION_ID = 0x5367506f;

/**
 * Signals stored before this version must be indexed again. Migrations are plain SQL and call no code that may
 * change; the index is rebuilt after all of them, by the code that also searches it. When that code changes, add a
 * migration, if only to raise this number.
 */
const INDEXED_SINCE = 6;

/** Migrates the schema to this program's version. Forward only. @throws StoreOpenError */
export function migrate(db: Database): MigrationResult {
  const migrations = readMigrations(MIGRATIONS_DIR);
  const latest = migrations.length;
  refuseForeign(db);
  const from = schemaVersion(db);
  refuseNewer(db);
  if (from === latest) return { from, to: latest };

  // Checks the version again under the lock, because two processes may start at once. Atomic: a crash half-way leaves
  // the version it started from.
  const apply = db.transaction(() => {
    const found = schemaVersion(db);
    for (const { version, sql } of migrations.slice(found)) {
      db.exec(sql);
      db.pragma(`user_version = ${version}`);
    }
    if (found < INDEXED_SINCE) createSignalIndex(db).rebuild();
    db.pragma(`application_id = ${APPLICATION_ID}`);
    if (from > 0) refuseBrokenReferences(db);
  });
  withoutForeignKeys(db, () => apply.exclusive());
  return { from, to: latest };
}

/**
 * Rebuilding a table drops it first, which would delete rows that refer to it (sqlite.org/lang_altertable.html, 7).
 */
function withoutForeignKeys(db: Database, step: () => void): void {
  const enforced = db.pragma('foreign_keys', { simple: true });
  db.pragma('foreign_keys = OFF');
  try {
    step();
  } finally {
    db.pragma(`foreign_keys = ${enforced}`);
  }
}

function refuseBrokenReferences(db: Database): void {
  if (db.prepare('PRAGMA foreign_key_check').get() === undefined) return;
  throw new Error('A migration left dangling references.');
}

/** The schema version of this program. */
export function latestVersion(): number {
  return readMigrations(MIGRATIONS_DIR).length;
}

export function schemaVersion(db: Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

/** Refuses a database of another program at our path. */
export function refuseForeign(db: Database, file = db.name): void {
  if (db.pragma('application_id', { simple: true }) === APPLICATION_ID) return;
  const tables = db.prepare("SELECT count(*) FROM sqlite_schema WHERE type = 'table'").pluck().get();
  if (tables === 0) return;
  throw new StoreOpenError(
    'foreign_database',
    `${file} is a SQLite database of another program. Point DATA_DIR at a folder of its own.`,
  );
}

/** Refuses a database that a newer release has used. */
export function refuseNewer(db: Database, file = db.name): void {
  const [found, known] = [schemaVersion(db), latestVersion()];
  if (found <= known) return;
  throw new StoreOpenError(
    'newer_schema',
    `${file} has schema version ${found}, and this program knows versions up to ${known}: a newer release has ` +
      'used it. Run that release, or restore a backup made before the upgrade.',
  );
}
