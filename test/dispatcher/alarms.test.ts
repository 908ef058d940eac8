import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAlarm, createAlarms } from '../../src/dispatcher/alarms.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { createManualClock } from '../support/manual-clock.ts';

const NEVER = Number.POSITIVE_INFINITY;

test('each alarm rings at its time, regardless of the order in which they were set', () => {
  const clock = createManualClock();
  const rung: string[] = [];
  const alarms = createAlarms<string>(clock, (due) => rung.push(...due));
  const start = clock.monotonic();
  alarms.set(createAlarm('late'), start + 30_000);
  alarms.set(createAlarm('soon'), start + 1_000);
  clock.advance(999);
  expect(rung).toEqual([]);
  clock.advance(1);
  expect(rung).toEqual(['soon']);
  clock.advance(29_000);
  expect(rung).toEqual(['soon', 'late']);
});

test('alarms set, moved and removed in any order ring once each, in order of time, on one timer', () => {
  const change = fc.record({
    which: fc.nat(19),
    at: fc.oneof(fc.integer({ min: 10, max: 5_000 }), fc.constant(NEVER)),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 120 }), (changes) => {
      const clock = createManualClock();
      const start = clock.monotonic();
      const rung: { which: number; at: number }[] = [];
      const alarms = createAlarms<number>(clock, (due) => {
        for (const which of due) rung.push({ which, at: clock.monotonic() - start });
      });
      const items = Array.from({ length: 20 }, (_, which) => createAlarm(which));
      const expected = new Map<number, number>();
      for (const { which, at } of changes) {
        const item = items[which];
        if (item !== undefined) alarms.set(item, start + at);
        if (at === NEVER) expected.delete(which);
        else expected.set(which, at);
      }
      expect(clock.pending()).toBeLessThanOrEqual(1);
      for (let passed = 0; passed < 6_000; passed += 1_000) clock.advance(1_000);
      const grainMs = 5;
      for (const { which, at } of rung) {
        expect(at).toBeGreaterThanOrEqual(expected.get(which) ?? NEVER);
        expect(at).toBeLessThan((expected.get(which) ?? NEVER) + grainMs);
      }
      expect(rung.map(({ which }) => which).sort()).toEqual([...expected.keys()].sort());
      expect(items.every(({ index }) => index === -1)).toBe(true);
    }),
  );
});

test('of many alarms that are due together, two hundred ring at a time', () => {
  const clock = createManualClock();
  const rung: number[] = [];
  const alarms = createAlarms<number>(clock, (due) => rung.push(due.length));
  for (let n = 0; n < 450; n++) alarms.set(createAlarm(n), clock.monotonic() + 1_000);
  clock.advance(1_000);
  expect(rung).toEqual([200]);
  clock.advance(10);
  expect(rung).toEqual([200, 200, 50]);
});

test('no alarm rings after stopping', () => {
  const clock = createManualClock();
  const rung: string[] = [];
  const alarms = createAlarms<string>(clock, (due) => rung.push(...due));
  alarms.set(createAlarm('before'), clock.monotonic() + 1_000);
  alarms.stop();
  alarms.set(createAlarm('after'), clock.monotonic() + 1_000);
  clock.advance(5_000);
  expect([rung, clock.pending()]).toEqual([[], 0]);
});

test('after the process was suspended, responses that arrived meanwhile are read before deadlines are checked', async () => {
  let elapsed = 0;
  let fire = () => {};
  const clock: Clock = {
    now: () => elapsed,
    monotonic: () => elapsed,
    after(_, fn) {
      fire = fn;
      return { cancel: () => {} };
    },
  };
  const expired: string[] = [];
  const deadlines = createAlarms<string>(clock, (due) => expired.push(...due));
  const [answered, silent] = [createAlarm('answered'), createAlarm('silent')];
  for (const request of [answered, silent]) deadlines.set(request, 1_000);
  elapsed = 60_000; // suspended for a minute; then the timer, late, and the response
  fire();
  expect(expired).toEqual([]);
  deadlines.set(answered, NEVER);
  await new Promise((resolve) => setImmediate(resolve));
  expect(expired).toEqual(['silent']);
});
