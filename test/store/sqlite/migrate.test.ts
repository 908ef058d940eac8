import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { toIso } from '../../../src/lib/clock.ts';
import { createKeyProof } from '../../../src/lib/secret-box.ts';
import { type Lead, leadSchema } from '../../../src/model/lead.ts';
import { storedFormatBytes } from '../../../src/model/payload-shape.ts';
import { StoreOpenError } from '../../../src/store/errors.ts';
import { migrateSqlite, openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { aLead } from '../../support/leads.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { T0 } from '../../support/store.ts';
import { tempFolder } from './temp-folder.ts';

const PROOF = createKeyProof(Buffer.alloc(32), 'SECRETS_KEY');
const FOLDER = join(import.meta.dirname, '../../../src/store/sqlite/migrations');
const MIGRATIONS = readdirSync(FOLDER).sort();
const LATEST = MIGRATIONS.length;

test('migrates an empty file to the latest schema, once', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  expect(await migrateSqlite(file, PROOF)).toEqual({ from: 0, to: LATEST });
  expect(await migrateSqlite(file, PROOF)).toEqual({ from: LATEST, to: LATEST });
});

test('every table is strict about its types', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  await migrateSqlite(file, PROOF);
  const db = new Sqlite(file);
  const lax = db.prepare(
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%'",
  );
  expect(lax.all()).toEqual([]);
  db.close();
});

test('rejects a newer schema and leaves it unchanged', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  await migrateSqlite(file, PROOF);
  const db = new Sqlite(file);
  db.pragma(`user_version = ${LATEST + 1}`);
  await expect(migrateSqlite(file, PROOF)).rejects.toBeInstanceOf(StoreOpenError);
  expect(db.pragma('user_version', { simple: true })).toBe(LATEST + 1);
  db.close();
});

test('keeps bodies that were stored with each delivery', async () => {
  const { file, before } = atVersion(13);
  before.exec(`
    INSERT INTO tenants VALUES ('ten_a', 'A', 'pro', NULL, 1);
    INSERT INTO webhook_endpoints (id, tenant_id, settings, secret_box, secret_last4, status, consecutive_failures, version, created_at)
      VALUES ('whk_a', 'ten_a', '{"url":"https://a.example/","auto_resume":true}', x'00', 'abcd', 'active', 0, 1, 1);
    INSERT INTO events VALUES ('evt_a', 'ten_a', 'signal.detected', 'sig_a', 1, '{}');
    INSERT INTO deliveries (id, tenant_id, endpoint_id, event_id, event_type, status, next_attempt_at, created_at)
      VALUES ('dlv_1', 'ten_a', 'whk_a', 'evt_a', 'signal.detected', 'pending', 1, 1),
             ('dlv_2', 'ten_a', 'whk_a', 'evt_a', 'signal.detected', 'expired', NULL, 1),
             ('dlv_3', 'ten_a', 'whk_a', 'evt_a', 'signal.detected', 'pending', 1, 1);
    INSERT INTO delivery_bodies VALUES ('dlv_3', '{"n":3}'), ('dlv_1', '{"n":1}');
  `);
  before.close();
  await migrateSqlite(file, PROOF);

  const store = await openSqliteStore({ file, clock: createManualClock(), keyProof: PROOF });
  const bodies = ['dlv_1', 'dlv_2', 'dlv_3'].map(async (id) => (await store.getDelivery('ten_a', id))?.body);
  expect(await Promise.all(bodies)).toEqual(['{"n":1}', null, '{"n":3}']);
  await store.close();
});

test('still lists the endpoints to which an event was not sent', async () => {
  const { file, before } = atVersion(29);
  before.exec(`
    INSERT INTO tenants (id, name, plan, created_at) VALUES ('ten_a', 'A', 'pro', 1);
    INSERT INTO events (id, tenant_id, type, subject_id, created_at, data)
      VALUES ('evt_a', 'ten_a', 'signal.detected', 'sig_a', 1, '{}');
    INSERT INTO event_skips
      VALUES ('evt_a', 'whk_a', 'min_score'), ('evt_a', 'whk_b', 'event_type'), ('evt_a', 'whk_c', 'min_score');
  `);
  before.close();
  await migrateSqlite(file, PROOF);

  const store = await openSqliteStore({ file, clock: createManualClock(), keyProof: PROOF });
  const [event] = await store.listEventsAbout('ten_a', 'sig_a', 10);
  expect(event?.skips).toEqual([
    { endpointId: 'whk_a', reason: 'min_score' },
    { endpointId: 'whk_b', reason: 'event_type' },
    { endpointId: 'whk_c', reason: 'min_score' },
  ]);
  await store.close();
});

