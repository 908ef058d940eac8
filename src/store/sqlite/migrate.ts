import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { StoreOpenError } from '../errors.ts';
import { type MigrationResult, readMigrations } from '../migrations.ts';
import { createSignalIndex } from './signal-index.ts';

const MIGRATIONS_DIR = join(import.meta.dirname, 'migrations');

/** Marks the file as ours (`PRAGMA application_id`): "SgPo". */
const APPLICATION_ID = 0x5367506f;

/**
 * Signals stored before this version are not in the index as it is now. A migration is SQL alone, and calls nothing that may
 * change: the index is made again after all of them, by the code that will look for its terms. Whoever changes that code
 * adds a migration, if only to raise this number to its own.
 */
const INDEXED_SINCE = 6;

/** Brings the schema to this program's version. Forward only. @throws StoreOpenError */
export function migrate(db: Database): MigrationResult {
  const migrations = readMigrations(MIGRATIONS_DIR);
  const latest = migrations.length;
  refuseForeign(db);
  const from = schemaVersion(db);
  refuseNewer(db);
  if (from === latest) return { from, to: latest };

  // The lock first, the version again under it: two processes may start at once. Whole or not at all: a crash half
  // way leaves the version it began with.
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

/** A table that is rebuilt is dropped first, which would take its children along (sqlite.org/lang_altertable.html, 7). */
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
  throw new Error('A migration left rows that refer to rows that are not there.');
}

/** The version that this program brings a database to. */
export function latestVersion(): number {
  return readMigrations(MIGRATIONS_DIR).length;
}

export function schemaVersion(db: Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

/** A database of some other program at our path is not to be filled with our tables. */
export function refuseForeign(db: Database, file = db.name): void {
  if (db.pragma('application_id', { simple: true }) === APPLICATION_ID) return;
  const tables = db.prepare("SELECT count(*) FROM sqlite_schema WHERE type = 'table'").pluck().get();
  if (tables === 0) return;
  throw new StoreOpenError(
    'foreign_database',
    `${file} is a SQLite database of another program. Point DATA_DIR at a folder of its own.`,
  );
}

/** A database that a newer release has used is not to be changed by this one. */
export function refuseNewer(db: Database, file = db.name): void {
  const [found, known] = [schemaVersion(db), latestVersion()];
  if (found <= known) return;
  throw new StoreOpenError(
    'newer_schema',
    `${file} has schema version ${found}, and this program knows versions up to ${known}: a newer release has ` +
      'used it. Run that release, or restore a backup made before the upgrade.',
  );
}
