import { expect, test } from 'vitest';
import { addAll, largestOf, smallestOf } from '../../src/lib/lists.ts';

const million = Array.from({ length: 1_000_000 }, (_, i) => i);

test('a million items are appended, and their bounds found', () => {
  const list = [7];
  addAll(list, million);
  expect(list).toHaveLength(1_000_001);
  expect(largestOf(million)).toBe(999_999);
  expect(smallestOf(million)).toBe(0);
});

test('given bounds are returned if all values lie within them', () => {
  expect(largestOf([3, 5], 10)).toBe(10);
  expect(smallestOf([3, 5], 1)).toBe(1);
  expect(largestOf([], 1)).toBe(1);
});
