import type { Database } from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Changes } from '../../../src/store/changes.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { createRunner } from '../../../src/store/sqlite/runner.ts';
import { anEndpoint, aRoutedEvent, aSignal, aTenant, T0 } from '../../support/store.ts';

/** So many that scanning all of them for each one would take half a minute. */
const DELIVERIES = 6_000;
const MOST_MS = 6_000;

let db: Database;
let changes: Changes;
beforeEach(() => {
  db = openDatabase(':memory:');
  migrate(db);
  changes = createRunner(db);
  changes.createTenant(aTenant('ten_a'));
  changes.createEndpoint(anEndpoint('ten_a', { id: 'whk_a' }), null);
  const { event, ...routed } = aRoutedEvent('ten_a', ['whk_a'], { id: 'evt_1', deliveryIds: ['dlv_0'] });
  const events = [{ ...routed, event: { ...event, subjectId: 'sig_1' } }];
  changes.commitSignals([aSignal('ten_a', { id: 'sig_1', events })]);
  const columns = db
    .prepare<[], string>("SELECT name FROM pragma_table_info('deliveries') WHERE name <> 'id'")
    .pluck()
    .all()
    .join(', ');
  db.exec(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${DELIVERIES - 1})
     INSERT INTO deliveries (id, ${columns}) SELECT 'dlv_' || i, ${columns} FROM n, deliveries WHERE id = 'dlv_0'`,
  );
});
afterEach(() => void db.close());

const count = (sql: string) => db.prepare<[], number>(`SELECT count(*) FROM ${sql}`).pluck().get();

/** Repeats the step until nothing is left, and returns the total time. */
function timed(step: () => boolean): number {
  const began = performance.now();
  for (let steps = 0; !step(); steps++) if (steps === DELIVERIES) throw new Error('It does not end.');
  return performance.now() - began;
}

test('erases an event with thousands of deliveries in linear time', () => {
  expect(changes.deleteSignal('ten_a', 'sig_1', T0)).toBe(true);
  const took = timed(() => changes.continueErasure({ tenantId: 'ten_a', leadId: 'sig_1' }).isDone);
  expect(count("deliveries WHERE status = 'discarded' AND body_id IS NULL")).toBe(DELIVERIES);
  expect(count('delivery_bodies')).toBe(0);
  expect(took).toBeLessThan(MOST_MS);
});

test('thousands of dead letters of one event expire in linear time', () => {
  db.exec(`UPDATE deliveries SET status = 'dead', next_attempt_at = NULL, expires_at = ${T0}`);
  const took = timed(() => changes.expireDead({ now: T0 + 1, limit: 500 }) < 500);
  expect(count("deliveries WHERE status = 'expired' AND body_id IS NULL")).toBe(DELIVERIES);
  expect(count('delivery_bodies')).toBe(0);
  expect(took).toBeLessThan(MOST_MS);
});

test('removes thousands of old deliveries of one event, each with its own body, in linear time', () => {
  db.exec(`UPDATE deliveries SET status = 'discarded', next_attempt_at = NULL;
    INSERT INTO delivery_bodies (body) SELECT id FROM deliveries WHERE id <> 'dlv_0';
    WITH own (id, n) AS (SELECT id, row_number() OVER (ORDER BY id) FROM delivery_bodies),
      each (id, n) AS (SELECT id, row_number() OVER (ORDER BY id) FROM deliveries)
    UPDATE deliveries SET body_id = own.id FROM own, each WHERE each.id = deliveries.id AND own.n = each.n`);
  let after: (string | number)[] | null = null;
  const took = timed(() => {
    const chunk = { tenantId: 'ten_a', before: T0 + 1, after, limit: 500 };
    after = changes.pruneDeliveries(chunk).next;
    return after === null;
  });
  expect(count('deliveries')).toBe(0);
  expect(count('delivery_bodies')).toBe(0);
  expect(took).toBeLessThan(MOST_MS);
});
