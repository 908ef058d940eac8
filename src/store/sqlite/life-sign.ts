import { closeSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { systemRandom } from '../../lib/random.ts';
import { sqliteCode } from './faults.ts';

/**
 * By which others see that the process that has this database open is still there: an empty file beside it, under a lock of
 * SQLite's, which the system takes away with the process however it ends. No clock is asked and no process number, which
 * may be another's by now, or mean nothing in another container.
 */
export interface LifeSign {
  /** Tells this process from every other, living or dead. */
  name: string;
  isAlive(name: string): boolean;
  /** How many other processes have given it and live. */
  countOthers(): number;
  end(): void;
}

const NAME_BYTES = 8;

/** Gives the sign, and takes away those of processes that are gone. */
export function createLifeSign(file: string): LifeSign {
  const pathOf = (name: string) => `${file}-alive-${name}`;
  const name = systemRandom.bytes(NAME_BYTES).toString('hex');
  const own = pathOf(name);
  const lock = lockOf(own);

  function isAlive(other: string): boolean {
    if (other === name) return true;
    return isLocked(pathOf(other));
  }

  function others(): string[] {
    const prefix = basename(pathOf(''));
    const found = readdirSync(dirname(file)).filter((one) => one.startsWith(prefix));
    return found.map((one) => one.slice(prefix.length)).filter((other) => other !== name);
  }

  for (const other of others()) {
    if (isAlive(other)) continue;
    rmSync(pathOf(other), { force: true });
    // SQLite's journal of the lock, which keeps the name that the file had when it was locked.
    rmSync(`${draftOf(pathOf(other))}-journal`, { force: true });
  }
  return {
    name,
    isAlive,
    countOthers: () => others().filter(isAlive).length,
    end() {
      lock.close();
      rmSync(own, { force: true });
    },
  };
}

function draftOf(path: string): string {
  return path.replace('-alive-', '-begin-');
}

/** A file under that path that was locked before it was there, so that nobody takes it for a dead process's. */
function lockOf(path: string): Database {
  const draft = draftOf(path);
  closeSync(openSync(draft, 'wx', 0o600));
  const lock = new Sqlite(draft);
  try {
    lock.exec('BEGIN EXCLUSIVE');
    renameSync(draft, path);
    return lock;
  } catch (error) {
    lock.close();
    rmSync(draft, { force: true });
    throw error;
  }
}

function isLocked(path: string): boolean {
  let db: Database;
  try {
    db = new Sqlite(path, { timeout: 0, fileMustExist: true });
  } catch (error) {
    if (sqliteCode(error) === 'SQLITE_CANTOPEN') return false;
    throw error;
  }
  try {
    db.exec('BEGIN EXCLUSIVE');
    return false;
  } catch (error) {
    if (sqliteCode(error)?.startsWith('SQLITE_BUSY')) return true;
    throw error;
  } finally {
    db.close();
  }
}
