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

test('an ID is its prefix and 25 unambiguous characters', () => {
  expect(idsAt([1_800_000_000_000])('sig')).toMatch(/^sig_[0-9a-hjkmnp-tv-z]{25}$/);
});

test('IDs sort by creation time', () => {
  const times = [1, 31, 32, 1023, 1_700_000_000_000, 1_700_000_000_001, 2_000_000_000_000];
  const newId = idsAt(times);
  const ids = times.map(() => newId('x'));
  expect([...ids].sort()).toEqual(ids);
});

test('IDs of one millisecond sort in the order of their creation, whatever their prefixes', () => {
  const newId = idsAt([]);
  const bare = Array.from({ length: 10_000 }, (_, n) => newId(n % 2 === 0 ? 'evt' : 'dlv').slice(4));
  expect([...bare].sort()).toEqual(bare);
});

test('generators with the same clock create different IDs', () => {
  const [one, other] = [idsAt([]), idsAt([])];
  const ids = Array.from({ length: 1_000 }, () => [one('x'), other('x')]).flat();
  expect(new Set(ids).size).toBe(2_000);
});

test('ten thousand IDs created in one millisecond are unique', () => {
  const newId = idsAt([]);
  expect(new Set(Array.from({ length: 10_000 }, () => newId('x'))).size).toBe(10_000);
});

test('the floor of a time sorts after all earlier IDs, and before all others', () => {
  const newId = idsAt([1_000, 1_001]);
  const [before, at] = [newId('att'), newId('att')];
  const floor = idFloor('att', 1_001);
  expect([before < floor, floor < at, idFloor('att', -1)]).toEqual([true, true, 'att_000000000']);
});
