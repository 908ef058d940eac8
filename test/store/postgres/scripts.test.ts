import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ChangeScripts, createChanges, type StoreStatements } from '../../../src/store/changes.ts';
import { type Connection, connect } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { answeredLater, createScriptRunner } from '../../../src/store/postgres/runner.ts';
import type { Script } from '../../../src/store/script.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate as migrateSqlite } from '../../../src/store/sqlite/migrate.ts';
import { createRunner } from '../../../src/store/sqlite/runner.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { DAY } from '../../support/store-day.ts';

type Rows = Record<string, string[]>;
type AnyScript = (...args: unknown[]) => Script<unknown>;

/** Tables of SQLite's index of words, and columns that one of the two engines alone has. */
const OTHER_TABLES = /^(?:sqlite_|signal_search|schema_version$)/;
const OTHER_COLUMNS = new Set(['leads.place', 'sources.due_at', 'sources.host']);

/** A row's values as both engines write them. */
function plain(table: string, row: Record<string, unknown>): string {
  const columns = Object.entries(row).filter(([name]) => !OTHER_COLUMNS.has(`${table}.${name}`));
  const values = columns.map(([name, value]) => {
    if (typeof value === 'boolean') return [name, Number(value)];
    if (value instanceof Uint8Array) return [name, Buffer.from(value).toString('hex')];
    if (typeof value === 'bigint') return [name, String(value)];
    return [name, typeof value === 'object' && value !== null ? JSON.stringify(value) : value];
  });
  return JSON.stringify(Object.fromEntries(values.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))));
}

describe.skipIf(mayLackPostgres())('the changes on PostgreSQL', () => {
  let server: PostgresServer;
  let db: Connection;
  beforeAll(async () => {
    server = await startPostgres();
    db = await connect(await server.createDatabase());
    await migrate(db);
  });
  afterAll(async () => {
    await db.close();
    await server[Symbol.asyncDispose]();
  });

  async function select(sql: string): Promise<Record<string, unknown>[]> {
    const { columns, rows } = await db.ask({ name: '', text: sql, members: null }, []);
    return rows.map((row) => Object.fromEntries(columns.map((name, index) => [name, row[index]])));
  }

  test('come to the same results and rows as on SQLite', async () => {
    const sqlite = openDatabase(':memory:');
    migrateSqlite(sqlite);
    const changes = createRunner(sqlite);
    const scripts = createChanges(answeredLater<StoreStatements>());
    const run = createScriptRunner(db);
    for (const [name, args] of DAY) {
      const expected = (changes[name] as (...args: unknown[]) => unknown)(...args);
      let result: unknown;
      await db.transact(async () => {
        result = await run((scripts[name as keyof ChangeScripts] as AnyScript)(...args));
      });
      expect(bytesAsHex(result), name).toEqual(bytesAsHex(expected));
    }

    const tables = sqlite
      .prepare<[], string>("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
      .pluck()
      .all()
      .filter((table) => !OTHER_TABLES.test(table))
      .sort();
    const [expected, found]: [Rows, Rows] = [{}, {}];
    for (const table of tables) {
      const rows = sqlite.prepare<[], Record<string, unknown>>(`SELECT * FROM ${table}`).safeIntegers().all();
      // A process without a name is one of before there were names: a new database has none.
      const known = rows.filter(({ name }) => table !== 'processes' || name !== '');
      expected[table] = known.map((row) => plain(table, numbered(row))).sort();
      found[table] = (await select(`SELECT * FROM ${table}`)).map((row) => plain(table, row)).sort();
    }
    expect(found).toEqual(expected);
    const inPostgres = (await select('SELECT tablename FROM pg_tables WHERE schemaname = current_schema()'))
      .map(({ tablename }) => String(tablename))
      .filter((table) => !OTHER_TABLES.test(table));
    expect(inPostgres.sort()).toEqual(tables);
  });
});

/** Integers as a connection to PostgreSQL returns them: as numbers where they fit. */
function numbered(row: Record<string, unknown>): Record<string, unknown> {
  const toNumber = (value: unknown) =>
    typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, toNumber(value)]));
}

/** A result whose bytes are text: SQLite returns a Buffer where the thread in between makes it a plain array. */
function bytesAsHex(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(bytesAsHex);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, bytesAsHex(member)]));
}