test('rows from before the commit order was introduced come first in it, by time', async () => {
  const { file, before } = atVersion(31);
  before.exec(`
    INSERT INTO tenants (id, name, plan, created_at) VALUES ('ten_a', 'A', 'pro', 1), ('ten_b', 'B', 'pro', 1);
    INSERT INTO icp_profiles (id, tenant_id, name, settings, active, created_at) VALUES ('icp_a', 'ten_a', 'A', '{}', 1, 1);
    INSERT INTO tenant_settings (tenant_id, digest_since) VALUES ('ten_a', 3), ('ten_b', NULL);
    INSERT INTO events (id, tenant_id, type, subject_id, created_at, data)
      VALUES ('evt_2', 'ten_a', 'signal.detected', 's', 2, '{}'), ('evt_1', 'ten_a', 'signal.detected', 's', 1, '{}');
    INSERT INTO signals
      SELECT (value << 21) + 50, 'sig_' || value, 'ten_a', 'icp_a', 'x', 'review', 'warm', 50, value, '', NULL, NULL, '{}', '{}', ''
      FROM json_each('[4, 1, 3]');
  `);
  before.close();
  await migrateSqlite(file, PROOF);
  const db = new Sqlite(file);
  const rows = db.prepare(
    'SELECT id, position FROM signals JOIN signal_positions USING (seq) ORDER BY position',
  );
  expect(rows.all()).toEqual([
    { id: 'sig_1', position: 1 },
    { id: 'sig_3', position: 2 },
    { id: 'sig_4', position: 3 },
  ]);
  expect(db.prepare('SELECT event_id FROM event_positions ORDER BY position').pluck().all()).toEqual([
    'evt_1',
    'evt_2',
  ]);
  expect(db.prepare('SELECT position FROM stored_rows ORDER BY tenant_id').pluck().all()).toEqual([3, 0]);
  expect(db.prepare('SELECT digest_position FROM tenant_settings ORDER BY 1').pluck().all()).toEqual([0, 1]);
  db.close();
});

test('migrations run on any connection, without custom functions, which could change later', () => {
  const db = new Sqlite(':memory:');
  for (const file of MIGRATIONS) {
    expect(() => db.exec(readFileSync(join(FOLDER, file), 'utf8')), file).not.toThrow();
  }
  db.close();
});

/** A file as left by the release with that schema, still open. */
function atVersion(version: number) {
  const file = join(tempFolder(), 'signalpost.db');
  const before = new Sqlite(file);
  before.pragma('foreign_keys = OFF');
  // Each statement would be a separate commit, which takes a second on some disks.
  before.pragma('synchronous = OFF');
  for (const name of MIGRATIONS.slice(0, version)) before.exec(readFileSync(join(FOLDER, name), 'utf8'));
  before.pragma(`user_version = ${version}`);
  before.pragma('application_id = 0x5367506f');
  return { file, before };
}

test('only a subscription to lead.created gets that event from then on', async () => {
  const { file, before } = atVersion(52);
  const settings = (label: string) => JSON.stringify({ label, event_types: ['lead.enriched'], min_score: 0 });
  before.exec(`
    INSERT INTO tenants (id, name, plan, created_at) VALUES ('ten_a', 'A', 'pro', 1);
    INSERT INTO webhook_endpoints
      (id, tenant_id, mode, settings, secret_box, secret_last4, status, consecutive_failures, version, created_at)
      VALUES ('whk_1', 'ten_a', 'mcp', '${settings('lead.created')}', x'00', 'abcd', 'active', 0, 1, 1),
             ('whk_2', 'ten_a', 'push', '${settings('lead.created')}', x'00', 'abcd', 'active', 0, 1, 1);
  `);
  before.close();
  await migrateSqlite(file, PROOF);
  const db = new Sqlite(file);
  const types = db.prepare("SELECT settings ->> '$.event_types' FROM webhook_endpoints ORDER BY id").pluck();
  expect(types.all()).toEqual(['["lead.created"]', '["lead.enriched"]']);
  db.close();
});

