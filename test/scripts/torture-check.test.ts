import { expect, test } from 'vitest';
import { slopePerMinute, totalQueue } from '../../scripts/torture/check.ts';

test('accepted deliveries that never arrived are lost, and those never requested are unexpected', () => {
  const queue = totalQueue({
    attempted: new Set(['a', 'b', 'c', 'd']),
    accepted: new Set(['a', 'b']),
    delivered: new Map([
      ['a', 3],
      ['c', 1],
      ['x', 1],
    ]),
  });
  expect(queue).toEqual({
    ...{ attempted: 4, accepted: 2, delivered: 3 },
    lost: ['b'],
    unexpected: ['x'],
    duplicated: 2,
    recovered: 1,
  });
});

test('a figure that grows by two per second grows by 120 per minute, despite noise', () => {
  const samples = Array.from({ length: 60 }, (_, s) => [s, 100 + 2 * s + (s % 2 === 0 ? 5 : -5)] as const);
  expect(slopePerMinute(samples)).toBeCloseTo(120, -1);
  expect(slopePerMinute([[0, 7]])).toBe(0);
});
