import type { Database } from 'better-sqlite3';
import { expect, test } from 'vitest';
import { type ChangeScripts, createChanges, type StoreStatements } from '../../src/store/changes.ts';
import { answeredLater } from '../../src/store/postgres/runner.ts';
import type { Script, Statements } from '../../src/store/script.ts';
import { openDatabase } from '../../src/store/sqlite/database.ts';
import { migrate } from '../../src/store/sqlite/migrate.ts';
import { createRunner } from '../../src/store/sqlite/runner.ts';
import { createStatements } from '../../src/store/sqlite/statements.ts';
import { createWriteAheadLog } from '../../src/store/sqlite/write-ahead-log.ts';
import { runLater } from '../support/later.ts';
import { aSignal, aTenant, T0 } from '../support/store.ts';
import { actor, DAY } from '../support/store-day.ts';

function openEmpty(): Database {
  const db = openDatabase(':memory:');
  migrate(db);
  return db;
}

type AnyScript = (...args: unknown[]) => Script<unknown>;

/** The same changes on a driver whose statements answer later. */
function openSecond() {
  const db = openEmpty();
  const scripts = createChanges(answeredLater<StoreStatements>());
  const statements = createStatements(db, createWriteAheadLog(db)) as unknown as Statements;
  const run = (name: keyof ChangeScripts, args: unknown[]) =>
    runLater((scripts[name] as AnyScript)(...args), statements);
  return { db, run };
}

/** Every row of every table. */
function allRows(db: Database): Record<string, unknown[]> {
  const tables = db
    .prepare<[], string>("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
    .pluck()
    .all();
  const ordered = tables.filter((name) => !name.startsWith('sqlite_')).sort();
  return Object.fromEntries(ordered.map((name) => [name, db.prepare(`SELECT * FROM "${name}"`).all()]));
}

test('a driver whose statements answer later runs the same scripts to the same results and rows', async () => {
  const first = openEmpty();
  const second = openSecond();
  const changes = createRunner(first);
  for (const [name, args] of DAY) {
    const result = (changes[name] as (...args: unknown[]) => unknown)(...args);
    expect(await second.run(name, args), name).toEqual(result);
  }
  const rows = allRows(first);
  expect(allRows(second.db)).toEqual(rows);
  expect([rows.signals?.length, rows.attempts?.length, rows.leads?.length]).toEqual([1, 2, 1]);
});

test('scripts that run at once on such a driver keep what each has read', async () => {
  const { db, run } = openSecond();
  await run('createTenant', [aTenant('ten_a')]);
  const names = ['a', 'b', 'c', 'd'];
  const made = await Promise.all(
    names.map((n) =>
      run('commitSignals', [
        [aSignal('ten_a', { id: `sig_${n}`, externalId: n, text: `Post ${n}`, timestamp: T0 })],
      ]),
    ),
  );
  expect(made).toEqual(
    names.map((n) => [{ status: 'created', id: `sig_${n}`, wire: expect.stringContaining(`sig_${n}`) }]),
  );
  expect(db.prepare('SELECT id FROM signals ORDER BY id').pluck().all()).toEqual(
    names.map((n) => `sig_${n}`),
  );
});

test('what a statement throws is thrown where the script asked for it', async () => {
  const { run } = openSecond();
  await run('createTenant', [aTenant('ten_a')]);
  await expect(run('createTenant', [aTenant('ten_a')])).rejects.toThrow('UNIQUE');
  await expect(run('makeDone', [{ ...actor, at: T0, name: 'nothing', args: [] }])).rejects.toThrow(
    'There is no change "nothing".',
  );
});
