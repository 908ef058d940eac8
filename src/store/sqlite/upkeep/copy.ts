import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { StoreUpkeepError } from '../../errors.ts';
import { sqliteCode } from '../database.ts';

/** Pages copied at a time: 2 MiB, a few milliseconds of the disk. */
const PAGES = 256;
/** Between two of them: a copy takes at most half of what the disk gives, and the rest is the server's. */
const REST_MS = 4;

/** Told how much of a copy is made, in [0, 1]. */
export type OnProgress = (part: number) => void;

/**
 * Copies a database, also one that is being written: as it was at one moment, page by page, so that rows keep their numbers
 * (VACUUM INTO gives some new ones). `target` is made for this user alone. The log of the database grows meanwhile.
 * @throws StoreUpkeepError where `target` cannot be written: nothing is left of it then
 */
export async function copyDatabase(
  file: string,
  target: string,
  { onProgress, paced = true }: { onProgress?: OnProgress | undefined; paced?: boolean } = {},
): Promise<void> {
  makeEmpty(target);
  const source = new Sqlite(file, { readonly: true, timeout: 5_000 });
  try {
    // A reader's moment stands as long as its transaction: without it each write of a server would begin the copy anew.
    source.exec('BEGIN');
    source.pragma('user_version');
    source.prepare('SELECT count(*) FROM sqlite_schema').get();
    await source.backup(target, {
      progress({ totalPages, remainingPages }) {
        if (totalPages > 0) onProgress?.(1 - remainingPages / totalPages);
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
  }
}

function makeEmpty(target: string): void {
  try {
    rmSync(target, { force: true });
    closeSync(openSync(target, 'wx', 0o600));
  } catch (error) {
    throw explainTarget(target, error) ?? error;
  }
}

const FULL = new Set(['SQLITE_FULL', 'ENOSPC', 'EDQUOT']);
const NOT_MADE = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'EROFS']);

/** What is wrong with the place that is written to, in words for the operator; null where something else is. */
function explainTarget(target: string, error: unknown): StoreUpkeepError | null {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (FULL.has(code)) {
    return new StoreUpkeepError(
      `${target} cannot be written: the disk is full. Make room for as much as the database takes, or name a file ` +
        'elsewhere. Nothing was kept of it.',
    );
  }
  if (!NOT_MADE.has(code)) return null;
  return new StoreUpkeepError(
    `${target} cannot be made (${code}). Name a file in a folder that is there and that this user may write to.`,
  );
}

/** A log beside it would be forgotten when the file is moved. */
function makeOneFile(file: string): void {
  const db = new Sqlite(file);
  try {
    db.pragma('journal_mode = DELETE');
  } finally {
    db.close();
  }
}

/** Makes sure that a file's bytes, and its new name, outlast a power cut; `from` becomes `to` at once and whole. */
export function settle(from: string, to: string): void {
  syncPath(from);
  renameSync(from, to);
  syncPath(dirname(to));
}

/** A database with what SQLite lays beside it. */
export function removeDatabase(file: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${end}`, { force: true });
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

/** Nothing else runs in a command's process meanwhile. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