test('what plans limit in settings is counted in those stored before', async () => {
  const { file, before } = atVersion(59);
  const profile = JSON.stringify({ phrases: ['a', 'b'], excludedPhrases: ['c'], competitors: [] });
  const format = { flatten: false, custom: { team: 'Köln' } };
  const add = before.prepare(
    `INSERT INTO webhook_endpoints (id, tenant_id, settings, secret_box, secret_last4, status, consecutive_failures, version, created_at)
     VALUES (?, 'ten_a', ?, x'00', 'abcd', 'active', 0, 1, 1)`,
  );
  before.exec(`
    INSERT INTO tenants (id, name, plan, created_at) VALUES ('ten_a', 'A', 'pro', 1);
    INSERT INTO icp_profiles (id, tenant_id, name, settings, active, created_at) VALUES ('icp_a', 'ten_a', 'A', '${profile}', 1, 1);
  `);
  add.run('whk_1', JSON.stringify({ label: '', payload_format: format }));
  add.run('whk_2', JSON.stringify({ label: '', payload_format: null }));
  before.close();
  await migrateSqlite(file, PROOF);
  const db = new Sqlite(file);
  expect(db.prepare('SELECT phrase_count FROM icp_profiles').pluck().all()).toEqual([3]);
  expect(db.prepare('SELECT format_bytes FROM webhook_endpoints ORDER BY id').pluck().all()).toEqual([
    storedFormatBytes(format),
    0,
  ]);
  db.close();
});

test('a closed deal closes its open lead, and the stage of a closed lead determines its deal', async () => {
  const { file, before } = atVersion(44);
  const wire = (id: string, stage: string, status: string | null) =>
    JSON.stringify({
      ...aLead(id, { stage: stage as Lead['stage'], updated_at: toIso(T0 + 5_000) }),
      ...{ owner: undefined, notes: undefined, next_step: undefined },
      deal: status === null ? null : { amount_minor: 1, currency: 'USD', status, close_date: null },
    });
  const insert = `INSERT INTO leads
    (id, tenant_id, stage, score, classification, company_domain, source, deal_currency, created_at, version, wire)
    VALUES (?, 'ten_a', ?, -1, '', '', '', ?, 1, 1, ?)`;
  before.exec("INSERT INTO tenants (id, name, plan, created_at) VALUES ('ten_a', 'A', 'pro', 1)");
  for (const [id, stage, status] of [
    ['led_1', 'contacted', 'won'],
    ['led_2', 'lost', 'open'],
    ['led_3', 'new', 'open'],
    ['led_4', 'won', null],
  ] as const) {
    before.prepare(insert).run(id, stage, status === null ? null : 'USD', wire(id, stage, status));
    before.exec(`INSERT INTO stage_moves VALUES ('${id}', 1, NULL, 'new', '', 'key_1', 'test', ${T0}, NULL)`);
  }
  before.close();
  await migrateSqlite(file, PROOF);

  const store = await openSqliteStore({ file, clock: createManualClock(), keyProof: PROOF });
  const leads = ['led_1', 'led_2', 'led_3', 'led_4'].map(async (id) =>
    leadSchema.parse((await store.getLead('ten_a', id))?.lead),
  );
  expect((await Promise.all(leads)).map(({ stage, deal }) => [stage, deal?.status])).toEqual([
    ['won', 'won'],
    ['lost', 'lost'],
    ['new', 'open'],
    ['won', undefined],
  ]);
  const { rows } = await store.pageStageMoves('led_1', { after: null, limit: 1 });
  expect(rows).toMatchObject([{ position: 2, previous: 'contacted', current: 'won', stayedMs: 5_000 }]);
  const board = await store.readBoard('ten_a', 0);
  expect(board.find(({ stage }) => stage === 'won')?.count).toBe(2);
  await store.close();
});

test('deliveries that wait in lists are still stored after the lists were renamed', async () => {
  const { file, before } = atVersion(64);
  before.exec(`
    INSERT INTO tenants (id, name, plan, created_at) VALUES ('ten_a', 'A', 'enterprise', 1);
    INSERT INTO webhook_endpoints (id, tenant_id, settings, secret_box, secret_last4, status, consecutive_failures, version, created_at)
      VALUES ('whk_a', 'ten_a', '{"url":"https://a.example/"}', x'00', 'abcd', 'active', 0, 1, 1);
    INSERT INTO events (id, tenant_id, type, subject_id, created_at, data)
      VALUES ('evt_a', 'ten_a', 'signal.detected', 'sig_a', 1, '{}');
    INSERT INTO delivery_bodies (id, body) VALUES (7, '{"n":1}');
    INSERT INTO event_rests VALUES ('evt_a', 0, 'ten_a',
      '{"urgent":false,"bundles":[{"status":"pending","deliveries":"[\\"dlv_1\\",\\"whk_a\\"]","bodyId":7}]}');
  `);
  before.close();
  const store = await openSqliteStore({ file, clock: createManualClock(T0) });
  const remainder = { tenantId: 'ten_a', eventId: 'evt_a', part: 0 };
  expect(await store.listRemainders(9)).toEqual([remainder]);
  expect(await store.storeRemainder(remainder)).toEqual({ due: ['whk_a'], rejected: [] });
  await store.close();
});

