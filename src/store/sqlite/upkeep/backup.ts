import { existsSync, statSync } from 'node:fs';
import Sqlite, { type Database } from 'better-sqlite3';
import { StoreUpkeepError } from '../../errors.ts';
import { findDamage } from '../check.ts';
import { explainFaults } from '../database.ts';
import { schemaVersion } from '../migrate.ts';
import { copyDatabase, type OnProgress, removeDatabase, settle } from './copy.ts';
import { packKey } from './packed-key.ts';

export interface BackupOrder {
  /** The database. */
  file: string;
  target: string;
  /** The master key, to be packed with it; null: not packed. */
  key: string | null;
  onProgress?: OnProgress;
}

export interface MadeBackup {
  bytes: number;
  /** Schema version. */
  version: number;
}

/**
 * Backs a database up into one file while it is in use: a copy of one moment, opened and checked before it gets its name,
 * so that a file of that name is a sound backup. @throws StoreUpkeepError, StoreOpenError
 */
export async function backUpSqlite({ file, target, key, onProgress }: BackupOrder): Promise<MadeBackup> {
  if (existsSync(target)) {
    throw new StoreUpkeepError(
      `${target} is there already. Name a new file: an older backup is not overwritten.`,
    );
  }
  const draft = `${target}.part`;
  try {
    await copyDatabase(file, draft, { onProgress });
    const version = explainFaults(draft, () => finish(draft, key));
    settle(draft, target);
    return { bytes: statSync(target).size, version };
  } catch (error) {
    removeDatabase(draft);
    throw error;
  }
}

/** Puts the key in, and checks all of it. */
function finish(draft: string, key: string | null): number {
  const db = new Sqlite(draft);
  try {
    if (key !== null) packKey(db, key);
    refuseDamage(db, draft);
    return schemaVersion(db);
  } finally {
    db.close();
  }
}

/** @throws StoreUpkeepError where anything is wrong with the database */
export function refuseDamage(db: Database, file: string): void {
  const findings = findDamage(db);
  if (findings.length === 0) return;
  throw new StoreUpkeepError(
    `${file} is damaged (${findings.slice(0, 3).join('; ')}); nothing was kept of it. Run "signalpost check", and see the ` +
      'runbook, "Damaged database".',
  );
}
