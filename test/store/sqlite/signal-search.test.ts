import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { SignalQuery } from '../../../src/model/signal.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { createSignalList } from '../../../src/store/sqlite/reads/signal-list.ts';
import { createRunner } from '../../../src/store/sqlite/runner.ts';
import { createSignalIndex } from '../../../src/store/sqlite/signal-index.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { aSignal, aTenant, openTestStore, T0 } from '../../support/store.ts';
import { ANY, rowsOf } from '../contract/signal-list.ts';
import { tempFolder } from './temp-folder.ts';

let db: Database;
beforeEach(() => {
  db = openDatabase(':memory:');
  migrate(db);
  createRunner(db).createTenant(aTenant('ten_a'));
  return () => db.close();
});

function add(...signals: Parameters<typeof aSignal>[1][]): void {
  createRunner(db).commitSignals(signals.map((signal) => aSignal('ten_a', signal)));
}

function find(query: Partial<SignalQuery>, sortMax?: number) {
  const { list } = createSignalList(db, sortMax === undefined ? {} : { sortMax });
  return list('ten_a', null, { ...ANY, ...query });
}

const named = (id: string, name: string) => ({
  id,
  wire: JSON.stringify({ signal_id: id, prospect: { name } }),
});

test('removing a person from a signal removes them from the index; the rest is still found', () => {
  add(named('sig_1', 'Jane Unusual'), named('sig_2', 'Joe Unusual'));
  const index = createSignalIndex(db);
  index.remove('sig_1');
  db.prepare('UPDATE signals SET wire = ? WHERE id = ?').run('{"signal_id":"sig_1"}', 'sig_1');
  index.add('sig_1');
  expect(rowsOf(find({ q: 'jane' }))).toEqual([]);
  expect(rowsOf(find({ q: 'unusual' }))).toHaveLength(1);
  expect(find({ q: 'sig_1' }).json.toString()).toBe('{"signal_id":"sig_1"}');
});

test('removed terms do not remain in the pages of the index', () => {
  add({ id: 'sig_1', text: 'zanzibarish' }, { id: 'sig_2', text: 'other' });
  const pages = () =>
    Buffer.concat(db.prepare('SELECT block FROM signal_search_data').pluck().all() as Buffer[]);
  expect(pages().includes('zanzibarish')).toBe(true);
  const index = createSignalIndex(db);
  index.remove('sig_1');
  db.prepare('DELETE FROM signals WHERE id = ?').run('sig_1');
  index.add('sig_1');
  expect(pages().includes('zanzibarish')).toBe(false);
  expect(find({ platforms: ['reddit'] }).json.toString()).toBe('{"signal_id":"sig_2"}');
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
});

test('the words of a long text are removed five hundred at a time, and its filters last', () => {
  const text = Array.from({ length: 2_500 }, (_, i) => `zanzibar${i}`).join(' ');
  const wire = JSON.stringify({ prospect: {}, company: { domain: '' }, platform: {} });
  add({ id: 'sig_1', text, wire, externalId: 'x' }, { id: 'sig_2', text: `${text} other` });
  const pages = () =>
    Buffer.concat(db.prepare('SELECT block FROM signal_search_data').pluck().all() as Buffer[]);
  const found = () =>
    Array.from({ length: 2_500 }, (_, i) => rowsOf(find({ q: `zanzibar${i}` })).length).filter(
      (count) => count > 1,
    ).length;
  const { leaveSearch, editSignals, restoreSearch } = createRunner(db);
  const leaving = { id: 'sig_1', tenantId: 'ten_a', text: 'short' };
  expect(leaveSearch({ ...leaving, text })).toBe(false); // it has that text already
  expect(leaveSearch({ ...leaving, tenantId: 'ten_b' })).toBe(false);
  expect(found()).toBe(2_500);
  for (const left of [2_000, 1_500, 1_000]) {
    expect(leaveSearch(leaving)).toBe(true);
    expect(found()).toBe(left);
    expect(restoreSearch()).toBe(false); // it may still be going on
  }
  expect(leaveSearch(leaving)).toBe(true);
  expect(restoreSearch()).toBe(false);
  expect(found()).toBe(500);
  expect(rowsOf(find({ platforms: ['reddit'] }))).toHaveLength(2);

  // Nobody continued.
  for (let i = 0; restoreSearch(); i++) expect(i).toBeLessThan(10);
  expect(found()).toBe(2_500);

  const signal = aSignal('ten_a', { id: 'sig_1', text: 'short', wire, externalId: 'x' });
  for (let i = 0; leaveSearch(leaving); i++) expect(i).toBeLessThan(6);
  expect(found()).toBe(0);
  editSignals([{ signal, now: T0, replacedLength: text.length }]);
  expect(rowsOf(find({ q: 'short' }))).toHaveLength(1);
  expect(rowsOf(find({ q: 'zanzibar7' }))).toHaveLength(1);
  createRunner(db).deleteSignal('ten_a', 'sig_2', T0);
  expect(pages().includes('zanzibar')).toBe(false);
  expect(db.prepare('SELECT count(*) FROM signal_search_leaving').pluck().get()).toBe(0);
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
});

