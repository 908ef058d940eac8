import type { Database } from 'better-sqlite3';
import type { Connection } from '../../src/store/postgres/connection.ts';

type Row = Record<string, unknown>;
type Rows = Record<string, string[]>;

/** Tables of SQLite's full-text index, and those that only one of the engines has. */
const OTHER_TABLES = /^(?:sqlite_|signal_search|schema_version$|duties$|attempts_)/;
const OTHER_COLUMNS = new Set(['leads.place', 'sources.due_at', 'sources.host']);

/** Every row of every table of both engines, as text that is equal if the rows are. */
export async function sameRows(
  sqlite: Database,
  postgres: Connection,
): Promise<{ expected: Rows; found: Rows }> {
  const ofSqlite = (sql: string) => sqlite.prepare<[], Row>(sql).safeIntegers().all();
  const ofPostgres = async (sql: string) => {
    const { columns, rows } = await postgres.ask({ name: '', text: sql, members: null }, []);
    return rows.map((row) => Object.fromEntries(columns.map((name, index) => [name, row[index]])));
  };
  const [expected, found]: [Rows, Rows] = [{}, {}];
  const known = ofSqlite("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'");
  const others = await ofPostgres(
    'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()',
  );
  for (const name of new Set([...known, ...others].map((row) => String(row.name)).sort())) {
    if (OTHER_TABLES.test(name)) continue;
    const sql = `SELECT * FROM ${name}`;
    // A process without a name predates names: a new database has none.
    const rows = ofSqlite(sql).filter((row) => name !== 'processes' || row.name !== '');
    expected[name] = rows.map((row) => toText(name, row)).sort();
    // An ended lease: PostgreSQL keeps what it held for the node that takes over.
    const isEnded = (row: Row) => name === 'lane_leases' && Number(row.until) === 0;
    found[name] = (await ofPostgres(sql))
      .filter((row) => !isEnded(row))
      .map((row) => toText(name, row))
      .sort();
  }
  return { expected, found };
}

function toText(table: string, row: Row): string {
  const columns = Object.entries(row).filter(([name]) => !OTHER_COLUMNS.has(`${table}.${name}`));
  return JSON.stringify(
    Object.fromEntries(columns.map(([name, value]) => [name, plain(name, value)]).sort(byName)),
  );
}

function byName([a]: unknown[], [b]: unknown[]): number {
  return String(a) < String(b) ? -1 : 1;
}

function plain(name: string, value: unknown): unknown {
  if (value === null) return null;
  if (typeof value === 'boolean') return Number(value);
  // The number of a signal within its millisecond may differ between engines.
  if (name === 'seq') return inOrder(BigInt(value as number | string | bigint));
  // Integers beyond the exact range are text, as the driver reads them.
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  // SQLite writes 60.0 for a number bound to `json_set`.
  if (name === 'settings' && typeof value === 'string') return JSON.stringify(JSON.parse(value));
  return typeof value === 'object' ? JSON.stringify(value) : value;
}

function inOrder(seq: bigint): string {
  return String(seq > BigInt(Number.MAX_SAFE_INTEGER) ? seq >> 21n : seq);
}

/** A result with its bytes as text: SQLite returns a Buffer, which a worker thread turns into a plain array. */
export function bytesAsHex(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(bytesAsHex);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, bytesAsHex(member)]));
}
