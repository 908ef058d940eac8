import { searchedFacts } from '../../rules/words.ts';
import { StoreUpkeepError } from '../errors.ts';
import type { Connection, Prepared } from '../postgres/connection.ts';
import { UNFINISHED_COPY } from '../postgres/migrate.ts';
import { wordsVector } from '../postgres/search-words.ts';
import {
  asText,
  type ColumnType,
  createDigester,
  type Digest,
  type Plain,
  plainOfPostgres,
} from './digest.ts';
import { type Column, type CopiedTable, type Key, quoted, type SqliteSource } from './sqlite-source.ts';

/** The progress of a table's copy. */
export interface Progress {
  /** The digest of the table in SQLite when the copy started. */
  source: Digest;
  /** The key of the last copied row; null if none was copied. */
  lastKey: Key | null;
  copied: number;
}

/** The state of an unfinished copy. */
export interface Unfinished {
  /** The schema versions that it was started with. */
  schemas: string;
  tables: Map<string, Progress>;
}

/** Columns that only PostgreSQL has, with their equivalent in SQLite. */
const FROM_SQLITE: Record<string, string> = { 'leads.place': 'rowid' };

/** Tables that are derived from others during the copy, or filled by the schema. */
const NOT_COPIED = new Set(['schema_version', 'signal_search', 'duties', UNFINISHED_COPY]);

const MOST_FETCHED = 500;
const FETCHED_CHARACTERS = 4 * 1024 * 1024;

/** A PostgreSQL database that a store is copied to. */
export interface PostgresTarget {
  /** The schema versions on both sides. */
  schemas: string;
  /** Every table that both engines have, in the order of their foreign keys. */
  tables: readonly CopiedTable[];
  unfinished(): Promise<Unfinished | null>;
  /** A table that already contains rows; null if all are empty. */
  firstFilled(): Promise<string | null>;
  keyProof(): Promise<string | null>;
  /**
   * Marks the database as unusable for servers, and disables its triggers, because the rows they would write are
   * copied, too.
   */
  begin(schemas: string, source: ReadonlyMap<string, Digest>): Promise<void>;
  /** Stores rows together with the progress of the table; fails if the progress is not `before`. */
  store(table: CopiedTable, batch: RowBatch): Promise<void>;
  digest(table: CopiedTable, onRow: () => void): Promise<Digest>;
  /** The number of signals in the full-text index. */
  countSearched(): Promise<number>;
  /** Allows servers to use the database. */
  finish(): Promise<void>;
}

export interface RowBatch {
  rows: readonly (readonly Plain[])[];
  before: Key | null;
  last: Key;
}

const sql = (text: string): Prepared => ({ name: '', text, members: null });

