import { describe, expect, it } from 'vitest';
import { createSlots, type Health, type Slots } from '../../src/dispatcher/slots.ts';
import { createManualClock } from '../support/manual-clock.ts';

/** Takes slots until none are left, and returns their number. */
function fill(slots: Slots, health: Health): number {
  const before = slots.taken;
  while (!slots.full(health)) slots.take(health);
  return slots.taken - before;
}

describe('the slots of requests in flight', () => {
  it('are released by stalled requests within half a second, to protect healthy endpoints', () => {
    const clock = createManualClock();
    let woken = 0;
    const slots = createSlots(clock, () => woken++);
    const brisk = fill(slots, 'proven');
    clock.advance(250);
    expect([woken, slots.full('proven')]).toEqual([1, true]);
    clock.advance(250);
    expect([woken, slots.full('proven')]).toEqual([2, false]);
    expect(fill(slots, 'proven')).toBe(brisk);
  });

  it('are released when a request ends, but not twice if it already counted as stalled', () => {
    const clock = createManualClock();
    const slots = createSlots(clock, () => {});
    const stalled = slots.take('proven');
    fill(slots, 'proven');
    clock.advance(250);
    slots.full('proven');
    clock.advance(250);
    const free = fill(slots, 'proven');
    slots.release('proven', stalled);
    expect(slots.full('proven')).toBe(true);
    expect(free).toBeGreaterThan(0);
  });

  it('are separate by health: endpoints that never responded take none from those that do', () => {
    const slots = createSlots(createManualClock(), () => {});
    expect(fill(slots, 'further')).toBeLessThan(fill(slots, 'first'));
    expect([slots.full('further'), slots.full('first'), slots.full('proven')]).toEqual([true, true, false]);
  });

  it('become scarce only for endpoints that do not respond when thousands of requests are stalled', () => {
    const clock = createManualClock();
    const slots = createSlots(clock, () => {});
    const limits = new Set<number>();
    for (let round = 0; round < 200; round++) {
      fill(slots, 'further');
      limits.add(slots.perEndpoint('further'));
      expect(slots.perEndpoint('proven')).toBe(20);
      clock.advance(250);
    }
    expect([...limits]).toEqual([20, 5, 1]);
    expect(slots.taken).toBe(4_096);
  });
});
