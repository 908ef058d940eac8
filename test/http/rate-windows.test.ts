import { expect, test } from 'vitest';
import { createRateWindows, type RateWindows } from '../../src/http/limits.ts';
import { createManualClock } from '../support/manual-clock.ts';

/** What counts for `key` once it has asked one more time. */
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

test('under a million addresses memory stays bounded, and who was counted stays counted', () => {
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

test('an address that comes while the windows are full is counted, too high rather than too low', () => {
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

test('a shared window outlives the turn of the generations as one of its own does', () => {
  const clock = createManualClock();
  const windows = createRateWindows(clock, 1);
  clock.advance(30_000);
  ask(windows, 'first');
  for (let n = 1; n <= 5; n++) expect(ask(windows, 'second')).toBe(n);
  clock.advance(31_000); // another generation, in which there is room
  expect(ask(windows, 'second')).toBe(6);
  clock.advance(29_000);
  expect(ask(windows, 'second')).toBe(1);
});

test('windows that ended are let go of', () => {
  const clock = createManualClock();
  const windows = createRateWindows(clock);
  for (let n = 0; n < 1_000; n++) ask(windows, address(n));
  clock.advance(60_000);
  ask(windows, 'a');
  clock.advance(60_000);
  ask(windows, 'b');
  expect(windows.size).toBe(2);
});

test('more is counted whole, or not at all', () => {
  const windows = createRateWindows(createManualClock());
  ask(windows, 'a');
  expect(windows.add('a', 9, 10)).toBe(true);
  expect(windows.add('a', 1, 10)).toBe(false);
  expect(windows.look('a').count).toBe(10);
});
