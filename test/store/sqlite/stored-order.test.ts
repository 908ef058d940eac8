import type { Database } from 'better-sqlite3';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { digestFace } from '../../../src/store/sqlite/face/scans.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { STORED_EVENTS_SQL } from '../../../src/store/sqlite/reads/events.ts';
import { storedSignalsSql } from '../../../src/store/sqlite/reads/signals.ts';
import { createRunner } from '../../../src/store/sqlite/runner.ts';
import { aRoutedEvent, aSignal, aTenant, T0 } from '../../support/store.ts';

function openWithTenants() {
  const db = openDatabase(':memory:');
  migrate(db);
  const changes = createRunner(db);
  for (const id of ['ten_a', 'ten_b']) changes.createTenant(aTenant(id));
  return { db, changes };
}

/** A tenant's signals in commit order, each with its number. */
function inOrder(db: Database, tenantId = 'ten_a') {
  return db
    .prepare<[string], { id: string; position: number; first: number | null }>(
      `SELECT s.id, p.position, p.first_position AS first
       FROM signal_positions p JOIN signals s ON s.seq = p.seq WHERE p.tenant_id = ? ORDER BY p.position`,
    )
    .all(tenantId);
}

const ids = (db: Database, tenantId?: string) => inOrder(db, tenantId).map(({ id }) => id);

test('signals and events are in the order of storing, regardless of their times', () => {
  const { db, changes } = openWithTenants();
  const events = [aRoutedEvent('ten_a', [], { id: 'evt_9', createdAt: T0 + 9 })];
  changes.commitSignals([aSignal('ten_a', { id: 'sig_9', timestamp: T0 + 9, events })]);
  const late = [aRoutedEvent('ten_a', [], { id: 'evt_1', createdAt: T0 + 1 })];
  changes.commitSignals([
    aSignal('ten_a', { id: 'sig_1', timestamp: T0 + 1, events: late }),
    aSignal('ten_a', { id: 'sig_0', timestamp: T0 }),
  ]);
  changes.commitSignals([aSignal('ten_b', { id: 'sig_b', timestamp: T0 })]);
  expect(ids(db)).toEqual(['sig_9', 'sig_1', 'sig_0']);
  expect(ids(db, 'ten_b')).toEqual(['sig_b']);
  const eventIds = db.prepare("SELECT event_id FROM event_positions WHERE tenant_id = 'ten_a'").pluck().all();
  expect(eventIds).toEqual(['evt_9', 'evt_1']);
});

test('reuses no number, even if the newest signals are removed', () => {
  const { db, changes } = openWithTenants();
  changes.commitSignals([aSignal('ten_a', { id: 'sig_1', timestamp: T0 + 5, externalId: 'x' })]);
  const [before] = inOrder(db);
  expect(changes.removeSignalsOf('ten_a', 'reddit')).toBe(1);
  expect(inOrder(db)).toEqual([]);
  changes.commitSignals([aSignal('ten_a', { id: 'sig_2', timestamp: T0 })]);
  expect(inOrder(db)[0]?.position).toBeGreaterThan(Number(before?.position));
});

test('after restoring a backup, new rows get numbers above all those assigned since it was made', () => {
  const { db, changes } = openWithTenants();
  changes.commitSignals([aSignal('ten_a', { id: 'sig_1', timestamp: T0 })]);
  db.exec('SAVEPOINT backup');
  for (let n = 0; n < 50; n++) changes.commitSignals([aSignal('ten_a', { timestamp: T0 + n })]);
  const reached = inOrder(db).at(-1)?.position;
  db.exec('ROLLBACK TO backup');
  changes.commitSignals([aSignal('ten_a', { id: 'sig_2', timestamp: T0 + 1_000 })]);
  expect(inOrder(db).at(-1)).toMatchObject({ id: 'sig_2' });
  expect(inOrder(db).at(-1)?.position).toBeGreaterThan(Number(reached));
});

test('moves a changed signal to the end, and keeps its first position', () => {
  const { db, changes } = openWithTenants();
  changes.commitSignals(['sig_1', 'sig_2', 'sig_3'].map((id) => aSignal('ten_a', { id })));
  const first = inOrder(db)[0]?.position;
  const move = db.prepare(
    'UPDATE signal_positions SET moved_at = ? WHERE seq = (SELECT seq FROM signals WHERE id = ?)',
  );
  move.run(T0, 'sig_1');
  expect(ids(db)).toEqual(['sig_2', 'sig_3', 'sig_1']);
  move.run(T0, 'sig_2');
  move.run(T0, 'sig_1');
  expect(ids(db)).toEqual(['sig_3', 'sig_2', 'sig_1']);
  expect(inOrder(db)[2]).toMatchObject({ id: 'sig_1', first });
});

