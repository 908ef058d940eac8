import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../support/store.ts';
import { describeStore } from './contract/suite.ts';

describeStore('SQLite in memory', async () => {
  const opened = await openTestStore();
  onTestFinished(opened.store.close);
  return opened;
});

test('a loop over reads leaves the turn of the event loop once that has taken long', async () => {
  const { store } = await openTestStore();
  onTestFinished(store.close);
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  count();
  for (let n = 0; n < 10; n++) {
    await store.getTenant('ten_a');
    for (const until = performance.now() + 8; performance.now() < until; );
  }
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(3);
});
