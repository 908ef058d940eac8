import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createWakeUp } from '../../src/dispatcher/agenda.ts';

function listen() {
  const wakeUp = createWakeUp();
  let answers = 0;
  wakeUp.listen(() => void answers++);
  return { wakeUp, answers: () => answers };
}

describe('the bell', () => {
  it('is answered once, after the turn, for all that rang in it', async () => {
    const { wakeUp, answers } = listen();
    wakeUp.soon();
    wakeUp.soon();
    expect(answers()).toBe(0);
    await nextTurn();
    await nextTurn();
    expect(answers()).toBe(1);
  });

  it('is answered at once where work comes from elsewhere, and once more for all that rings after it', async () => {
    const { wakeUp, answers } = listen();
    wakeUp.atOnce();
    expect(answers()).toBe(1);
    wakeUp.atOnce();
    wakeUp.soon();
    expect(answers()).toBe(1);
    await nextTurn();
    expect(answers()).toBe(2);
    await nextTurn();
    expect(answers()).toBe(2);
  });

  it('is answered after the turn where it rang before', async () => {
    const { wakeUp, answers } = listen();
    wakeUp.soon();
    wakeUp.atOnce();
    expect(answers()).toBe(0);
    await nextTurn();
    expect(answers()).toBe(1);
  });
});
