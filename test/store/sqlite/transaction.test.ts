import type { Database } from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { commitBatch } from '../../../src/store/commit-batch.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { createTransactions, createWriteAheadLog } from '../../../src/store/sqlite/transaction.ts';

let db: Database;
let commits = 0;
beforeEach(() => {
  db = openDatabase(':memory:');
  db.exec('CREATE TABLE t (n INTEGER PRIMARY KEY) STRICT');
  commits = 0;
});
afterEach(() => void db.close());

const insert =
  (...numbers: number[]) =>
  () => {
    for (const n of numbers) db.prepare('INSERT INTO t VALUES (?)').run(n);
    return numbers[0];
  };
const stored = () => db.prepare('SELECT n FROM t ORDER BY n').pluck().all();

function commit(steps: (() => unknown)[]) {
  const log = createWriteAheadLog(db);
  const transactions = createTransactions(db, { ...log, committed: () => void commits++ });
  return commitBatch(steps, (step) => step(), transactions);
}

test('stores all other changes of a batch with failing ones, in one commit', () => {
  const steps = [insert(1), insert(2, 3, 1), insert(4), insert(5, 4), insert(6)];
  const { values, failed } = commit(steps);
  expect(values).toEqual([1, undefined, 4, undefined, 6]);
  expect(failed).toMatchObject([
    { index: 1, error: { code: 'SQLITE_CONSTRAINT_PRIMARYKEY' } },
    { index: 3, error: { code: 'SQLITE_CONSTRAINT_PRIMARYKEY' } },
  ]);
  expect([stored(), commits]).toEqual([[1, 4, 6], 1]);
});

test('a change that ends the transaction fails without losing others or leaving a part of itself', () => {
  const rollback = () => {
    insert(2)();
    db.exec('ROLLBACK');
    throw new Error('all is lost');
  };
  const { failed } = commit([insert(1), rollback, insert(3)]);
  expect(failed).toMatchObject([{ index: 1, error: { message: 'all is lost' } }]);
  expect(stored()).toEqual([1, 3]);
});
