import { existsSync, statSync } from 'node:fs';
import Sqlite, { type Database } from 'better-sqlite3';
import { StoreUpkeepError } from '../../errors.ts';
import { findDamage } from '../check.ts';
import { explainFaults } from '../database.ts';
import { schemaVersion } from '../migrate.ts';
import { copyDatabase, type OnProgress, removeDatabase, settle } from './copy.ts';

/** The master key within a backup that was asked to hold it: a table that no server's database has. */
const TABLE = 'packed_key';

/** `text` as the key's file has it. */
function packKey(db: Database, text: string): void {
  db.exec(
    `CREATE TABLE ${TABLE} (id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1), text TEXT NOT NULL) STRICT`,
  );
  db.prepare(`INSERT INTO ${TABLE} (id, text) VALUES (1, ?)`).run(text);
}

/** The key that is packed, or null. */
export function packedKey(db: Database): string | null {
  const found = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(TABLE);
  if (found === undefined) return null;
  return db.prepare<[], string>(`SELECT text FROM ${TABLE} WHERE id = 1`).pluck().get() ?? null;
}

/** Takes it out, and leaves none of its bytes in the file. */
export function unpackKey(db: Database): void {
  db.pragma('secure_delete = ON');
  db.exec(`DROP TABLE IF EXISTS ${TABLE}`);
}

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
