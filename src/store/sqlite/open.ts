import type { Database } from 'better-sqlite3';
import type { Clock } from '../../lib/clock.ts';
import type { KeyProof } from '../../lib/secret-box.ts';
import { createCommitMeter } from '../commit-meter.ts';
import type { MigrationResult } from '../migrations.ts';
import { createStorageWatch, type StorageChange } from '../storage-watch.ts';
import type { OpenedStore } from '../store.ts';
import { createCountsThread } from './counts-thread.ts';
import { damaged, explainFaults, findDamageAtStart, openDatabase } from './database.ts';
import { admitKey } from './master-key.ts';
import { migrate } from './migrate.ts';
import { createSearchThreads } from './search-thread.ts';
import { presenceSql } from './sql/processes.ts';
import { createSqliteStore } from './sqlite-store.ts';
import { snapshotBeforeMigration } from './upkeep/backup.ts';
import { isBusy } from './upkeep/copy.ts';
import { createInlineWriter, createThreadWriter } from './writer.ts';

const BUSY_TIMEOUT_MS = 5_000;

export interface SqliteStoreOptions {
  /** The path of the database, created with its folder if necessary; or `:memory:`. */
  file: string;
  /** The bytes of a database that `:memory:` begins with. */
  contents?: Buffer | undefined;
  clock: Clock;
  /** How long to wait for another process's lock on the file. */
  busyTimeoutMs?: number;
  /** Writes in a separate thread: for a server, whose requests should not wait for the disk. Not for `:memory:`. */
  writerThread?: boolean;
  /** The proof of the master key, which is stored; omitted: no key is checked. */
  keyProof?: KeyProof;
  /** Called when changes can no longer be stored, and when they can again. */
  onStorageChange?(change: StorageChange): void;
}

/** Opens, checks and migrates the database. @throws StoreOpenError */
export async function openSqliteStore({
  file,
  contents,
  clock,
  busyTimeoutMs = BUSY_TIMEOUT_MS,
  writerThread = false,
  keyProof,
  onStorageChange,
}: SqliteStoreOptions): Promise<OpenedStore> {
  const db = openDatabase(file, { busyTimeoutMs, contents });
  return closeOnFailure(db, async () => {
    refuseDamaged(db, file);
    await snapshotBeforeMigration(db);
    explainFaults(file, () => {
      migrate(db);
      if (keyProof !== undefined) admitKey(db, keyProof);
    });
    explainFaults(file, () => silenceTheGone(db));
    db.pragma('shrink_memory'); // the check has filled the cache with unneeded pages
    const storage = createStorageWatch(clock, onStorageChange ?? (() => undefined));
    const watch = { meter: createCommitMeter(clock), storage };
    const writer = writerThread
      ? createThreadWriter({ file, busyTimeoutMs }, watch)
      : createInlineWriter(db, watch);
    return createSqliteStore({
      db,
      clock,
      writer,
      countsThread: writerThread ? createCountsThread(file) : null,
      searchThreads: writerThread ? createSearchThreads(file) : null,
      storage,
    });
  });
}

/** Migrates the file's schema to this program's version without starting anything. @throws StoreOpenError */
export async function migrateSqlite(file: string, keyProof: KeyProof): Promise<MigrationResult> {
  const db = openDatabase(file);
  try {
    refuseDamaged(db, file);
    await snapshotBeforeMigration(db);
    return explainFaults(file, () => {
      const result = migrate(db);
      admitKey(db, keyProof);
      return result;
    });
  } finally {
    db.close();
  }
}

/** Before a migration, which must not build on a damaged file. An empty file passes. */
function refuseDamaged(db: Database, file: string): void {
  explainFaults(file, () => {
    const findings = findDamageAtStart(db);
    if (findings.length > 0) throw damaged(file, findings);
  });
}

/**
 * A killed process leaves its row with its last heartbeat. If no other process has the file open, there is no need to
 * wait until it expires: the names are read before that check, so none of them can have started since.
 */
function silenceTheGone(db: Database): void {
  const names = db.prepare<[], string>('SELECT name FROM processes WHERE seen_at > 0').pluck().all();
  if (names.length === 0 || !isAlone(db)) return;
  const { silence } = presenceSql(db);
  for (const name of names) silence(name);
}

/** Whether this is the only connection of any process: only then can the log be removed. */
function isAlone(db: Database): boolean {
  const usual = db.pragma('busy_timeout', { simple: true });
  db.pragma('busy_timeout = 0');
  try {
    db.pragma('journal_mode = DELETE');
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  } finally {
    db.pragma(`busy_timeout = ${usual}`);
    db.pragma('journal_mode = WAL');
  }
}

async function closeOnFailure<T>(db: Database, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    db.close();
    throw error;
  }
}
