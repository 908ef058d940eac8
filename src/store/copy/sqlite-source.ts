import { existsSync } from 'node:fs';
import Sqlite, { type Database } from 'better-sqlite3';
import { StoreUpkeepError } from '../errors.ts';
import { explainFaults } from '../sqlite/database.ts';
import { latestVersion, refuseForeign, refuseNewer, schemaVersion } from '../sqlite/migrate.ts';
import { isBusy } from '../sqlite/upkeep/copy.ts';
import { inUse } from '../sqlite/upkeep/restore.ts';
import { type ColumnType, createDigester, type Digest, type Plain, plainOfSqlite } from './digest.ts';

/** The position of a row in its table. Rows are read in this order. */
export type Key = readonly string[];

/** A column, with the SQL that reads it from SQLite. */
export interface Column {
  name: string;
  type: ColumnType;
  from: string;
}

/** A table, with the columns that both engines have. */
export interface CopiedTable {
  name: string;
  columns: readonly Column[];
}

/** A store in a SQLite file, opened exclusively and only read. */
export interface SqliteSource {
  /** The column names of each table; virtual tables are omitted. */
  tables: ReadonlyMap<string, readonly string[]>;
  schemaVersion: number;
  /** The proof of its master key; null if no secret has been encrypted yet. */
  keyProof: string | null;
  count(table: string): number;
  digest(table: CopiedTable, onRow: () => void): Digest;
  /** Rows after `after`, in the order of their keys. */
  rows(table: CopiedTable, after: Key | null): Generator<{ key: Key; row: Plain[] }>;
  close(): void;
}

/** Tables of the full-text index and of SQLite itself. */
const NOT_COPIED = /^(?:sqlite_|signal_search)/;

/** @throws StoreUpkeepError, StoreOpenError */
export function openSqliteSource(file: string): SqliteSource {
  if (!existsSync(file)) {
    throw new StoreUpkeepError(`There is no database ${file}. Set DATA_DIR to the server's data folder.`);
  }
  return explainFaults(file, () => {
    const db = new Sqlite(file, { timeout: 0 });
    try {
      lockOut(db, file);
      refuseForeign(db);
      refuseNewer(db);
      if (schemaVersion(db) < latestVersion()) {
        throw new StoreUpkeepError(
          `${file} has schema version ${schemaVersion(db)}, and this release has ${latestVersion()}. Run "signalpost migrate" ` +
            'without DATABASE_URL first.',
        );
      }
      return createSource(db);
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/**
 * Checkpoints the write-ahead log, which requires exclusive access, and keeps other processes out until the source is
 * closed.
 */
function lockOut(db: Database, file: string): void {
  try {
    db.pragma('journal_mode = DELETE');
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    throw isBusy(error) ? inUse(file) : error;
  }
}

function createSource(db: Database): SqliteSource {
  const ours = db
    .prepare<[], { name: string; wr: number }>(
      "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'",
    )
    .all()
    .filter(({ name }) => !NOT_COPIED.test(name));
  const withoutRowid = new Set(ours.filter(({ wr }) => wr === 1).map(({ name }) => name));

  function columnsOf(table: string): { name: string; type: string; pk: number }[] {
    return db
      .prepare<[string], { name: string; type: string; pk: number }>(
        'SELECT name, type, pk FROM pragma_table_xinfo(?)',
      )
      .all(table);
  }

  /** The columns that rows are ordered by, and whether they are numbers. */
  function keyOf(table: string): { name: string; isNumber: boolean }[] {
    if (!withoutRowid.has(table)) return [{ name: 'rowid', isNumber: true }];
    return columnsOf(table)
      .filter(({ pk }) => pk > 0)
      .sort((a, b) => a.pk - b.pk)
      .map(({ name, type }) => ({ name, isNumber: type === 'INTEGER' }));
  }

  function* rows({ name, columns }: CopiedTable, after: Key | null): Generator<{ key: Key; row: Plain[] }> {
    const parts = keyOf(name);
    const key = parts.map((part) => quoted(part.name));
    const places = parts.map(() => '?').join(', ');
    const from = after === null ? '' : `WHERE (${key.join(', ')}) > (${places})`;
    const statement = db
      .prepare<unknown[], unknown[]>(
        `SELECT ${[...key, ...columns.map((column) => column.from)].join(', ')} FROM ${quoted(name)} ${from}
         ORDER BY ${key.join(', ')}`,
      )
      .raw()
      .safeIntegers();
    const values = (after ?? []).map((text, i) => (parts[i]?.isNumber ? BigInt(text) : text));
    for (const found of statement.iterate(...values)) {
      yield {
        key: found.slice(0, key.length).map(String),
        row: columns.map(({ type }, i) => plainOfSqlite(type, found[key.length + i])),
      };
    }
  }

  return {
    tables: new Map(ours.map(({ name }) => [name, columnsOf(name).map((column) => column.name)])),
    schemaVersion: schemaVersion(db),
    keyProof: db.prepare<[], string>('SELECT proof FROM master_key WHERE id = 1').pluck().get() ?? null,
    count: (table) =>
      Number(
        db
          .prepare(`SELECT count(*) FROM ${quoted(table)}`)
          .pluck()
          .get(),
      ),
    digest(table, onRow) {
      const digester = createDigester();
      for (const { row } of rows(table, null)) {
        digester.add(row);
        onRow();
      }
      return digester.result();
    },
    rows,
    close: () => void db.close(),
  };
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
