import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { openDatabase } from '../../src/store/sqlite/database.ts';
import { migrate } from '../../src/store/sqlite/migrate.ts';
import { type SearchableRow, termsOfRow } from '../../src/store/sqlite/signal-index.ts';

/** The database whose rows are inserted again. */
export interface FloorOrder {
  file: string;
  batchPosts: number;
}

type Row = unknown[];

/** The tables that a signal writes, each with the expression for a row's signal, in an order that satisfies references. */
const TABLES = [
  { table: 'signals', signal: 'id', order: 'seq' },
  { table: 'signal_people', signal: 'signal_id', order: 'signal_id' },
  { table: 'companies', signal: `facts ->> '$.observed.name.signal_id'`, order: 'id' },
  { table: 'events', signal: 'subject_id', order: 'id' },
] as const;

process.on('message', (order: FloorOrder) => {
  process.send?.(run(order));
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');

/** Rows per second of the bare loop: prepared statements and one transaction per batch. */
function run({ file, batchPosts }: FloorOrder): number {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  const db = openDatabase(join(folder, 'signalpost.db'));
  try {
    migrate(db);
    const { batches, signals } = readBatches(file, batchPosts);
    copyOwners(db, file);
    const statements = prepare(db, batches);
    const started = performance.now();
    for (const batch of batches) {
      db.exec('BEGIN IMMEDIATE');
      for (const [table, rows] of batch) {
        const statement = statements.get(table);
        for (const row of rows) statement?.run(...row);
      }
      db.exec('COMMIT');
    }
    return signals / ((performance.now() - started) / 1_000);
  } finally {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One statement for each table with rows. */
function prepare(db: Database, batches: readonly Map<string, Row[]>[]) {
  const firstRows = new Map(
    batches.flatMap((batch) => [...batch].flatMap(([table, [row]]) => (row ? [[table, row]] : []))),
  );
  return new Map(
    [...firstRows].map(([table, row]) => {
      const columns = table === 'signal_search' ? ' (rowid, terms)' : '';
      return [table, db.prepare(`INSERT INTO ${table}${columns} VALUES (${row.map(() => '?').join(', ')})`)];
    }),
  );
}

/** The rows of each batch by table, as stored; every table occurs in every batch. */
function readBatches(file: string, batchPosts: number): { batches: Map<string, Row[]>[]; signals: number } {
  const db = new Sqlite(file, { readonly: true });
  db.defaultSafeIntegers(true);
  const ids = db.prepare<[], string>('SELECT id FROM signals ORDER BY seq').pluck().all();
  const batchOf = new Map(ids.map((id, index) => [id, Math.floor(index / batchPosts)]));
  const batches = Array.from({ length: Math.ceil(ids.length / batchPosts) }, () => new Map<string, Row[]>());
  for (const { table, signal, order } of TABLES) {
    for (const batch of batches) batch.set(table, []);
    const rows = db.prepare<[], Row>(`SELECT ${signal}, * FROM ${table} ORDER BY ${order}`).raw().all();
    for (const [id, ...row] of rows) batches[batchOf.get(String(id)) ?? 0]?.get(table)?.push(row);
  }
  addTerms(db, batches, batchOf);
  db.close();
  return { batches, signals: ids.length };
}

/** The full-text index cannot be read back; its rows are built from the signals, outside the measured time. */
function addTerms(db: Database, batches: Map<string, Row[]>[], batchOf: ReadonlyMap<string, number>): void {
  for (const batch of batches) batch.set('signal_search', []);
  const rows = db.prepare<[], SearchableRow & { seq: bigint; id: string; score: bigint | number }>(
    `SELECT seq, id, tenant_id AS tenantId, profile_id AS profileId, platform, signal_type AS signalType, classification,
            score, company_domain AS companyDomain, text, wire FROM signals ORDER BY seq`,
  );
  for (const row of rows.all()) {
    const terms = termsOfRow({ ...row, score: Number(row.score) });
    batches[batchOf.get(row.id) ?? 0]?.get('signal_search')?.push([row.seq, terms]);
  }
}

/** The rows that others reference. */
function copyOwners(db: Database, file: string): void {
  db.prepare('ATTACH ? AS source').run(file);
  for (const table of ['tenants', 'icp_profiles'])
    db.exec(`INSERT INTO ${table} SELECT * FROM source.${table}`);
  db.exec('DETACH source');
}
