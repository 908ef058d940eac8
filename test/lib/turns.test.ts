import { expect, test } from 'vitest';
import { createTurns } from '../../src/lib/turns.ts';
import { createManualClock } from '../support/manual-clock.ts';

test('long work pauses when it has had its time, and not before', async () => {
  const clock = createManualClock();
  const nextTurn = createTurns(clock, 10);
  let others = 0;
  setImmediate(() => others++);
  clock.advance(9);
  await nextTurn();
  expect(others).toBe(0);
  clock.advance(1);
  await nextTurn();
  expect(others).toBe(1);
});

test('of several long works one goes on in each turn of the event loop', async () => {
  const clock = createManualClock();
  const works = [createTurns(clock, 10), createTurns(clock, 10), createTurns(clock, 10)];
  clock.advance(10);
  const went: number[] = [];
  const all = works.map((nextTurn, n) => nextTurn().then(() => went.push(n)));
  const seen: number[] = [];
  for (let turn = 0; went.length < 3 && turn < 10; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(went.length);
  }
  await Promise.all(all);
  expect(seen.filter((n) => n > 0)).toEqual([1, 2, 3]);
});
