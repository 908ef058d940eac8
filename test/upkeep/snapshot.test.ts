import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { latestVersion } from '../../src/store/sqlite/migrate.ts';
import { aFolder } from './folder.ts';

const MIGRATIONS = 'src/store/sqlite/migrations';
const LATEST = latestVersion();
const before = (file: string, version: number) => `${file}.before-${String(version).padStart(3, '0')}`;

/** A database as left by the release before the last migration, marked by an additional table. */
function anOlderDatabase(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const db = new Sqlite(file);
  const older = readdirSync(MIGRATIONS).sort().slice(0, -1);
  for (const name of older) db.exec(readFileSync(`${MIGRATIONS}/${name}`, 'utf8'));
  db.exec('CREATE TABLE mark (x)');
  db.pragma(`user_version = ${LATEST - 1}`);
  db.pragma(`application_id = ${0x5367506f}`);
  db.close();
}

const copiesIn = (folder: string) => readdirSync(folder).filter((name) => name.includes('.before-'));

test('copies nothing if there is nothing to migrate: neither a new database nor a current one', async () => {
  const folder = aFolder();
  for (let i = 0; i < 2; i++) await (await folder.open()).store.close();
  expect(copiesIn(folder.path)).toEqual([]);
});

test('copies the database before a migration, and removes the copy of the previous migration', async () => {
  const folder = aFolder();
  anOlderDatabase(folder.file);
  new Sqlite(before(folder.file, 3)).close();
  await (await folder.open()).store.close();
  const copy = new Sqlite(before(folder.file, LATEST - 1), { readonly: true });
  expect(copy.pragma('user_version', { simple: true })).toBe(LATEST - 1);
  expect(copy.prepare("SELECT 1 AS there FROM sqlite_schema WHERE name = 'mark'").get()).toBeDefined();
  copy.close();
  expect(existsSync(before(folder.file, 3))).toBe(false);
  expect(copiesIn(folder.path)).toHaveLength(1);
});

test('removes what a killed migration has left of its copy, but not that of one that runs', async () => {
  const folder = aFolder();
  anOlderDatabase(folder.file);
  const { pid: gone = 0 } = spawnSync(process.execPath, ['--version']);
  const draft = (pid: number) => `${before(folder.file, LATEST - 1)}.${pid}`;
  for (const path of [draft(gone), `${draft(gone)}-journal`, draft(process.ppid)])
    writeFileSync(path, 'incomplete');
  await (await folder.open()).store.close();
  expect(
    copiesIn(folder.path)
      .map((name) => join(folder.path, name))
      .sort(),
  ).toEqual([before(folder.file, LATEST - 1), draft(process.ppid)]);
});
