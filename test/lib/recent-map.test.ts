import { expect, test } from 'vitest';
import { createRecentMap } from '../../src/lib/recent-map.ts';

test('what was used longest ago makes room, and all else stays', () => {
  const map = createRecentMap<string, number>(3);
  for (const [key, value] of Object.entries({ a: 1, b: 2, c: 3 })) map.set(key, value);
  map.get('a');
  map.set('c', 4);
  map.set('d', 5);
  expect(['a', 'b', 'c', 'd'].map(map.get)).toEqual([1, undefined, 4, 5]);
  expect(map.size).toBe(3);
});

test('what is taken out makes room for another', () => {
  const map = createRecentMap<string, number>(1);
  map.set('a', 1);
  map.delete('a');
  map.set('b', 2);
  expect([map.get('a'), map.get('b'), map.size]).toEqual([undefined, 2, 1]);
});
