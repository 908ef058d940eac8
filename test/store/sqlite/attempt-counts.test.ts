import type { Database } from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { commitBatch } from '../../../src/store/commit-batch.ts';
import { createAttemptCounts } from '../../../src/store/sqlite/attempt-counts.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { deliveriesSql } from '../../../src/store/sqlite/sql/deliveries.ts';
import { createTransactions, createWriteAheadLog } from '../../../src/store/sqlite/transaction.ts';

let db: Database;
let upserts = 0;
let commit: (steps: (() => unknown)[]) => ReturnType<typeof commitBatch>;
let count: (endpointId: string, hour?: number) => () => void;
beforeEach(() => {
  db = openDatabase(':memory:');
  migrate(db);
  upserts = 0;
  const { countAttempts } = deliveriesSql(db);
  const counts = createAttemptCounts((...row) => {
    upserts++;
    countAttempts(...row);
  });
  const transactions = createTransactions(db, createWriteAheadLog(db), counts);
  commit = (steps) => commitBatch(steps, (step) => step(), transactions);
  count =
    (endpointId, hour = 1) =>
    () =>
      counts.add(endpointId, hour, 9, 1);
});
afterEach(() => void db.close());

const stored = () =>
  db.prepare('SELECT endpoint_id, hour, count FROM endpoint_hours ORDER BY 1, 2').raw().all();
const fail = (before: () => void) => () => {
  before();
  throw new Error('no');
};

test('adds the attempts of a batch once per endpoint, hour and speed', () => {
  commit([count('whk_a'), count('whk_b'), count('whk_a'), count('whk_a', 2), count('whk_a')]);
  expect(stored()).toEqual([
    ['whk_a', 1, 3],
    ['whk_a', 2, 1],
    ['whk_b', 1, 1],
  ]);
  expect(upserts).toBe(3);
  commit([count('whk_b')]);
  expect(stored()).toContainEqual(['whk_b', 1, 2]);
});

test('counts each attempt once if another change of its batch fails, and none of the failed ones', () => {
  const { failed } = commit([count('whk_a'), fail(count('whk_b')), count('whk_a')]);
  expect(failed).toHaveLength(1);
  expect(stored()).toEqual([['whk_a', 1, 2]]);
  commit([fail(count('whk_a'))]);
  commit([count('whk_b')]);
  expect(stored()).toEqual([
    ['whk_a', 1, 2],
    ['whk_b', 1, 1],
  ]);
});

test('counts nothing of a transaction that is lost', () => {
  const { failed } = commit([
    count('whk_a'),
    fail(() => {
      count('whk_b')();
      db.exec('ROLLBACK');
    }),
    count('whk_c'),
  ]);
  expect(failed).toHaveLength(1);
  expect(stored()).toEqual([
    ['whk_a', 1, 1],
    ['whk_c', 1, 1],
  ]);
});
