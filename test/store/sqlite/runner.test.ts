import type { Database } from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { toIso } from '../../../src/lib/clock.ts';
import { attachSignals } from '../../../src/model/lead-score.ts';
import type { NamedChange } from '../../../src/store/changes.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { createCommitter, createRunner, createStatements } from '../../../src/store/sqlite/runner.ts';
import { createWriteAheadLog } from '../../../src/store/sqlite/transaction.ts';
import { aLead, aNewLead } from '../../support/leads.ts';
import { aKey, aSignal, aTenant, T0 } from '../../support/store.ts';

let db: Database;
beforeEach(() => {
  db = openDatabase(':memory:');
  migrate(db);
  createRunner(db).createTenant(aTenant('ten_a'));
});
afterEach(() => void db.close());

const keys = () => db.prepare("SELECT id FROM api_keys WHERE id <> 'key_ten_a' ORDER BY id").pluck().all();

test('a change is part of the transaction of its caller', () => {
  const changes = createRunner(db);
  db.exec('BEGIN');
  expect(changes.createKey(aKey('ten_a', { id: 'key_1' }), 100)).toBe(true);
  expect(keys()).toEqual(['key_1']);
  db.exec('ROLLBACK');
  expect(keys()).toEqual([]);
});

test('commits a batch of named changes in order, and a failed one does not affect the others', () => {
  const commit = createCommitter(db);
  const { values, failed } = commit([
    ['createKey', [aKey('ten_a', { id: 'key_1' }), 100]],
    ['createKey', [aKey('ten_nobody', { id: 'key_2' }), 100]],
    ['createKey', [aKey('ten_a', { id: 'key_3' }), 100]],
    ['createKey', [aKey('ten_a', { id: 'key_4' }), 3]],
  ]);
  expect(values).toEqual([true, undefined, true, false]);
  expect(failed).toMatchObject([{ index: 1, error: { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' } }]);
  expect(keys()).toEqual(['key_1', 'key_3']);
});

test('a change that does not exist fails alone', () => {
  const { values, failed } = createCommitter(db)([
    ['createKey', [aKey('ten_a', { id: 'key_1' }), 100]],
    ['noSuchChange', []] as unknown as NamedChange,
  ]);
  expect(values).toEqual([true, undefined]);
  expect(failed).toMatchObject([{ index: 1, error: { name: 'TypeError' } }]);
  expect(keys()).toEqual(['key_1']);
});

test('edits of many signals of a lead look up its best other signal at most once', () => {
  const statements = createStatements(db, createWriteAheadLog(db));
  let reads = 0;
  const selectBest = (leadId: string) => {
    reads++;
    return statements.leads.selectBest(leadId);
  };
  const changes = createRunner(db, { ...statements, leads: { ...statements.leads, selectBest } });
  const signalOf = (i: number, icp_score: number, text: string) => {
    const wire = {
      signal_id: `sig_${i}`,
      icp_score,
      classification: 'hot',
      prospect: {},
      company: { domain: '' },
      platform: {},
    };
    const of = { id: `sig_${i}`, externalId: `x${i}`, score: icp_score, text };
    return aSignal('ten_a', { ...of, wire: JSON.stringify({ ...wire, timestamp: toIso(T0) }) });
  };
  const before = Array.from({ length: 20 }, (_, i) => signalOf(i, 80, `text ${i}`));
  changes.commitSignals(before);
  const lead = attachSignals(
    aLead('led_1'),
    before.map(({ wire }) => JSON.parse(wire)),
  );
  changes.commitLead(aNewLead('ten_a', lead, { attach: before.map(({ id }) => id) }));
  const edit = (scoreOf: (i: number) => number) =>
    changes.editSignals(
      before.slice(0, 10).map((_, i) => ({
        signal: signalOf(i, scoreOf(i), `text ${i} ${scoreOf(i)}`),
        now: T0,
        replacedLength: 9,
      })),
    );
  const score = () => statements.leads.getLead('ten_a', 'led_1')?.lead;
  edit((i) => 70 - i);
  expect(reads).toBe(1);
  expect(score()).toMatchObject({ icp_score: 80, signal_count: 20 });
  edit((i) => 90 + i);
  expect(reads).toBe(1); // one of them is the best now
  expect(score()).toMatchObject({ icp_score: 99, signal_count: 20 });
  changes.deleteSignal('ten_a', 'sig_9', T0);
  expect(score()).toMatchObject({ icp_score: 98, signal_count: 19, last_signal_at: toIso(T0) });
});

test('the erasure of a person with many signals stores few steps with the deletion of the lead', () => {
  const statements = createStatements(db, createWriteAheadLog(db));
  const kinds: string[] = [];
  const addStep = (...step: Parameters<typeof statements.erasure.addStep>) => {
    kinds.push(step[1]);
    statements.erasure.addStep(...step);
  };
  const changes = createRunner(db, { ...statements, erasure: { ...statements.erasure, addStep } });
  const texts = { prospect: {}, platform: {}, excerpt: 'Private.' };
  const explanation = JSON.stringify({ score: 80, factors: [], negatives: [] });
  const signals = Array.from({ length: 350 }, (_, i) =>
    aSignal('ten_a', { id: `sig_${i}`, wire: JSON.stringify(texts), explanation, text: 'Private.' }),
  );
  changes.commitSignals(signals);
  changes.commitLead(aNewLead('ten_a', aLead('led_1')));
  const ids = signals.map(({ id }) => id);
  const of = { tenantId: 'ten_a', leadId: 'led_1' };
  const erasure = {
    ...of,
    expectedVersion: 1,
    keys: [],
    authorships: 0,
    lastSignal: '',
    signals: ids,
    eventIds: [],
    texts: ids,
  };
  const nobody = { mentions: { texts: [], names: [] }, mentioning: { signals: [], leads: [], events: [] } };
  expect(changes.eraseLead({ ...erasure, ...nobody })).toBe(true);
  expect(kinds).toEqual(['list', 'list', 'list', 'list', 'answers']);
  // Each step refers to the row with the texts. Without a rowid, SQLite would read all of it to check that: 50 us for 3 MB.
  const withoutRowid = "SELECT wr FROM pragma_table_list WHERE name = 'erasures'";
  expect(db.prepare(withoutRowid).pluck().get()).toBe(0);
  for (let i = 0; !changes.continueErasure(of).isDone; i++) expect(i).toBeLessThan(100);
  expect(db.prepare("SELECT count(*) FROM signals WHERE text || wire LIKE '%Private%'").pluck().get()).toBe(
    0,
  );
  expect(db.prepare('SELECT count(*) FROM erasure_steps').pluck().get()).toBe(0);
});

test('signals that change together leave the search index before any of them enters it again', () => {
  const statements = createStatements(db, createWriteAheadLog(db));
  const calls: string[] = [];
  const signals = {
    ...statements.signals,
    leaveIndex(id: string) {
      calls.push(`-${id}`);
      statements.signals.leaveIndex(id);
    },
    enterIndex(id: string) {
      calls.push(`+${id}`);
      statements.signals.enterIndex(id);
    },
  };
  const changes = createRunner(db, { ...statements, signals });
  const wire = JSON.stringify({ prospect: {}, platform: {}, company: { domain: '' }, excerpt: '' });
  const explanation = JSON.stringify({ score: 80, factors: [], negatives: [] });
  const post = (id: string, text: string) =>
    aSignal('ten_a', { id, externalId: id, text, wire, explanation });
  const ids = ['sig_2', 'sig_1', 'sig_3'];
  changes.commitSignals(ids.map((id) => post(id, 'Before.')));
  const edited = [...ids, 'sig_2'].map((id, i) => ({ signal: post(id, `${i}`), now: T0, replacedLength: 7 }));
  changes.editSignals(edited);
  const order = ['-sig_2', '-sig_1', '-sig_3', '+sig_1', '+sig_2', '+sig_3'];
  expect(calls.splice(0)).toEqual(order);

  changes.commitLead(aNewLead('ten_a', aLead('led_1')));
  const of = { tenantId: 'ten_a', leadId: 'led_1' };
  const erasure = {
    ...of,
    expectedVersion: 1,
    keys: [],
    authorships: 0,
    lastSignal: '',
    signals: ids,
    eventIds: [],
    texts: [],
  };
  const nobody = { mentions: { texts: [], names: [] }, mentioning: { signals: [], leads: [], events: [] } };
  expect(changes.eraseLead({ ...erasure, ...nobody })).toBe(true);
  for (let i = 0; !changes.continueErasure(of).isDone; i++) expect(i).toBeLessThan(100);
  expect(calls).toEqual(order);
  db.exec("INSERT INTO signal_search (signal_search) VALUES ('integrity-check')");
});

test('a lead that gets many signals in one change is stored once', () => {
  const statements = createStatements(db, createWriteAheadLog(db));
  let updates = 0;
  const update = (row: Record<string, unknown>) => {
    updates++;
    statements.leads.update(row);
  };
  const changes = createRunner(db, { ...statements, leads: { ...statements.leads, update } });
  changes.commitLead(aNewLead('ten_a', aLead('led_1'), { keys: ['email:1'] }));
  const signals = Array.from({ length: 20 }, (_, i) => {
    const wire = { icp_score: 50 + i, classification: 'warm', timestamp: toIso(T0 + i), platform: {} };
    return aSignal('ten_a', { id: `sig_${i}`, personKeys: ['email:1'], wire: JSON.stringify(wire) });
  });
  const committed = changes.commitSignals(signals);
  expect(committed.map(({ wire }) => JSON.parse(wire).lead_id)).toEqual(signals.map(() => 'led_1'));
  expect(updates).toBe(1);
  const scored = { signal_count: 20, icp_score: 69, last_signal_at: toIso(T0 + 19) };
  expect(statements.leads.getLead('ten_a', 'led_1')).toMatchObject({ version: 2, lead: scored });
});

test('the moves of an erased lead are deleted a few at a time', () => {
  const changes = createRunner(db);
  changes.commitLead(aNewLead('ten_a', aLead('led_1')));
  db.exec(
    `WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
     INSERT INTO stage_moves SELECT lead_id, i, previous, current, reason, actor_id, actor_name, moved_at, stayed_ms FROM n, stage_moves`,
  );
  const count = () => Number(db.prepare('SELECT count(*) FROM stage_moves').pluck().get());
  const of = { tenantId: 'ten_a', leadId: 'led_1' };
  const nobody = { mentions: { texts: [], names: [] }, mentioning: { signals: [], leads: [], events: [] } };
  const erasure = {
    ...of,
    ...nobody,
    expectedVersion: 1,
    keys: [],
    authorships: 0,
    lastSignal: '',
    signals: [],
    eventIds: [],
    texts: [],
  };
  const left = [count()];
  expect(changes.eraseLead(erasure)).toBe(true);
  left.push(count());
  for (let isDone = false; !isDone; left.push(count())) {
    expect(left.length).toBeLessThan(10);
    ({ isDone } = changes.continueErasure(of));
  }
  expect(left[0]).toBe(1_200);
  expect(left.at(-1)).toBe(0);
  for (const [i, now] of left.slice(1).entries()) expect((left[i] ?? 0) - now).toBeLessThanOrEqual(500);
});
