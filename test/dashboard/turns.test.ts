import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { buildTestApp } from '../support/app.ts';

test('screens that are requested together are rendered in different turns of the event loop', async () => {
  const t = await buildTestApp();
  onTestFinished(() => t.app.close());
  await t.app.inject('/dashboard/login'); // compiles the template
  const perTurn = new Map<number, number>();
  let turn = 0;
  let answered = 0;
  const visit = async () => {
    expect((await t.app.inject('/dashboard/login')).statusCode).toBe(200);
    perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
    answered++;
  };
  const all = Promise.all(Array.from({ length: 24 }, visit));
  while (answered < 24) {
    turn++;
    await nextTurn();
  }
  await all;
  expect(Math.max(...perTurn.values())).toBeLessThan(6);
});
