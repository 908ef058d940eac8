import { existsSync, linkSync, renameSync, statSync } from 'node:fs';
import Sqlite, { type Database } from 'better-sqlite3';
import { leaveToOwner } from '../../../lib/folders.ts';
import { StoreOpenError, type StoreOpenFault, StoreUpkeepError } from '../../errors.ts';
import { explainFaults } from '../database.ts';
import { refuseForeign, refuseNewer, schemaVersion } from '../migrate.ts';
import { packedKey, refuseDamage, unpackKey } from './backup.ts';
import { copyDatabase, isBusy, type OnProgress, removeDatabase, settle } from './copy.ts';

export interface RestoreOrder {
  /** The backup. */
  from: string;
  /** The path of the database. */
  file: string;
  /** The suffix for the previous database. */
  suffix: string;
  onProgress?: OnProgress;
  /**
   * Called with the included key, or null, and the restored database, still named `draft`: may refuse by throwing.
   */
  admit(draft: string, key: string | null): void;
}

/** The path of the previous database; null if there was none. */
export type PutAside = string | null;

/**
 * Replaces the database, which must not be in use, by a backup; the previous one is renamed, not removed. The backup
 * is checked completely before anything is changed. @throws StoreUpkeepError, StoreOpenError
 */
export async function restoreSqlite(order: RestoreOrder): Promise<PutAside> {
  const { from, file, suffix, onProgress, admit } = order;
  if (!existsSync(from)) throw new StoreUpkeepError(`There is no file ${from}.`);
  if (!statSync(from).isFile())
    throw new StoreUpkeepError(`${from} is not a file. Name the file of a backup.`);
  const draft = `${file}.restoring`;
  try {
    await explainFaultsLater(from, () => copyDatabase(from, draft, { onProgress, paced: false }));
    const key = explainFaults(from, () => examine(draft, from));
    admit(draft, key);
    // Last, because it checkpoints the log into the file: until here, no existing file has been changed.
    if (isInUse(file)) throw inUse(file);
    leaveToOwner(draft);
    let aside: PutAside = null;
    settle(draft, file, () => {
      aside = putAside(file, `${file}${suffix}`);
    });
    return aside;
  } catch (error) {
    removeDatabase(draft);
    throw ofBackup(from, error);
  }
}

/** What is wrong with a file that is to be restored, where that is something else than with a server's database. */
const UNUSABLE: Partial<Record<StoreOpenFault, string>> = {
  not_a_database: 'is no backup of Signalpost.',
  foreign_database: 'is no backup of Signalpost.',
  damaged:
    'is damaged or incomplete. Nothing was changed. Restore another backup, or see the runbook, "Damaged database", for what can be ' +
    'saved of this one.',
};

function ofBackup(from: string, error: unknown): unknown {
  const text = error instanceof StoreOpenError ? UNUSABLE[error.fault] : undefined;
  return text === undefined ? error : new StoreUpkeepError(`${from} ${text}`, { cause: error });
}

/** Whether another process has the database open; only without one can the log be removed. */
export function isInUse(file: string): boolean {
  if (!existsSync(file)) return false;
  const db = new Sqlite(file, { timeout: 0 });
  try {
    db.pragma('journal_mode = DELETE');
    return false;
  } catch (error) {
    // Nobody can open a damaged database, and replacing it is the purpose of a backup.
    return isBusy(error);
  } finally {
    db.close();
  }
}

/** @throws StoreUpkeepError */
export function inUse(file: string): StoreUpkeepError {
  return new StoreUpkeepError(
    `${file} is in use. Nothing was changed. Stop the server first, with every other command and shell that has it open.`,
  );
}

function examine(draft: string, from: string): string | null {
  const db: Database = new Sqlite(draft);
  try {
    if (schemaVersion(db) === 0) throw new StoreUpkeepError(`${from} is no backup of Signalpost.`);
    refuseForeign(db, from);
    refuseNewer(db, from);
    refuseDamage(db, from);
    const key = packedKey(db);
    unpackKey(db);
    return key;
  } finally {
    db.close();
  }
}

/**
 * The database keeps its name until the backup takes it: without one, a server that starts after a crash in between would
 * create an empty database.
 */
function putAside(file: string, to: string): PutAside {
  if (!existsSync(file)) return null;
  for (const end of ['-wal', '-shm']) {
    if (existsSync(`${file}${end}`)) renameSync(`${file}${end}`, `${to}${end}`);
  }
  try {
    linkSync(file, to);
  } catch {
    renameSync(file, to); // some file systems have no links
  }
  return to;
}

async function explainFaultsLater(file: string, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    explainFaults(file, () => {
      throw error;
    });
  }
}
