import { expect, test } from 'vitest';
import { createRateWindows, type RateWindows } from '../../src/http/limits.ts';
import { createManualClock } from '../support/manual-clock.ts';

/** Returns the count of `key` after one more request. */
function ask(windows: RateWindows, key: string): number {
  let current = 0;
  windows.incr(
    key,
    (_error, result) => {
      current = result?.current ?? 0;
    },
    60_000,
    60,
  );
  return current;
}

const address = (n: number) => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;

test('a million addresses keep memory bounded and do not evict a counted client', () => {
  const clock = createManualClock();
  const windows = createRateWindows(clock);
  for (let n = 0; n < 60; n++) ask(windows, 'attacker');
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < 1_000_000; n++) ask(windows, address(n));
  const heapMib = (process.memoryUsage().heapUsed - before) / 1024 / 1024;
  expect(windows.size).toBeLessThanOrEqual(50_000);
  expect(heapMib).toBeLessThan(48);
  expect(ask(windows, 'attacker')).toBe(61);

  clock.advance(59_999);
  for (let n = 0; n < 100_000; n++) ask(windows, address(n + 1_000_000));
  expect(ask(windows, 'attacker')).toBe(62);
  clock.advance(1);
  expect(ask(windows, 'attacker')).toBe(1);
});

test('an address that arrives when all windows are taken is overcounted rather than undercounted', () => {
  const clock = createManualClock();
  const windows = createRateWindows(clock, 100);
  for (let n = 0; n < 200_000; n++) ask(windows, address(n));
  expect(windows.size).toBe(100);
  let counted = 0;
  for (let n = 1; n <= 70; n++) {
    counted = ask(windows, 'late');
    expect(counted).toBeGreaterThanOrEqual(n);
  }
  expect(ask(windows, 'late')).toBe(counted + 1);
});

test('a shared window survives a change of generation like an individual one', () => {
  const clock = createManualClock();
  const windows = createRateWindows(clock, 1);
  clock.advance(30_000);
  ask(windows, 'first');
  for (let n = 1; n <= 5; n++) expect(ask(windows, 'second')).toBe(n);
  clock.advance(31_000); // a new generation with free windows
  expect(ask(windows, 'second')).toBe(6);
  clock.advance(29_000);
  expect(ask(windows, 'second')).toBe(1);
});

test('expired windows are released', () => {
  const clock = createManualClock();
  const windows = createRateWindows(clock);
  for (let n = 0; n < 1_000; n++) ask(windows, address(n));
  clock.advance(60_000);
  ask(windows, 'a');
  clock.advance(60_000);
  ask(windows, 'b');
  expect(windows.size).toBe(2);
});

test('a larger amount is counted in full or not at all', () => {
  const windows = createRateWindows(createManualClock());
  ask(windows, 'a');
  expect(windows.add('a', 9, 10)).toBe(true);
  expect(windows.add('a', 1, 10)).toBe(false);
  expect(windows.look('a').count).toBe(10);
});
