import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { leaveToOwner } from '../../../lib/folders.ts';
import { StoreOpenError } from '../../errors.ts';
import { fileSizes } from '../database.ts';
import { latestVersion, schemaVersion } from '../migrate.ts';
import { copyDatabase, removeDatabase, settle } from './copy.ts';

/**
 * Copies the database as it is before a migration changes it, to `FILE.before-VERSION`: migrations go forward only, and the
 * release before can be gone back to by putting this in its place. The one of the last migration is kept.
 * @throws StoreOpenError where there is no room for it
 */
export async function snapshotBeforeMigration(db: Database): Promise<void> {
  const from = schemaVersion(db);
  if (db.memory || from === 0 || from >= latestVersion()) return;
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
