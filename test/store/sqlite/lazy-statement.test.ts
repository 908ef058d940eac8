import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/database.ts';

test('a connection prepares a statement once for all callers, and once per row mode', () => {
  const db = openDatabase(':memory:');
  const one = db.prepare('SELECT 1 AS n');
  expect(db.prepare('SELECT 1 AS n')).toBe(one);
  expect([one.get(), one.pluck().get(), one.raw().get(), one.all()]).toEqual([{ n: 1 }, 1, [1], [{ n: 1 }]]);
  expect(one.pluck()).toBe(one.pluck());
  expect(one.get()).toEqual({ n: 1 });
  db.close();
});

test('invalid SQL fails every time it is run', () => {
  const db = openDatabase(':memory:');
  const wrong = db.prepare('SELECT absent');
  expect(() => wrong.get()).toThrow('no such column');
  db.exec('CREATE TABLE late (present)');
  const late = db.prepare('SELECT present FROM late');
  expect(late.all()).toEqual([]);
  expect(() => wrong.get()).toThrow('no such column');
  db.close();
});
