import { expect, test } from 'vitest';
import type { Clock } from '../../src/lib/clock.ts';
import { createIds, idFloor } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';

function idsAt(times: number[]) {
  let next = 0;
  const clock: Clock = {
    now: () => times[next++] ?? 0,
    monotonic: () => 0,
    after: () => ({ cancel: () => {} }),
  };
  return createIds(clock, systemRandom);
}

test('an id is its prefix and 25 characters that nobody misreads', () => {
  expect(idsAt([1_800_000_000_000])('sig')).toMatch(/^sig_[0-9a-hjkmnp-tv-z]{25}$/);
});

test('ids sort by the time they were made in', () => {
  const times = [1, 31, 32, 1023, 1_700_000_000_000, 1_700_000_000_001, 2_000_000_000_000];
  const newId = idsAt(times);
  const ids = times.map(() => newId('x'));
  expect([...ids].sort()).toEqual(ids);
});

test('ten thousand ids of one millisecond are all different', () => {
  const newId = idsAt([]);
  expect(new Set(Array.from({ length: 10_000 }, () => newId('x'))).size).toBe(10_000);
});

test('the floor of a moment sorts before every id made at or after it, and after those made before', () => {
  const newId = idsAt([1_000, 1_001]);
  const [before, at] = [newId('att'), newId('att')];
  const floor = idFloor('att', 1_001);
  expect([before < floor, floor < at, idFloor('att', -1)]).toEqual([true, true, 'att_000000000']);
});
