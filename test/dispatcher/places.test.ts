import { describe, expect, it } from 'vitest';
import { createPlaces } from '../../src/dispatcher/places.ts';
import { createManualClock } from '../support/manual-clock.ts';

/** Takes places until there are none, and answers how many that were. */
function fill(places: ReturnType<typeof createPlaces>): number {
  const before = places.taken;
  while (!places.full()) places.take();
  return places.taken - before;
}

describe('the places of requests in flight', () => {
  it('come back from stalled requests within half a second, so that they cannot hold up the healthy', () => {
    const clock = createManualClock();
    let woken = 0;
    const places = createPlaces(clock, () => woken++);
    const brisk = fill(places);
    clock.advance(250);
    expect([woken, places.full()]).toEqual([1, true]);
    clock.advance(250);
    expect([woken, places.full()]).toEqual([2, false]);
    expect(fill(places)).toBe(brisk);
  });

  it('are freed by a request that ends, but not twice by one that was already counted as stalled', () => {
    const clock = createManualClock();
    const places = createPlaces(clock, () => {});
    const stalled = places.take();
    fill(places);
    clock.advance(250);
    places.full();
    clock.advance(250);
    const free = fill(places);
    places.release(stalled);
    expect(places.full()).toBe(true);
    expect(free).toBeGreaterThan(0);
  });

  it('grow scarce for each endpoint when thousands are stalled, but never run out for it', () => {
    const clock = createManualClock();
    const places = createPlaces(clock, () => {});
    const limits = new Set<number>();
    for (let round = 0; round < 40; round++) {
      fill(places);
      limits.add(places.perEndpoint());
      clock.advance(250);
    }
    expect([...limits]).toEqual([20, 5, 1]);
    expect(places.taken).toBe(4_096);
  });
});
