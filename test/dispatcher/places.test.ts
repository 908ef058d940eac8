import { describe, expect, it } from 'vitest';
import { createPlaces, type Places, type Standing } from '../../src/dispatcher/places.ts';
import { createManualClock } from '../support/manual-clock.ts';

/** Takes places until there are none, and answers how many that were. */
function fill(places: Places, standing: Standing): number {
  const before = places.taken;
  while (!places.full(standing)) places.take(standing);
  return places.taken - before;
}

describe('the places of requests in flight', () => {
  it('come back from stalled requests within half a second, so that they cannot hold up the healthy', () => {
    const clock = createManualClock();
    let woken = 0;
    const places = createPlaces(clock, () => woken++);
    const brisk = fill(places, 'proven');
    clock.advance(250);
    expect([woken, places.full('proven')]).toEqual([1, true]);
    clock.advance(250);
    expect([woken, places.full('proven')]).toEqual([2, false]);
    expect(fill(places, 'proven')).toBe(brisk);
  });

  it('are freed by a request that ends, but not twice by one that was already counted as stalled', () => {
    const clock = createManualClock();
    const places = createPlaces(clock, () => {});
    const stalled = places.take('proven');
    fill(places, 'proven');
    clock.advance(250);
    places.full('proven');
    clock.advance(250);
    const free = fill(places, 'proven');
    places.release('proven', stalled);
    expect(places.full('proven')).toBe(true);
    expect(free).toBeGreaterThan(0);
  });

  it('are kept apart by what is known of the endpoint: those that never answered take none from those that do', () => {
    const places = createPlaces(createManualClock(), () => {});
    expect(fill(places, 'further')).toBeLessThan(fill(places, 'first'));
    expect([places.full('further'), places.full('first'), places.full('proven')]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('grow scarce for each endpoint that does not answer when thousands are stalled, and not for the others', () => {
    const clock = createManualClock();
    const places = createPlaces(clock, () => {});
    const limits = new Set<number>();
    for (let round = 0; round < 200; round++) {
      fill(places, 'further');
      limits.add(places.perEndpoint('further'));
      expect(places.perEndpoint('proven')).toBe(20);
      clock.advance(250);
    }
    expect([...limits]).toEqual([20, 5, 1]);
    expect(places.taken).toBe(4_096);
  });
});
