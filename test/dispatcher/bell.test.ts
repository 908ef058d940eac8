import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createBell } from '../../src/dispatcher/bell.ts';

function listen() {
  const bell = createBell();
  let answers = 0;
  bell.listen(() => void answers++);
  return { bell, answers: () => answers };
}

describe('the bell', () => {
  it('is answered once, after the turn, for all that rang in it', async () => {
    const { bell, answers } = listen();
    bell.ring();
    bell.ring();
    expect(answers()).toBe(0);
    await nextTurn();
    await nextTurn();
    expect(answers()).toBe(1);
  });

  it('is answered at once where work comes from elsewhere, and once more for all that rings after it', async () => {
    const { bell, answers } = listen();
    bell.ringNow();
    expect(answers()).toBe(1);
    bell.ringNow();
    bell.ring();
    expect(answers()).toBe(1);
    await nextTurn();
    expect(answers()).toBe(2);
    await nextTurn();
    expect(answers()).toBe(2);
  });

  it('is answered after the turn where it rang before', async () => {
    const { bell, answers } = listen();
    bell.ring();
    bell.ringNow();
    expect(answers()).toBe(0);
    await nextTurn();
    expect(answers()).toBe(1);
  });
});
