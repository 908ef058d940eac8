import { expect, onTestFinished, test } from 'vitest';
import { createSymbols } from '../../src/lib/symbols.ts';

test('words are numbered from 1, in the order in which they are added', () => {
  const symbols = createSymbols();
  expect(['crm', 'scaffolding', 'crm'].map(symbols.add)).toEqual([1, 2, 1]);
  expect(['scaffolding', 'crm', 'other'].map(symbols.get)).toEqual([2, 1, 0]);
  expect(symbols.size).toBe(2);
});

test('no map has more than a tenth of half a million words: a full map is copied in one piece', () => {
  const { set } = Map.prototype;
  let largest = 0;
  Map.prototype.set = function (...entry) {
    largest = Math.max(largest, this.size);
    return set.apply(this, entry);
  };
  onTestFinished(() => {
    Map.prototype.set = set;
  });
  const symbols = createSymbols();
  for (let n = 1; n <= 500_000; n++) symbols.add(`word${n}`);
  expect([symbols.get('word50000'), symbols.get('word50001'), symbols.size]).toEqual([
    50_000, 50_001, 500_000,
  ]);
  expect(largest).toBeLessThan(50_000);
});