test('signals of leads, erasures and jobs in progress continue with the tables of smaller changes', async () => {
  const { file, before } = atVersion(65);
  before.exec(`
    INSERT INTO tenants (id, name, plan, created_at) VALUES ('ten_a', 'A', 'pro', 1);
    INSERT INTO icp_profiles (id, tenant_id, name, settings, active, created_at) VALUES ('icp_a', 'ten_a', 'A', '{}', 1, 1);
    INSERT INTO signals
      SELECT (value << 21) + value, 'sig_' || value, 'ten_a', 'icp_a', 'x', 'review', iif(value > 5, 'hot', 'cold'), value, value, '', NULL,
        NULL, json_object('signal_id', 'sig_' || value), '{}', ''
      FROM json_each('[8, 1, 7]');
    INSERT INTO jobs (id, tenant_id, kind, status, total, processed, created_at, results, items)
      VALUES ('job_1', 'ten_a', 'signals.batch', 'running', 2, 1, 1, '[{"index":0,"status":"created","signal_ids":[],"errors":[]}]', '[1,2]');
    INSERT INTO erasures VALUES ('led_0', 'ten_a', '[]', '{"texts":[],"names":[]}');
    INSERT INTO erasure_steps (lead_id, kind, subject) VALUES ('led_0', 'attached', 'sig_1');
  `);
  before.exec(`
    INSERT INTO leads (id, tenant_id, stage, score, classification, company_domain, source, created_at, version, wire)
      VALUES ('led_1', 'ten_a', 'new', 8, 'hot', '', '', 1, 1, '{}');
    INSERT INTO lead_signals SELECT 'led_1', id FROM signals;
  `);
  before.close();
  const store = await openSqliteStore({ file, clock: createManualClock(T0) });
  const listed = (await store.listSignalsOfLead('led_1', 9)).map((text) => JSON.parse(text).signal_id);
  expect(listed).toEqual(['sig_8', 'sig_7', 'sig_1']);
  const { rows } = await store.pageSignalsOfLead('led_1', { limit: 2, after: null });
  expect(rows.map(({ id }) => id)).toEqual(['sig_1', 'sig_7']);
  expect(await store.continueErasure({ tenantId: 'ten_a', leadId: 'led_0' })).toMatchObject({ isDone: true });
  const result = { index: 1, status: 'rejected' as const, signal_ids: [], errors: [] };
  const step = { id: 'job_1', processed: 1, results: [result], end: null };
  expect(await store.advanceJob(step)).toBe(true);
  const results = [await store.readJobResults('job_1', 0), await store.readJobResults('job_1', 1)];
  expect(results.map((text) => JSON.parse(text ?? ''))).toEqual([
    [{ ...result, index: 0, status: 'created' }],
    [result],
  ]);
  await store.close();
});

test('jobs in progress continue with items that are stored by step', async () => {
  const { file, before } = atVersion(72);
  const items = Array.from({ length: 60 }, (_, i) => ({ post: { text: `Umlaut ü, number ${i}` } }));
  const insert = before.prepare(
    `INSERT INTO jobs (id, tenant_id, kind, status, total, processed, created_at, finished_at, results, items)
     VALUES (?, 'ten_a', 'signals.batch', ?, 60, ?, 1, ?, '[]', ?)`,
  );
  before.exec("INSERT INTO tenants (id, name, plan, created_at) VALUES ('ten_a', 'A', 'pro', 1)");
  insert.run('job_1', 'running', 25, null, JSON.stringify(items));
  insert.run('job_2', 'done', 60, 2, null);
  before.close();
  const store = await openSqliteStore({ file, clock: createManualClock(T0) });
  const read = await Promise.all([0, 25, 50, 75].map((from) => store.readJobItems('job_1', from)));
  const parsed = read.map((stored) =>
    stored
      ?.toString('utf8')
      .split('\n')
      .map((line) => JSON.parse(line)),
  );
  expect(parsed).toEqual([items.slice(0, 25), items.slice(25, 50), items.slice(50), undefined]);
  expect(await store.readJobItems('job_2', 0)).toBeNull();
  await store.close();
});
