import { expect, test } from 'vitest';
import { createTurns } from '../../src/signals/turns.ts';
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
