import { accessSync, closeSync, constants, existsSync, openSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { leaveToOwner, makeFolder } from '../../lib/folders.ts';
import type { StorageFault } from '../commit-batch.ts';
import { StoreOpenError } from '../errors.ts';
import { prepareLazily } from './lazy-statement.ts';

const IN_MEMORY = ':memory:';
const MIB = 1024 * 1024;

/** How a connection is made; the defaults are the product's. */
export interface DatabaseOptions {
  /** How long another process may hold the lock before we give up. */
  busyTimeoutMs?: number;
}

/** Opens or creates the file with our settings, schema untouched. @throws StoreOpenError */
export function openDatabase(file: string, { busyTimeoutMs = 5000 }: DatabaseOptions = {}): Database {
  if (file !== IN_MEMORY) prepareFolder(resolve(file));
  return explainFaults(file, () => {
    const db = new Sqlite(file, { timeout: busyTimeoutMs });
    try {
      configure(db);
      prepareLazily(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

function configure(db: Database): void {
  db.pragma('page_size = 8192'); // before the first page is written; a no-op on an existing file
  db.pragma('journal_mode = WAL');
  // better-sqlite3 is built with NORMAL for WAL: a power cut would take back what was already answered with success.
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');
  db.pragma('trusted_schema = OFF');
  db.pragma('temp_store = MEMORY');
  // What is deleted is overwritten, also in pages that become free as a whole: 1 % more is written for short posts, 10 % for
  // the longest. FAST leaves those pages as they were, and what an update of a long row left there outlived its person.
  db.pragma('secure_delete = ON');
  db.pragma(`cache_size = -${8 * 1024}`); // KiB; 16 or 64 MiB bring nothing, the system keeps the file in memory too
  // No memory map: in a mapped file a failing disk is SIGBUS, the end of the process, instead of SQLITE_IOERR.
  db.pragma('mmap_size = 0');
  db.pragma('wal_autocheckpoint = 8000'); // 64 MiB: each checkpoint writes a page once, however often it was changed
  db.pragma(`journal_size_limit = ${64 * MIB}`);
}

/** Makes folder and file for this user alone, whatever the umask, where they are missing. */
function prepareFolder(file: string): void {
  const folder = dirname(file);
  try {
    makeFolder(folder, 0o700);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK);
    // What SQLite lays beside the file gets the file's mode and owner.
    else {
      closeSync(openSync(file, 'a', 0o600));
      leaveToOwner(file);
    }
  } catch (error) {
    throw new StoreOpenError(
      'folder_not_writable',
      `The data folder ${folder} cannot be used (${error instanceof Error ? error.message : error}). ` +
        'Make it and the database in it writable for this user, or set DATA_DIR to a folder that is.',
      error,
    );
  }
}

/** Runs a step of opening `file` and turns SQLite's faults into ones that an operator can act on. */
export function explainFaults<T>(file: string, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw explain(file, error) ?? error;
  }
}

function explain(file: string, error: unknown): StoreOpenError | null {
  const code = sqliteCode(error);
  if (code === null) return null;
  if (code === 'SQLITE_NOTADB') {
    return new StoreOpenError(
      'not_a_database',
      `${file} is not a SQLite database. Move it away, or set DATA_DIR to another folder.`,
      error,
    );
  }
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) {
    return new StoreOpenError(
      'locked',
      `${file} is locked by another process. Stop the other Signalpost, backup or SQLite shell that uses it.`,
      error,
    );
  }
  if (code.startsWith('SQLITE_CORRUPT')) return damaged(file, ['the file is malformed'], error);
  if (/^SQLITE_(CANTOPEN|READONLY|PERM)/.test(code)) {
    return new StoreOpenError(
      'unreadable',
      `${file} cannot be opened by this user (${code}). Make it, what lies beside it under its name, and the folder readable ` +
        'and writable for the user that the server runs as, with chown.',
      error,
    );
  }
  return new StoreOpenError(
    'unreadable',
    `${file} cannot be opened (${code}). Check the disk and its free space.`,
    error,
  );
}

/** The fault of a file whose check found `findings`. */
export function damaged(file: string, findings: string[], cause?: unknown): StoreOpenError {
  return new StoreOpenError(
    'damaged',
    `${file} is damaged (${findings.slice(0, 3).join('; ')}). Restore a backup, or recover what is left of it with ` +
      '"sqlite3 FILE .recover".',
    cause,
  );
}

/** SQLite's result code (sqlite.org/rescode.html) of an error, or null where SQLite did not throw it. */
export function sqliteCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  return error.code.startsWith('SQLITE_') ? error.code : null;
}

const OUTAGES = ['SQLITE_IOERR', 'SQLITE_BUSY', 'SQLITE_READONLY'];

/** Extended codes (`SQLITE_IOERR_FSYNC`) count as their family. */
export function faultOfSqlite(error: unknown): StorageFault {
  const code = sqliteCode(error);
  if (code === null) return null;
  if (code.startsWith('SQLITE_FULL')) return 'full';
  return OUTAGES.some((family) => code.startsWith(family)) ? 'outage' : null;
}

/** Bytes of the database, of its write-ahead log, and of free disk beside them that this user may take. */
export function fileSizes(file: string): { databaseBytes: number; walBytes: number; freeBytes: number } {
  const { bavail, bsize } = statfsSync(dirname(file));
  return { databaseBytes: sizeOf(file), walBytes: sizeOf(`${file}-wal`), freeBytes: bavail * bsize };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