/** For a database with a current schema. */
export async function createPostgresTarget(db: Connection, source: SqliteSource): Promise<PostgresTarget> {
  const tables = await readTables(db, source);
  const all = async (text: string, values: unknown[] = []) => (await db.ask(sql(text), values)).rows;

  const [[version]] = (await all('SELECT version FROM schema_version')) as [[number]];
  return {
    schemas: `${source.schemaVersion}/${version}`,
    tables,
    async unfinished() {
      const [[there]] = (await all('SELECT to_regclass($1) IS NOT NULL', [UNFINISHED_COPY])) as [[boolean]];
      if (!there) return null;
      const found = await all(
        `SELECT table_name, schemas, rows, hash, last_key, copied FROM ${UNFINISHED_COPY}`,
      );
      return {
        schemas: String(found[0]?.[1]),
        tables: new Map(
          found.map(([name, , rows, hash, lastKey, copied]) => [
            String(name),
            {
              source: { rows: Number(rows), hash: String(hash) },
              lastKey: lastKey === null ? null : JSON.parse(String(lastKey)),
              copied: Number(copied),
            },
          ]),
        ),
      };
    },
    async firstFilled() {
      for (const { name } of tables) {
        // The schema fills it with its only row.
        if (name === 'probe') continue;
        const [[filled]] = (await all(`SELECT EXISTS (SELECT 1 FROM ${quoted(name)})`)) as [[boolean]];
        if (filled) return name;
      }
      return null;
    },
    async keyProof() {
      const [row] = await all('SELECT proof FROM master_key WHERE id = 1');
      return row === undefined ? null : String(row[0]);
    },
    begin: (schemas, digests) =>
      db.transact(async () => {
        await db.execute(
          `CREATE TABLE ${UNFINISHED_COPY} (
             table_name text PRIMARY KEY, schemas text NOT NULL, rows bigint NOT NULL, hash text NOT NULL,
             last_key text, copied bigint NOT NULL DEFAULT 0);
           DELETE FROM probe;
           ${tables.map(({ name }) => `ALTER TABLE ${quoted(name)} DISABLE TRIGGER USER`).join(';\n')}`,
        );
        for (const [name, { rows, hash }] of digests) {
          db.send(
            sql(`INSERT INTO ${UNFINISHED_COPY} (table_name, schemas, rows, hash) VALUES ($1, $2, $3, $4)`),
            [...[name, schemas, rows, hash]],
          );
        }
      }),
    store: (table, { rows, before, last }) =>
      db
        .transact(async () => {
          const { count } = await db.ask(
            sql(
              `UPDATE ${UNFINISHED_COPY} SET last_key = $1, copied = copied + $2
               WHERE table_name = $3 AND last_key IS NOT DISTINCT FROM $4`,
            ),
            [JSON.stringify(last), rows.length, table.name, before === null ? null : JSON.stringify(before)],
          );
          if (count === 0) throw new StoreUpkeepError('Another copy into the same database is in progress.');
          db.send(sql(insertionOf(table)), columnsOf(table, rows));
          if (table.name === 'signals') db.send(sql(INSERT_WORDS), wordsOfSignals(table, rows));
        })
        .catch((error: unknown) => {
          throw explained(table.name, error);
        }),
    digest: (table, onRow) => digestTable(db, table, onRow),
    async countSearched() {
      const [[count]] = (await all('SELECT count(*) FROM signal_search')) as [[number]];
      return count;
    },
    finish: () =>
      db.transact(async () => {
        const identities = await all(
          `SELECT table_name, column_name, pg_get_serial_sequence(quote_ident(table_name), column_name)
           FROM information_schema.columns WHERE table_schema = current_schema() AND is_identity = 'YES'`,
        );
        const next = identities.map(([table, column, sequence]) => {
          const last = `SELECT max(${quoted(String(column))}) FROM ${quoted(String(table))}`;
          return `SELECT setval('${sequence}', coalesce((${last}), 0) + 1, false)`;
        });
        const triggers = tables.map(({ name }) => `ALTER TABLE ${quoted(name)} ENABLE TRIGGER USER`);
        // Without statistics, the planner would read whole tables until it has some.
        await db.execute([...next, ...triggers, `DROP TABLE ${UNFINISHED_COPY}`, 'ANALYZE'].join(';\n'));
      }),
  };
}

/** Never includes the content of a row in the message. */
function explained(table: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  // PostgreSQL's error classes for invalid values and violated constraints.
  if (!/^(?:22|23)/.test(code)) return error;
  return new StoreUpkeepError(
    `PostgreSQL refuses a row of ${table} (code ${code}). Run "signalpost check" on the SQLite database, and report this as a bug ` +
      'if no problem is found.',
  );
}

/** Tables and columns of both engines. @throws Error if one has any that the other lacks */
async function readTables(db: Connection, { tables: known }: SqliteSource): Promise<CopiedTable[]> {
  const { rows } = await db.ask(
    sql(`SELECT c.relname, a.attname, format_type(a.atttypid, NULL), a.atthasdef OR a.attidentity <> '', a.attgenerated <> ''
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
         ORDER BY c.relname, a.attnum`),
    [],
  );
  const found = new Map<string, Column[]>();
  for (const [table, column, type, isFilled, isGenerated] of rows.map((row) => row.map(String))) {
    const ofSqlite = known.get(table ?? '');
    if (ofSqlite === undefined || table === undefined || column === undefined || NOT_COPIED.has(table))
      continue;
    const columns = found.get(table) ?? [];
    found.set(table, columns);
    if (isGenerated === 'true') continue;
    const from = ofSqlite.includes(column) ? quoted(column) : FROM_SQLITE[`${table}.${column}`];
    if (from !== undefined) columns.push({ name: column, type: type as ColumnType, from });
    else if (isFilled !== 'true') throw new Error(`SQLite has nothing for ${table}.${column}.`);
  }
  for (const [name, columns] of known) {
    if (!found.has(name)) throw new Error(`PostgreSQL has no table ${name}.`);
    const kept = new Set(rows.filter(([table]) => table === name).map(([, column]) => column));
    const lost = columns.find((column) => !kept.has(column));
    if (lost !== undefined) throw new Error(`PostgreSQL has no column ${name}.${lost}.`);
  }
  const tables = [...found].map(([name, columns]) => ({ name, columns }));
  return inOrder(tables, await readReferences(db));
}

