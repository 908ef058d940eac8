import { accessSync, closeSync, constants, existsSync, openSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import Sqlite, { type Database, type Statement } from 'better-sqlite3';
import { leaveToOwner, makeFolder } from '../../lib/folders.ts';
import type { StorageFault } from '../commit-batch.ts';
import { StoreOpenError } from '../errors.ts';

const IN_MEMORY = ':memory:';
const MIB = 1024 * 1024;

/** Options of a connection; the defaults are those of the product. */
export interface DatabaseOptions {
  /** How long to wait for another process's lock. */
  busyTimeoutMs?: number;
  /** The free space on the disk, which limits the size of the write-ahead log. */
  freeBytes?: number;
  /** The bytes of a database that `:memory:` begins with. */
  contents?: Buffer | undefined;
}

/** Opens or creates the file with our settings, without touching the schema. @throws StoreOpenError */
export function openDatabase(
  file: string,
  { busyTimeoutMs = 5000, freeBytes, contents }: DatabaseOptions = {},
): Database {
  if (file !== IN_MEMORY) prepareFolder(resolve(file));
  return explainFaults(file, () => {
    const db = new Sqlite(contents ?? file, { timeout: busyTimeoutMs });
    try {
      configure(db, freeBytes ?? (file === IN_MEMORY ? Number.POSITIVE_INFINITY : fileSizes(file).freeBytes));
      prepareLazily(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

const PAGE_BYTES = 8 * 1024;
/** Pages in the write-ahead log at which it is checkpointed: a checkpoint writes each page once, however often it was changed. */
const LOG_PAGES = 8_000;
const MIN_LOG_PAGES = 128;
/**
 * The log's maximum share of the room on the disk when the database is opened: a log that fills a small disk can no longer be
 * checkpointed, because a checkpoint makes the database grow.
 */
const LOG_SHARE = 1 / 8;

function configure(db: Database, freeBytes: number): void {
  const room = Math.floor((freeBytes * LOG_SHARE) / PAGE_BYTES);
  db.pragma(`page_size = ${PAGE_BYTES}`); // before the first page is written; a no-op on an existing file
  db.pragma('journal_mode = WAL');
  // better-sqlite3 defaults to NORMAL for WAL: a power cut could lose changes that were already acknowledged.
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');
  db.pragma('trusted_schema = OFF');
  db.pragma('temp_store = MEMORY');
  // Overwrites deleted data, including whole freed pages: 1 % more is written for short posts, 10 % for the longest
  // ones. FAST leaves freed pages unchanged, so that remains of updated long rows outlived the erasure of their
  // person.
  db.pragma('secure_delete = ON');
  db.pragma(`cache_size = -${8 * 1024}`); // KiB; 16 or 64 MiB do not help, because the system caches the file as well
  // No memory map: on a failing disk, a mapped file causes SIGBUS, which ends the process, instead of SQLITE_IOERR.
  db.pragma('mmap_size = 0');
  db.pragma(`wal_autocheckpoint = ${Math.max(MIN_LOG_PAGES, Math.min(LOG_PAGES, room))}`);
  db.pragma(`journal_size_limit = ${64 * MIB}`);
}

/** Creates folder and file for this user only, whatever the umask. */
function prepareFolder(file: string): void {
  const folder = dirname(file);
  try {
    makeFolder(folder, 0o700);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK);
    // SQLite's companion files get the file's mode and owner.
    else {
      closeSync(openSync(file, 'a', 0o600));
      leaveToOwner(file);
    }
  } catch (error) {
    throw new StoreOpenError(
      'folder_not_writable',
      `The data folder ${folder} cannot be used (${error instanceof Error ? error.message : error}). ` +
        'Make it and the database in it writable for this user, or set DATA_DIR to another folder.',
      error,
    );
  }
}

/** Runs a step of opening `file`, and translates SQLite's errors into ones that an operator can act on. */
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
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE') {
    return new StoreOpenError(
      'no_room',
      `${file} cannot be opened: the disk is full. Make room beside it, and start again.`,
      error,
    );
  }
  return new StoreOpenError(
    'unreadable',
    `${file} cannot be opened (${code}). Check the disk and its free space.`,
    error,
  );
}

/** The error for a file whose check found problems. */
export function damaged(file: string, findings: string[], cause?: unknown): StoreOpenError {
  return new StoreOpenError(
    'damaged',
    `${file} is damaged (${findings.slice(0, 3).join('; ')}). Restore a backup with "signalpost restore BACKUP", or recover ` +
      'what is left of it with "sqlite3 FILE .recover".',
    cause,
  );
}

/** SQLite's result code (sqlite.org/rescode.html) of an error; null if SQLite did not throw it. */
export function sqliteCode(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  return error.code.startsWith('SQLITE_') ? error.code : null;
}

const OUTAGES = ['SQLITE_IOERR', 'SQLITE_BUSY', 'SQLITE_READONLY'];
const DAMAGES = ['SQLITE_CORRUPT', 'SQLITE_NOTADB'];

/** Extended codes (`SQLITE_IOERR_FSYNC`) are treated like their primary code. */
export function faultOfSqlite(error: unknown): StorageFault {
  const code = sqliteCode(error);
  if (code === null) return null;
  if (code.startsWith('SQLITE_FULL')) return 'full';
  if (DAMAGES.some((family) => code.startsWith(family))) return 'damaged';
  return OUTAGES.some((family) => code.startsWith(family)) ? 'outage' : null;
}

/** The size of the database and of its write-ahead log, and the free disk space available to this user, in bytes. */
export function fileSizes(file: string): { databaseBytes: number; walBytes: number; freeBytes: number } {
  const { bavail, bsize } = statfsSync(dirname(file));
  return { databaseBytes: sizeOf(file), walBytes: sizeOf(`${file}-wal`), freeBytes: bavail * bsize };
}

/**
 * Returns a check that the files of a database in use are still in place. SQLite keeps writing to files that were deleted or
 * moved, without an error, and all of it is lost when it closes them. @throws Error by the check, naming the file
 */
export function createFileCheck(file: string): () => void {
  const opened = statSync(file);
  return () => {
    const now = statSync(file, { throwIfNoEntry: false });
    const isInPlace = now?.ino === opened.ino && now.dev === opened.dev;
    const missing = isInPlace ? (existsSync(`${file}-wal`) ? null : `${file}-wal`) : file;
    if (missing !== null)
      throw new Error(
        `${basename(missing)} was moved, replaced or deleted while in use, and what is stored now will be lost: ` +
          'stop the server and restore a backup',
      );
  };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Prepares each statement on first use: preparing all 300 statements of the store took 47 of the 78 ms of processor
 * time for opening a database, at every start, thread and command, and a command uses about ten. Invalid SQL
 * therefore fails when it is run, not at startup; a test prepares all statements.
 */
function prepareLazily(db: Database): void {
  const prepare = db.prepare.bind(db);
  const known = new Map<string, LazyStatement>();
  const lazily = (sql: string) => {
    const statement = known.get(sql) ?? new LazyStatement(() => prepare(sql));
    known.set(sql, statement);
    return statement;
  };
  db.prepare = lazily as unknown as Database['prepare'];
}

type Mode = 'pluck' | 'raw' | 'safeIntegers';

/** A statement that is prepared on first use, once per mode, with the methods that the store uses. */
class LazyStatement {
  readonly #make: () => Statement;
  readonly #modes = new Map<Mode, LazyStatement>();

  constructor(make: () => Statement) {
    this.#make = make;
  }

  run(...values: unknown[]) {
    return this.#become().run(...values);
  }
  get(...values: unknown[]) {
    return this.#become().get(...values);
  }
  all(...values: unknown[]) {
    return this.#become().all(...values);
  }
  iterate(...values: unknown[]) {
    return this.#become().iterate(...values);
  }
  columns() {
    return this.#become().columns();
  }

  pluck(): LazyStatement {
    return this.#in('pluck');
  }
  raw(): LazyStatement {
    return this.#in('raw');
  }
  safeIntegers(): LazyStatement {
    return this.#in('safeIntegers');
  }

  #in(mode: Mode): LazyStatement {
    const statement = this.#modes.get(mode) ?? new LazyStatement(() => this.#make()[mode]());
    this.#modes.set(mode, statement);
    return statement;
  }

  /** Prepares it, and replaces the lazy methods by those of SQLite, so that later calls have no overhead. */
  #become(): Statement {
    const made = this.#make();
    this.run = made.run.bind(made);
    this.get = made.get.bind(made);
    this.all = made.all.bind(made);
    this.iterate = made.iterate.bind(made);
    this.columns = made.columns.bind(made);
    return made;
  }
}

/**
 * The check reads the whole file: 1.7 s per GB from the page cache, otherwise as long as the disk takes. For larger
 * files, startup checks only the small, essential tables. SQLite refuses statements that read damaged pages
 * elsewhere, and `signalpost check` reads everything.
 */
const WHOLE_CHECK_MAX_BYTES = 256 * 1024 * 1024;
const VITAL_TABLES = ['tenants', 'owners', 'api_keys', 'icp_profiles', 'webhook_endpoints'];

/** Everything that is wrong with the database, in SQLite's words; empty if it is sound. */
export function findDamage(db: Database): string[] {
  return [...quickCheck(db), ...foreignKeyCheck(db)];
}

/** Like {@link findDamage}, limited to the file's length and the essential tables if the file is large. */
export function findDamageAtStart(db: Database, wholeMaxBytes = WHOLE_CHECK_MAX_BYTES): string[] {
  if (db.memory) return findDamage(db);
  const missingEnd = findMissingEnd(db);
  if (missingEnd.length > 0) return missingEnd;
  if (statSync(db.name).size <= wholeMaxBytes) return findDamage(db);
  return VITAL_TABLES.flatMap((table) => [...quickCheck(db, table), ...foreignKeyCheck(db, table)]);
}

/** SQLite reads zeros beyond the end of the file, which no check notices in a page of text, or in one that is not in use. */
function findMissingEnd(db: Database): string[] {
  const needed =
    Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }));
  if (statSync(db.name).size >= needed) return [];
  // After a crash, the last pages may still be in the write-ahead log only.
  const [copied] = db.pragma('wal_checkpoint(PASSIVE)') as {
    busy: number;
    log: number;
    checkpointed: number;
  }[];
  if (copied === undefined || copied.busy !== 0 || copied.log !== copied.checkpointed) return [];
  const missing = needed - statSync(db.name).size;
  return missing > 0 ? [`its last ${missing} bytes are missing`] : [];
}

function quickCheck(db: Database, table?: string): string[] {
  const rows = db.pragma(table === undefined ? 'quick_check(10)' : `quick_check(${table})`) as {
    quick_check: string;
  }[];
  return rows.map((row) => row.quick_check).filter((finding) => finding !== 'ok');
}

function foreignKeyCheck(db: Database, table?: string): string[] {
  const sql = table === undefined ? 'PRAGMA foreign_key_check' : `PRAGMA foreign_key_check(${table})`;
  const findings: string[] = [];
  for (const row of db.prepare<[], { table: string; parent: string }>(sql).iterate()) {
    findings.push(`a row of ${row.table} refers to a row of ${row.parent} that does not exist`);
    if (findings.length === 10) break;
  }
  return findings;
}
