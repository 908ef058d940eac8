import type { Database } from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { NamedChange } from '../../../src/store/changes.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { createCommitter, createRunner } from '../../../src/store/sqlite/runner.ts';
import { aKey, aTenant } from '../../support/store.ts';

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
