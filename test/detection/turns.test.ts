import { expect, test } from 'vitest';
import { status } from '../support/receiver.ts';
import { openTestStore } from '../support/store.ts';
import { createHarness, settings } from './harness.ts';

/** Less than a turn for the items that are matched at once. */
const STEP_MS = 0.02;

test('a run that matches many short items with no profile yields between them', async () => {
  const { store, clock: manual } = await openTestStore();
  let worked = 0;
  let turn = 0;
  let inTurn = 0;
  let longest = 0;
  const clock = {
    ...manual,
    monotonic() {
      const current = performance.nodeTiming.uvMetricsInfo.loopCount;
      inTurn = current === turn ? inTurn + STEP_MS : 0;
      turn = current;
      longest = Math.max(longest, inTurn);
      worked += STEP_MS;
      return manual.monotonic() + worked;
    },
  };
  const { add, pages, poller, ended, source } = await createHarness({ opened: { store, clock } });
  const jobs = Array.from({ length: 2_000 }, (_, id) => ({
    id,
    title: `Ok ${id}`,
    absolute_url: `https://e.example/${id}`,
  }));
  pages['*'] = status(200, {}, JSON.stringify({ jobs }));
  const id = await add({ kind: 'greenhouse', settings: settings({ board: 'acme' }) });
  await poller.start();
  await ended(1);
  expect(await source(id)).toMatchObject({ itemsSeen: 2_000, lastError: null });
  // All of it takes ten times as long. Several short pieces may share a turn.
  expect(worked).toBeGreaterThan(200);
  expect(longest).toBeLessThan(100);
});
