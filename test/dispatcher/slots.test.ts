import { describe, expect, it } from 'vitest';
import { createSlots, type Health, type Slots } from '../../src/dispatcher/slots.ts';
import { createManualClock } from '../support/manual-clock.ts';

/** Takes slots until none are left, one for each of `tenants` in turn; returns their number. */
function fill(slots: Slots, health: Health, tenants: readonly string[] = ['a']): number {
  const before = slots.taken;
  for (let n = 0; !slots.full(health); n++) slots.take(health, tenants[n % tenants.length] ?? '');
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
    const stalled = slots.take('proven', 'a');
    fill(slots, 'proven');
    clock.advance(250);
    slots.full('proven');
    clock.advance(250);
    const free = fill(slots, 'proven');
    slots.release('proven', 'a', stalled);
    expect(slots.full('proven')).toBe(true);
    expect(free).toBeGreaterThan(0);
  });

  it('are separate by health: endpoints that never responded take none from those that do', () => {
    const slots = createSlots(createManualClock(), () => {});
    expect(fill(slots, 'further')).toBeLessThan(fill(slots, 'first'));
    expect([slots.full('further'), slots.full('first'), slots.full('proven')]).toEqual([true, true, false]);
  });

  it('of tests take none from deliveries, however many there are, but count for the tenant', () => {
    const slots = createSlots(createManualClock(), () => {});
    const generations = Array.from({ length: 2_048 }, () => slots.take(null, 'a'));
    expect([slots.full('first'), slots.taken, slots.hasRoomFor('a')]).toEqual([false, 2_048, false]);
    for (const generation of generations) slots.release(null, 'a', generation);
    const deliveries = fill(slots, 'first');
    expect([slots.taken, slots.hasRoomFor('a')]).toEqual([deliveries, true]);
  });

  it('become scarce only for endpoints that do not respond when thousands of requests are stalled', () => {
    const clock = createManualClock();
    const slots = createSlots(clock, () => {});
    const limits = new Set<number>();
    for (let round = 0; round < 200; round++) {
      fill(slots, 'further');
      limits.add(slots.perEndpoint('further', 'another'));
      expect(slots.perEndpoint('proven', 'another')).toBe(20);
      clock.advance(250);
    }
    expect([...limits]).toEqual([20, 5, 1]);
    expect(slots.taken).toBe(4_096);
  });

  it('are left to other tenants: one takes another only while more are free than it has', () => {
    const clock = createManualClock();
    const slots = createSlots(clock, () => {});
    const taken = (tenantId: string) => {
      let count = 0;
      for (; slots.hasRoomFor(tenantId); count++) slots.take('first', tenantId);
      return count;
    };
    expect([taken('a'), taken('b'), taken('c')]).toEqual([2_048, 1_024, 512]);
    slots.release('first', 'a', 0);
    expect([slots.hasRoomFor('a'), slots.hasRoomFor('d')]).toEqual([false, true]);
  });

  it('are left by a tenant to its own endpoints that respond, too', () => {
    const slots = createSlots(createManualClock(), () => {});
    const limits: [number, number][] = [];
    for (let count = 1; slots.hasRoomFor('a'); count++) {
      slots.take('further', 'a');
      const limit = slots.perEndpoint('further', 'a');
      if (limits.at(-1)?.[1] !== limit) limits.push([count, limit]);
    }
    expect(limits).toEqual([
      [1, 20],
      [1_024, 5],
      [1_536, 1],
    ]);
    expect([slots.perEndpoint('proven', 'a'), slots.perEndpoint('first', 'b')]).toEqual([20, 5]);
  });
});
