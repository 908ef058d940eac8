import Sqlite, { type Database } from 'better-sqlite3';
import { expect } from 'vitest';
import { createKeyProof } from '../../src/lib/secret-box.ts';
import { type Connection, connect } from '../../src/store/postgres/connection.ts';
import { createGuide } from './api-tour.ts';
import { visitEverything } from './api-visits.ts';
import { buildTestApp } from './app.ts';
import { sendTestToNobody } from './fake-receiver.ts';
import type { PostgresServer } from './postgres.ts';
import { sameRows } from './two-stores.ts';

/** Characters that are special in PostgreSQL's escapes, arrays and JSON, and those that its text cannot contain. */
const AWKWARD = 'a\\b "c" {d,e} \'f\' NULL \\N \t\n\u2028 émoji 👩‍🔧 \\u0000 \ud83d';

/** The key of test apps, in the format of SECRETS_KEY. */
export const KEY = Buffer.alloc(32, 7).toString('base64');

export interface FullStore {
  file: string;
  apiKey: string;
}

/** A store with rows in every table: created through the API, and directly for the rest. */
export async function makeFullStore(file: string): Promise<FullStore> {
  const t = await buildTestApp({
    file,
    env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' },
    sendTest: sendTestToNobody,
  });
  await visitEverything(createGuide(t));
  await t.app.close();
  const db = new Sqlite(file);
  try {
    db.pragma('foreign_keys = OFF');
    // As if a server had opened it.
    const { check } = createKeyProof(Buffer.from(KEY, 'base64'), '');
    db.prepare('INSERT INTO master_key (id, proof) VALUES (1, ?)').run(check);
    for (const table of emptyTables(db)) fillWithOne(db, table);
    addAwkward(db);
  } finally {
    db.close();
  }
  return { file, apiKey: t.apiKey };
}

/** Adds so many rows that a copy takes several commits. */
export function addMany(file: string, rows: number): void {
  const db = new Sqlite(file);
  db.pragma('foreign_keys = OFF');
  db.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO attempts (id, delivery_id, attempt, started_at, duration_ms, detail)
     SELECT 'att_' || i, 'dlv_' || i, 1, i, i / 7.0, '{"n":' || i || '}' FROM n`,
  ).run(rows);
  db.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO signal_near_keys (key, seq) SELECT i * 4611686018427 - 9223372036854775807, i FROM n`,
  ).run(rows);
  db.close();
}

function emptyTables(db: Database): string[] {
  return db
    .prepare<[], string>(
      `SELECT name FROM pragma_table_list
       WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'signal_search%'`,
    )
    .pluck()
    .all()
    .filter((name) => db.prepare(`SELECT 1 FROM ${name} LIMIT 1`).get() === undefined);
}

/** Rows that others refer to, by the referring column. */
const REFERRED: Record<string, string> = {
  tenant_id: 'SELECT id FROM tenants',
  user_id: 'SELECT id FROM owners',
  profile_id: 'SELECT id FROM icp_profiles',
  signal_id: 'SELECT id FROM signals',
  lead_id: 'SELECT id FROM leads',
  campaign_id: 'SELECT id FROM campaigns',
  source_id: 'SELECT id FROM sources',
  endpoint_id: 'SELECT id FROM webhook_endpoints',
  event_id: 'SELECT id FROM events',
  job_id: 'SELECT id FROM jobs',
  seq: 'SELECT CAST(seq AS TEXT) FROM signals',
};

function fillWithOne(db: Database, table: string): void {
  const columns = db
    .prepare<[], { name: string; type: string; hidden: number }>(
      `SELECT name, type, hidden FROM pragma_table_xinfo('${table}')`,
    )
    .all()
    .filter(({ hidden }) => hidden === 0);
  const values = columns.map(({ name, type }) => {
    const referred = REFERRED[name];
    const found = referred === undefined ? undefined : db.prepare(referred).pluck().get();
    if (found !== undefined) return type === 'INTEGER' ? BigInt(String(found)) : found;
    if (type === 'INTEGER') return 1n;
    if (type === 'REAL') return 0.1;
    return type === 'BLOB' ? Buffer.from([0, 1, 255]) : '{"a":1}';
  });
  // A step needs its erasure.
  if (table === 'erasure_steps') fillWithOne(db, 'erasures');
  db.prepare(
    `INSERT OR IGNORE INTO ${table} (${columns.map(({ name }) => name).join(', ')})
     VALUES (${columns.map(() => '?').join(', ')})`,
  ).run(...values);
}

function addAwkward(db: Database): void {
  db.prepare('UPDATE signals SET text = text || ? WHERE seq = (SELECT min(seq) FROM signals)').run(
    `${AWKWARD} \0 plumber`,
  );
  db.prepare('UPDATE events SET data = ? WHERE id = (SELECT min(id) FROM events)').run(
    JSON.stringify({ text: AWKWARD, nul: '\0' }),
  );
  db.prepare('UPDATE reply_templates SET template = ?').run(AWKWARD);
  db.prepare('UPDATE attempts SET duration_ms = 0.00001').run();
}

/** A new database, in the format of DATABASE_URL. */
export async function createDatabase(server: PostgresServer): Promise<string> {
  const { host, user, database } = await server.createDatabase();
  return `postgres:///${database}?host=${encodeURIComponent(host)}&user=${user}`;
}

export async function connected<T>(url: string, work: (db: Connection) => Promise<T>): Promise<T> {
  const db = await connect({ connectionString: url });
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

/** Compares every row of every table. */
export async function expectSameRows(file: string, url: string): Promise<void> {
  const sqlite = new Sqlite(file, { readonly: true });
  const { expected, found } = await connected(url, (db) => sameRows(sqlite, db));
  sqlite.close();
  // There, a NUL is U+FFFD; and SQLite has a process without a name.
  const plain = (rows: typeof found) =>
    Object.fromEntries(
      Object.entries(rows)
        .filter(([name]) => name !== 'processes')
        .map(([name, all]) => [
          name,
          all.map((row) => row.replaceAll('\\u0000 plumber', '\ufffd plumber')).sort(),
        ]),
    );
  expect(plain(found)).toEqual(plain(expected));
}
