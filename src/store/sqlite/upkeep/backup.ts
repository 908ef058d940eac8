import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { leaveToOwner } from '../../../lib/folders.ts';
import { StoreOpenError, StoreUpkeepError } from '../../errors.ts';
import { explainFaults, fileSizes, findDamage } from '../database.ts';
import { latestVersion, schemaVersion } from '../migrate.ts';
import { copyDatabase, type OnProgress, removeDatabase, settle } from './copy.ts';

/** The master key in a backup that includes it: no server's database has this table. */
const TABLE = 'packed_key';

/** `text` is the content of the key file. */
function packKey(db: Database, text: string): void {
  db.exec(
    `CREATE TABLE ${TABLE} (id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1), text TEXT NOT NULL) STRICT`,
  );
  db.prepare(`INSERT INTO ${TABLE} (id, text) VALUES (1, ?)`).run(text);
}

/** The included key, or null. */
export function packedKey(db: Database): string | null {
  const found = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(TABLE);
  if (found === undefined) return null;
  return db.prepare<[], string>(`SELECT text FROM ${TABLE} WHERE id = 1`).pluck().get() ?? null;
}

/** Removes the key, including its bytes in the file. */
export function unpackKey(db: Database): void {
  db.pragma('secure_delete = ON');
  db.exec(`DROP TABLE IF EXISTS ${TABLE}`);
}

export interface BackupOrder {
  /** The database. */
  file: string;
  target: string;
  /** The master key to include; null: none. */
  key: string | null;
  onProgress?: OnProgress;
}

export interface MadeBackup {
  bytes: number;
  /** Schema version. */
  version: number;
}

/**
 * Backs a database up into one file while it is in use: a consistent copy, opened and checked before it gets its
 * name, so that a file with that name is always a sound backup. @throws StoreUpkeepError, StoreOpenError
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

/** Adds the key, and checks the whole file. */
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

/** @throws StoreUpkeepError if the database is damaged */
export function refuseDamage(db: Database, file: string): void {
  const findings = findDamage(db);
  if (findings.length === 0) return;
  throw new StoreUpkeepError(
    `${file} is damaged (${findings.slice(0, 3).join('; ')}); nothing was kept of it. Run "signalpost check", and see the ` +
      'runbook, "Damaged database".',
  );
}

/**
 * Copies the database to `FILE.before-VERSION` before a migration changes it: migrations are forward-only, and
 * replacing the database by this file allows a return to the previous release. Only the copy of the last migration is
 * kept.
 * @throws StoreOpenError if there is not enough space
 */
export async function snapshotBeforeMigration(db: Database): Promise<void> {
  const from = schemaVersion(db);
  if (db.memory || from === 0 || from >= latestVersion()) return;
  removeAbandoned(db.name);
  const { databaseBytes, walBytes, freeBytes } = fileSizes(db.name);
  const needed = databaseBytes + walBytes;
  if (freeBytes < needed) throw noRoom(db.name, needed, freeBytes);
  const target = `${db.name}.before-${String(from).padStart(3, '0')}`;
  const draft = `${target}.${process.pid}`;
  await copyDatabase(db.name, draft, { paced: false });
  leaveToOwner(draft);
  settle(draft, target);
  removeOthers(db.name, target);
}

const SNAPSHOT = /\.before-\d{3}$/;
const DRAFT = /\.before-\d{3}\.(\d+)$/;

/** Copies that a killed process has left incomplete: each is as large as the database. */
function removeAbandoned(file: string): void {
  for (const name of readdirSync(dirname(file))) {
    const pid = name.startsWith(`${basename(file)}.`) ? DRAFT.exec(name)?.[1] : undefined;
    if (pid !== undefined && !isRunning(Number(pid))) removeDatabase(join(dirname(file), name));
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function removeOthers(file: string, kept: string): void {
  for (const name of readdirSync(dirname(file))) {
    if (!name.startsWith(`${basename(file)}.`) || !SNAPSHOT.test(name)) continue;
    const path = join(dirname(file), name);
    if (path !== kept && statSync(path).isFile()) removeDatabase(path);
  }
}

function noRoom(file: string, needed: number, free: number): StoreOpenError {
  const mib = (bytes: number) => Math.ceil(bytes / 1024 / 1024);
  return new StoreOpenError(
    'no_room',
    `${file} is to be copied before this release changes its schema, which takes ${mib(needed)} MiB; ${mib(free)} MiB are ` +
      'free. Make room beside it. Nothing was changed.',
  );
}