test('a moved signal is in only one digest, whether it moves before or after', async () => {
  const { db, changes } = openWithTenants();
  const { findBest } = digestFace(db, systemClock, async (query) => query());
  const move = db.prepare(
    'UPDATE signal_positions SET moved_at = ? WHERE seq = (SELECT seq FROM signals WHERE id = ?)',
  );
  const found = async (after: number) => {
    const { position, wires } = await findBest('ten_a', { after, from: 0, limit: 10 });
    return { position, ids: wires.map((wire) => JSON.parse(wire).signal_id).sort() };
  };
  changes.commitSignals(['sig_1', 'sig_2'].map((id) => aSignal('ten_a', { id })));
  move.run(T0, 'sig_1');
  const first = await found(0);
  expect(first.ids).toEqual(['sig_1', 'sig_2']);
  changes.commitSignals([aSignal('ten_a', { id: 'sig_3' })]);
  for (const id of ['sig_1', 'sig_2', 'sig_3', 'sig_1']) move.run(T0, id);
  const second = await found(first.position);
  expect(second.ids).toEqual(['sig_3']);
  expect((await found(second.position)).ids).toEqual([]);
});

test('a digest is read in parts; signals that are moved or stored meanwhile are in exactly one digest', async () => {
  const { db, changes } = openWithTenants();
  const signals = Array.from({ length: 2_500 }, (_, n) =>
    aSignal('ten_a', { id: `sig_${n}`, timestamp: T0 + n, classification: n % 2 === 0 ? 'hot' : 'warm' }),
  );
  changes.commitSignals(signals);
  const move = db.prepare(
    'UPDATE signal_positions SET moved_at = ? WHERE seq = (SELECT seq FROM signals WHERE id = ?)',
  );
  let parts = 0;
  const { findBest } = digestFace(db, systemClock, async (query) => {
    const part = query();
    // After the newest thousand were read: one of these, and one that was not read yet.
    if (++parts === 2) {
      for (const id of ['sig_2400', 'sig_0']) move.run(T0, id);
      changes.commitSignals([aSignal('ten_a', { id: 'sig_late', timestamp: T0 + 9_999 })]);
    }
    return part;
  });
  const range = { after: 0, from: 0, limit: 2 };
  const { position, wires, ...counts } = await findBest('ten_a', range);
  expect(parts).toBeGreaterThan(4);
  expect(counts).toEqual({ hot: 1_250, warm: 1_250, oldest: T0 });
  expect(wires.map((wire) => JSON.parse(wire).signal_id)).toEqual(['sig_2499', 'sig_2498']);
  const next = await findBest('ten_a', { ...range, after: position });
  expect(next.wires.map((wire) => JSON.parse(wire).signal_id)).toEqual(['sig_late']);
  expect([next.hot + next.warm, next.oldest]).toEqual([1, T0 + 9_999]);
});

test('a digest looks at a bounded number of the newest signals, whether they match or not', async () => {
  const { db, changes } = openWithTenants();
  const { findBest } = digestFace(db, systemClock, async (query) => query());
  changes.commitSignals(['sig_1', 'sig_2'].map((id) => aSignal('ten_a', { id, classification: 'hot' })));
  const hotSince = async (from: number) => (await findBest('ten_a', { after: 0, from, limit: 10 })).hot;
  expect(await hotSince(0)).toBe(2);
  db.exec(`
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 19999)
    INSERT INTO signals (seq, id, tenant_id, profile_id, platform, signal_type, classification, score, timestamp, company_domain, wire,
                         explanation, text)
    SELECT (i << 21), 'old_' || i, tenant_id, profile_id, platform, signal_type, 'cold', 0, i, '', '{}', '{}', '' FROM n, signals
    WHERE id = 'sig_1';
    INSERT INTO signal_positions (seq, tenant_id, position)
    SELECT seq, tenant_id, ${T0 + 1000} * 1024 + timestamp FROM signals WHERE score = 0`);
  // The other hot one is the 20,001st from the end; those in between are too old.
  expect(await hotSince(100_000)).toBe(1);
});

test('a signal with a new row number keeps its position', () => {
  const { db, changes } = openWithTenants();
  changes.commitSignals(['sig_1', 'sig_2'].map((id) => aSignal('ten_a', { id })));
  db.exec("UPDATE signals SET score = 7, seq = (timestamp << 21) + (9 << 7) + 7 WHERE id = 'sig_1'");
  expect(ids(db)).toEqual(['sig_1', 'sig_2']);
});

test.each([
  [
    'signals',
    storedSignalsSql('page', false),
    'signal_positions_in_order (tenant_id=? AND position>? AND position<?)',
  ],
  [
    'signals with their explanation',
    storedSignalsSql('page', true),
    'signal_positions_in_order (tenant_id=? AND',
  ],
  ['signals by words', storedSignalsSql('rows', true), 'signal_positions_in_order (tenant_id=? AND'],
  ['events', STORED_EVENTS_SQL, 'PRIMARY KEY (tenant_id=? AND position>? AND position<?)'],
])('a page of %s is a scan in commit order, never a sort', (_, sql, walk) => {
  const { db } = openWithTenants();
  const names = [...new Set([...sql.matchAll(/:(\w+)/g)].map(([, name = '']) => name))];
  const values = Object.fromEntries(names.map((name) => [name, null]));
  const steps = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(values);
  const details = steps.map(({ detail }) => detail).join('; ');
  expect(details).toContain(walk);
  expect(details).not.toContain('TEMP B-TREE FOR ORDER BY');
});
