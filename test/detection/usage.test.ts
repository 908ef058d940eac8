import { expect, test } from 'vitest';
import { createUsage } from '../../src/detection/usage.ts';
import { createManualClock } from '../support/manual-clock.ts';

test('what an owner used adds up, and counts half as much after each half-life', () => {
  const clock = createManualClock();
  const usage = createUsage(clock, 60_000);
  expect(usage.get('a')).toBe(0);
  usage.add('a', 8);
  clock.advance(60_000);
  expect(usage.get('a')).toBeCloseTo(4);
  usage.add('a', 4);
  clock.advance(120_000);
  expect(usage.get('a')).toBeCloseTo(2);
  expect(usage.get('b')).toBe(0);
});