test('treats all classes together as no filter, and does not use the full-text index', () => {
  add({ id: 'sig_1' }, { id: 'sig_2', classification: 'cold' });
  createSignalIndex(db).remove('sig_2');
  expect(rowsOf(find({ classifications: ['hot', 'warm', 'cold', 'hot'] }))).toHaveLength(2);
  expect(rowsOf(find({ classifications: ['hot', 'cold'] }))).toHaveLength(1);
});

test('lists the best first, page by page, even with more hits than are sorted', () => {
  const scores = Array.from({ length: 60 }, (_, i) => (i * 37) % 7);
  add(
    ...scores.map((score, i) => ({
      id: `sig_${i}`,
      timestamp: T0 + (i % 4),
      score,
      text: 'crm',
      wire: JSON.stringify({ score, at: i % 4 }),
    })),
  );
  for (const query of [{ q: 'crm' }, { from: T0 }, {}, { q: 'crm', minScore: 3 }, { minScore: 3 }]) {
    const seen: { score: number; at: number }[] = [];
    let after: SignalQuery['after'] = null;
    do {
      const page = find({ ...query, sort: '-icp_score', limit: 4, after }, 3);
      seen.push(...rowsOf(page));
      after = page.last;
    } while (after !== null);
    expect(seen).toHaveLength(scores.filter((score) => score >= (query.minScore ?? 0)).length);
    expect(seen).toEqual([...seen].sort((a, b) => b.score - a.score || b.at - a.at));
  }
});

test('finds signals stored before the index existed after the migration, in order', () => {
  const old = openBefore(6);
  const insert = old.prepare(
    `INSERT INTO signals VALUES (?, 'ten_a', 'icp_1', 'x', 'review', 'hot', 80, ?, '', NULL, NULL, ?, '{}', 'A crm.')`,
  );
  for (const id of ['sig_1', 'sig_2', 'sig_3']) insert.run(id, T0, JSON.stringify({ signal_id: id }));
  migrate(old);
  const { list } = createSignalList(old);
  const page = list('ten_a', null, { ...ANY, q: 'crm', signalTypes: ['review'], sort: 'timestamp' });
  expect(rowsOf(page)).toEqual(['sig_1', 'sig_2', 'sig_3'].map((id) => ({ signal_id: id })));
  expect(old.pragma('foreign_keys', { simple: true })).toBe(1);
  old.close();
});

/** A database of the schema before `version`, with a tenant and a profile. */
function openBefore(version: number): Database {
  const old = openDatabase(':memory:');
  const folder = join(import.meta.dirname, '../../../src/store/sqlite/migrations');
  for (const file of readdirSync(folder)
    .sort()
    .slice(0, version - 1))
    old.exec(readFileSync(join(folder, file), 'utf8'));
  old.pragma(`user_version = ${version - 1}`);
  old.pragma(`application_id = ${0x5367506f}`);
  old.exec(`INSERT INTO tenants VALUES ('ten_a', 'A', 'pro', NULL, 0);
    INSERT INTO icp_profiles (id, tenant_id, name, settings, active, created_at) VALUES ('icp_1', 'ten_a', 'A', '{}', 1, 0);`);
  return old;
}

test('rejects a signal that no longer fits into its millisecond instead of storing it out of order', () => {
  add({ id: 'sig_1' });
  const full = (BigInt(T0) << 21n) + (16_383n << 7n) + 80n;
  db.prepare('UPDATE signals SET seq = ?').run(full);
  expect(() => add({ id: 'sig_2' })).toThrow(/CHECK/);
});

test('of very many signals with one external ID, those next in order are listed', async () => {
  const file = join(tempFolder(), 'signalpost.db');
  const { store } = await openTestStore({ clock: createManualClock(), file });
  onTestFinished(store.close);
  await store.createTenant(aTenant('ten_a'));
  const direct = new Sqlite(file);
  direct.pragma('foreign_keys = OFF');
  direct.exec(`INSERT INTO signals (seq, id, tenant_id, profile_id, platform, signal_type, classification, score, timestamp,
      company_domain, external_id, wire, explanation, text)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 7000)
    SELECT ((1700000000000 + i) << 21) + i % 101, 'sig_' || i, 'ten_a', 'icp_ten_a', 'feed' || i, 'intent_post', 'hot', i % 101,
      1700000000000 + i, '', 'guid', json_object('n', i, 'external_id', 'guid'), '{}', '' FROM n`);
  direct.close();
  const numbers = async (sort: SignalQuery['sort'], after: SignalQuery['after'] = null) =>
    rowsOf(await store.listSignals('ten_a', { ...ANY, sort, after, externalId: 'guid', limit: 2 })).map(
      ({ n }) => n,
    );
  expect(await numbers('-timestamp')).toEqual([7_000, 6_999]);
  expect(await numbers('-timestamp', [1_700_000_003_500, 0])).toEqual([3_499, 3_498]);
  expect(await numbers('timestamp', [1_700_000_003_500, 127])).toEqual([3_501, 3_502]);
  expect(await numbers('-icp_score')).toEqual([6_968, 6_867]);
  expect(await numbers('-icp_score', [1_700_000_000_201, 100])).toEqual([100, 6_967]);
});
