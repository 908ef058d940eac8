import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { StoreOpenError } from '../../../src/store/errors.ts';
import { migrateSqlite } from '../../../src/store/sqlite/open.ts';
import { tempFolder } from './temp-folder.ts';

const LATEST = readdirSync(join(import.meta.dirname, '../../../src/store/sqlite/migrations')).length;

test('an empty file is brought to the latest schema, and then there is nothing to do', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  expect(await migrateSqlite(file)).toEqual({ from: 0, to: LATEST });
  expect(await migrateSqlite(file)).toEqual({ from: LATEST, to: LATEST });
});

test('every table is strict about its types', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  await migrateSqlite(file);
  const db = new Sqlite(file);
  const lax = db.prepare(
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%'",
  );
  expect(lax.all()).toEqual([]);
  db.close();
});

test('a newer schema is refused and left as it is', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  await migrateSqlite(file);
  const db = new Sqlite(file);
  db.pragma(`user_version = ${LATEST + 1}`);
  await expect(migrateSqlite(file)).rejects.toBeInstanceOf(StoreOpenError);
  expect(db.pragma('user_version', { simple: true })).toBe(LATEST + 1);
  db.close();
});
