import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { withHiddenParameters } from '../../../src/store/sqlite/parameters.ts';

test('every parameter stands under a plus, and nothing else changes', () => {
  const cases = [
    ['SELECT a FROM t WHERE b = ? LIMIT ?', 'SELECT a FROM t WHERE b = +? LIMIT +?'],
    ['VALUES (?1, ?12, :name, @at, $sum_2)', 'VALUES (+?1, +?12, +:name, +@at, +$sum_2)'],
    [`SELECT '?', ':a', 'it''s ?' FROM t WHERE b = ?`, `SELECT '?', ':a', 'it''s ?' FROM t WHERE b = +?`],
    ['SELECT "a?b" FROM t -- why :x?\nWHERE b = :b', 'SELECT "a?b" FROM t -- why :x?\nWHERE b = +:b'],
    ['SELECT 1 /* ? and\n:a */ + ?', 'SELECT 1 /* ? and\n:a */ + +?'],
  ];
  for (const [sql = '', hidden] of cases) expect(withHiddenParameters(sql)).toBe(hidden);
});

test('a database gives values of every kind back as they were', () => {
  const db = openDatabase(':memory:');
  try {
    for (const value of ['01', 'text', '', 7, 1.5, -3, null, Buffer.from([0, 255])]) {
      expect(db.prepare('SELECT ?').pluck().get(value)).toEqual(value);
    }
    db.exec('CREATE TABLE t (a TEXT, b INTEGER) STRICT');
    db.prepare('INSERT INTO t VALUES (:a, :b)').run({ a: '01', b: 2 });
    expect(db.prepare('SELECT b FROM t WHERE a = ? ORDER BY b LIMIT ?').pluck().all('01', 5)).toEqual([2]);
  } finally {
    db.close();
  }
});