async function readReferences(db: Connection): Promise<[from: string, to: string][]> {
  const { rows } = await db.ask(
    sql(`SELECT f.relname, t.relname FROM pg_constraint r
         JOIN pg_class f ON f.oid = r.conrelid JOIN pg_class t ON t.oid = r.confrelid
         WHERE r.contype = 'f' AND r.connamespace = current_schema()::regnamespace AND r.conrelid <> r.confrelid`),
    [],
  );
  return rows.map(([from, to]) => [String(from), String(to)]);
}

/** Referenced tables come before those that refer to them. */
function inOrder(
  tables: readonly CopiedTable[],
  references: readonly [from: string, to: string][],
): CopiedTable[] {
  const done = new Set<string>();
  const ordered: CopiedTable[] = [];
  while (ordered.length < tables.length) {
    const next = tables.filter(
      ({ name }) => !done.has(name) && references.every(([from, to]) => from !== name || done.has(to)),
    );
    if (next.length === 0) throw new Error('Foreign keys form a cycle.');
    for (const table of next) {
      done.add(table.name);
      ordered.push(table);
    }
  }
  return ordered;
}

function insertionOf({ name, columns }: CopiedTable): string {
  const names = columns.map((column) => quoted(column.name)).join(', ');
  const arrays = columns.map(({ type }, i) => `$${i + 1}::${type}[]`).join(', ');
  return `INSERT INTO ${quoted(name)} (${names}) SELECT * FROM unnest(${arrays})`;
}

/** Rows as one list per column. */
function columnsOf({ columns }: CopiedTable, rows: RowBatch['rows']): Plain[][] {
  return columns.map((_, i) => rows.map((row) => row[i] ?? null));
}

const INSERT_WORDS = `INSERT INTO signal_search (seq, terms)
  SELECT seq, terms::tsvector FROM unnest($1::bigint[], $2::text[]) AS words (seq, terms)`;

/** The search terms of signals, as computed when a signal is stored. */
function wordsOfSignals({ columns }: CopiedTable, rows: RowBatch['rows']): Plain[][] {
  const places = ['seq', 'tenant_id', 'text', 'wire'].map((name) =>
    columns.findIndex((column) => column.name === name),
  );
  const words = rows.map((row) => {
    const [seq, tenantId, text, wire] = places.map((place) => String(row[place])) as [
      string,
      string,
      string,
      string,
    ];
    return [seq, wordsVector(tenantId, [text, ...searchedFacts(JSON.parse(wire))])] as const;
  });
  return [words.map(([seq]) => seq), words.map(([, terms]) => terms)];
}

/** Reads a batch of rows at a time, fewer if they are long. */
async function digestTable(
  db: Connection,
  { name, columns }: CopiedTable,
  onRow: () => void,
): Promise<Digest> {
  const digester = createDigester();
  const list = columns.map((column) => asText(quoted(column.name), column.type)).join(', ');
  await db.transact(async () => {
    await db.execute(`DECLARE copied NO SCROLL CURSOR FOR SELECT ${list} FROM ${quoted(name)}`);
    for (let wanted = 50; ; ) {
      const { rows } = await db.ask(sql(`FETCH ${wanted} FROM copied`), []);
      if (rows.length === 0) return;
      let characters = 0;
      for (const found of rows) {
        const row = columns.map(({ type }, i) => plainOfPostgres(type, found[i] ?? null));
        for (const value of row) characters += value?.length ?? 0;
        digester.add(row);
        onRow();
      }
      const fitting = Math.floor((FETCHED_CHARACTERS / (characters + 1)) * rows.length);
      wanted = Math.max(1, Math.min(MOST_FETCHED, wanted * 2, fitting));
    }
  });
  return digester.result();
}
