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
import { createSearchThread } from './search-thread.ts';
import { presenceSql } from './sql/processes.ts';
import { createSqliteStore } from './sqlite-store.ts';
import { snapshotBeforeMigration } from './upkeep/backup.ts';
import { isBusy } from './upkeep/copy.ts';
import { createInlineWriter, createThreadWriter } from './writer.ts';

const BUSY_TIMEOUT_MS = 5_000;

export interface SqliteStoreOptions {
  /** Path of the database, made with its folder where there is none; or `:memory:`. */
  file: string;
  clock: Clock;
  /** How long another process may hold the file's lock. */
  busyTimeoutMs?: number;
  /** Writes in a thread of their own: for a server, whose requests should not wait for the disk. Not for `:memory:`. */
  writerThread?: boolean;
  /** The database's key, which it knows from then on; without one it asks for none. */
  keyProof?: KeyProof;
  /** Hears when changes can no longer be stored, and when they can again. */
  onStorageChange?(change: StorageChange): void;
}

/** Opens, checks and migrates the database. @throws StoreOpenError */
export async function openSqliteStore({
  file,
  clock,
  busyTimeoutMs = BUSY_TIMEOUT_MS,
  writerThread = false,
  keyProof,
  onStorageChange,
}: SqliteStoreOptions): Promise<OpenedStore> {
  const db = openDatabase(file, { busyTimeoutMs });
  return closeOnFailure(db, async () => {
    explainFaults(file, () => {
      // Before the migration: it must not build on damage. An empty file passes.
      const findings = findDamageAtStart(db);
      if (findings.length > 0) throw damaged(file, findings);
    });
    await snapshotBeforeMigration(db);
    explainFaults(file, () => {
      migrate(db);
      if (keyProof !== undefined) admitKey(db, keyProof);
    });
    explainFaults(file, () => silenceTheGone(db));
    db.pragma('shrink_memory'); // the check has filled the cache with pages that are not needed
    const storage = onStorageChange === undefined ? null : createStorageWatch(clock, onStorageChange);
    const watch = { meter: createCommitMeter(clock), storage };
    const writer = writerThread
      ? createThreadWriter({ file, busyTimeoutMs }, watch)
      : createInlineWriter(db, watch);
    return createSqliteStore({
      db,
      clock,
      writer,
      countsThread: writerThread ? createCountsThread(file) : null,
      searchThread: writerThread ? createSearchThread(file) : null,
    });
  });
}

/** Brings the file's schema to this program's version without starting anything. @throws StoreOpenError */
export async function migrateSqlite(file: string, keyProof: KeyProof): Promise<MigrationResult> {
  const db = openDatabase(file);
  try {
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

/**
 * A killed process leaves its row as it was when it was heard last. Nobody has to wait until it is silent where nobody else has
 * the file open: the names are read before that is looked at, so that none of them came since.
 */
function silenceTheGone(db: Database): void {
  const names = db.prepare<[], string>('SELECT name FROM processes WHERE seen_at > 0').pluck().all();
  if (names.length === 0 || !isAlone(db)) return;
  const { silence } = presenceSql(db);
  for (const name of names) silence(name);
}

/** Whether this is the only connection of all processes: only who is alone may take the log away. */
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
