import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createWakeUp } from '../../src/dispatcher/agenda.ts';

function listen() {
  const wakeUp = createWakeUp();
  let answers = 0;
  wakeUp.listen(() => void answers++);
  return { wakeUp, answers: () => answers };
}

describe('a wake-up', () => {
  it('runs once after the turn for all requests made in it', async () => {
    const { wakeUp, answers } = listen();
    wakeUp.soon();
    wakeUp.soon();
    expect(answers()).toBe(0);
    await nextTurn();
    await nextTurn();
    expect(answers()).toBe(1);
  });

  it('runs immediately for other work, and once more for all subsequent requests', async () => {
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

  it('runs after the turn if it was already requested', async () => {
    const { wakeUp, answers } = listen();
    wakeUp.soon();
    wakeUp.atOnce();
    expect(answers()).toBe(0);
    await nextTurn();
    expect(answers()).toBe(1);
  });
});
