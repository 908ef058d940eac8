import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createThrottle, WINDOW_MS } from '../../src/dispatcher/throttle.ts';

/** The maximum number of `starts` (ascending) in any 60 s. */
function mostInAMinute(starts: readonly number[]): number {
  let most = 0;
  let from = 0;
  for (const [index, start] of starts.entries()) {
    while (start - (starts[from] ?? 0) > 60_000) from++;
    most = Math.max(most, index - from + 1);
  }
  return most;
}

describe('the throttle', () => {
  it('never allows more starts than the limit in any 60 s, regardless of the request pattern', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 20_000 }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), pauses, (limit, gaps) => {
        const throttle = createThrottle(limit);
        const starts: number[] = [];
        let now = 0;
        for (const gap of gaps) {
          now += gap;
          const room = throttle.room(now);
          expect(throttle.take(now)).toBe(room > 0);
          if (room > 0) starts.push(now);
          else expect(throttle.nextRoomAt(now)).toBeGreaterThan(now);
        }
        expect(mostInAMinute(starts)).toBeLessThanOrEqual(limit);
      }),
    );
  });

  it('allows an idle endpoint its full limit at once, and more as earlier requests leave the window', () => {
    const throttle = createThrottle(60);
    for (let i = 0; i < 60; i++) expect(throttle.take(i)).toBe(true);
    expect(throttle.take(60)).toBe(false);
    expect(throttle.nextRoomAt(60)).toBe(WINDOW_MS);
    expect(throttle.take(WINDOW_MS)).toBe(true);
    expect(throttle.take(WINDOW_MS)).toBe(false);
  });

  it('counts requests sent before a restart', () => {
    const throttle = createThrottle(2);
    throttle.record(-30_000);
    throttle.record(-10_000);
    expect(throttle.take(0)).toBe(false);
    expect(throttle.nextRoomAt(0)).toBe(WINDOW_MS - 30_000);
  });

  it('limits a million requests without remembering a million starts', () => {
    const throttle = createThrottle(1_000_000);
    let taken = 0;
    for (let i = 0; i < 1_000_000; i++) if (throttle.take(i / 50)) taken++;
    expect(taken).toBe(1_000_000);
    expect(throttle.take(20_000)).toBe(false);
    expect(throttle.take(WINDOW_MS - 1)).toBe(false);
    expect(throttle.room(WINDOW_MS + 10_000)).toBeGreaterThan(400_000);
    expect(throttle.room(WINDOW_MS + 10_000)).toBeLessThanOrEqual(500_001);
  });

  it('applies a lower limit immediately', () => {
    const throttle = createThrottle(60);
    for (let i = 0; i < 10; i++) throttle.take(i);
    throttle.setLimit(5);
    expect(throttle.room(10)).toBe(0);
    expect(throttle.nextRoomAt(10)).toBe(5 + WINDOW_MS);
  });
});
