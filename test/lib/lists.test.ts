import { expect, test } from 'vitest';
import { addAll, largestOf, letGo, smallestOf } from '../../src/lib/lists.ts';

const million = Array.from({ length: 1_000_000 }, (_, i) => i);

test('appends a million items and finds their bounds', () => {
  const list = [7];
  addAll(list, million);
  expect(list).toHaveLength(1_000_001);
  expect(largestOf(million)).toBe(999_999);
  expect(smallestOf(million)).toBe(0);
});

test('returns the given bounds if all values lie within them', () => {
  expect(largestOf([3, 5], 10)).toBe(10);
  expect(smallestOf([3, 5], 1)).toBe(1);
  expect(largestOf([], 1)).toBe(1);
});

test('releases unshared memory immediately', () => {
  const bytes = new Uint8Array(10_000);
  const most = bytes.subarray(0, 9_000);
  letGo(most);
  expect([most.byteLength, bytes.byteLength]).toEqual([0, 0]);
});

test('does not release shared memory', () => {
  const [one, other] = [Buffer.from('one'), Buffer.from('other')];
  expect(one.buffer).toBe(other.buffer);
  letGo(one);
  expect([one.toString(), other.toString()]).toEqual(['one', 'other']);
});
