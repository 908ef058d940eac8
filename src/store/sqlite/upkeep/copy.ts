import { closeSync, fdatasyncSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { StoreUpkeepError } from '../../errors.ts';
import { sqliteCode } from '../database.ts';

/** Pages copied at a time: 2 MiB, which takes a disk a few milliseconds. */
const PAGES = 256;
/** The pause between them: a copy takes at most half of the disk's throughput, and leaves the rest to the server. */
const REST_MS = 4;
/**
 * Steps between two flushes of the copy, 16 MiB: a gigabyte flushed at once delayed a server's commits by 400 ms on a
 * fast disk, because they wait for the same journal.
 */
const FLUSH_EVERY = 8;

/** Called with the completed share of a copy, in [0, 1]. */
export type OnProgress = (part: number) => void;

/**
 * Copies a database, even while it is being written: a consistent snapshot, page by page, so that rows keep their
 * rowids (VACUUM INTO changes some). `target` is created for this user only. The database's log grows in the
 * meantime.
 * @throws StoreUpkeepError if `target` cannot be written; it is then removed
 */
export async function copyDatabase(
  file: string,
  target: string,
  {
    onProgress,
    paced = true,
    flush = fdatasyncSync,
  }: { onProgress?: OnProgress | undefined; paced?: boolean; flush?: (handle: number) => void } = {},
): Promise<void> {
  const handle = makeEmpty(target);
  let steps = 0;
  const source = new Sqlite(file, { readonly: true, timeout: 5_000 });
  try {
    // The snapshot lasts as long as the transaction: without it, each write of a server would restart the copy.
    source.exec('BEGIN');
    source.pragma('user_version');
    source.prepare('SELECT count(*) FROM sqlite_schema').get();
    await source.backup(target, {
      progress({ totalPages, remainingPages }) {
        if (totalPages > 0) onProgress?.(1 - remainingPages / totalPages);
        if (paced && ++steps % FLUSH_EVERY === 0) flush(handle);
        if (paced) sleep(REST_MS);
        return PAGES;
      },
    });
    makeOneFile(target);
  } catch (error) {
    removeDatabase(target);
    throw explainTarget(target, error) ?? error;
  } finally {
    source.close();
    closeSync(handle);
  }
}

/** Returns its handle. */
function makeEmpty(target: string): number {
  try {
    rmSync(target, { force: true });
    return openSync(target, 'wx', 0o600);
  } catch (error) {
    throw explainTarget(target, error) ?? error;
  }
}

const FULL = new Set(['SQLITE_FULL', 'ENOSPC', 'EDQUOT']);
const NOT_MADE = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EROFS']);

/** What is wrong with the target, for operators; null if it is not the cause. */
function explainTarget(target: string, error: unknown): StoreUpkeepError | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (FULL.has(code)) {
    return new StoreUpkeepError(
      `${target} cannot be written: the disk is full. Make room for as much as the database takes, or name a file ` +
        'elsewhere. The incomplete file was removed.',
    );
  }
  if (!NOT_MADE.has(code)) return null;
  return new StoreUpkeepError(
    `${target} cannot be made (${code}). Name a file in a folder that is there and that this user may write to.`,
  );
}

/** A separate log file would be left behind when the file is moved. */
function makeOneFile(file: string): void {
  const db = new Sqlite(file);
  try {
    db.pragma('journal_mode = DELETE');
  } finally {
    db.close();
  }
}

/**
 * Makes a file's bytes and its new name durable; `from` is renamed to `to` atomically. `onFlushed` is called in between.
 */
export function settle(from: string, to: string, onFlushed?: () => void): void {
  syncPath(from);
  onFlushed?.();
  renameSync(from, to);
  syncPath(dirname(to));
}

/** Removes a database with SQLite's companion files. Errors are ignored: it runs after another one, which is the one to report. */
export function removeDatabase(file: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) {
    try {
      rmSync(`${file}${end}`, { force: true });
    } catch {
      // Ignored.
    }
  }
}

/** Whether the error means that another process has the database open. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(sqliteCode(error) ?? '');
}

function syncPath(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Blocks; nothing else runs in a command's process. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
