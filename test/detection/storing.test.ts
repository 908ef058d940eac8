import { expect, test } from 'vitest';
import { DomainError } from '../../src/model/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { status } from '../support/receiver.ts';
import { createHarness, rss, wanting } from './harness.ts';

const FULL = new DomainError('UNAVAILABLE', 'The storage is full.', { storage: 'full' });

/** A store whose `change` fails as long as `fault` is set; `tries` counts. */
function failing(change: 'finishSourceRun' | 'addRunSignals' | 'findOutdatedSignals', fault: Error) {
  const storage = { fault: fault as Error | null, tries: 0 };
  const wrap = (store: Store): Store => ({
    ...store,
    [change]: async (...args: unknown[]) => {
      storage.tries++;
      if (storage.fault !== null) throw storage.fault;
      return (store[change] as (...given: unknown[]) => Promise<unknown>)(...args);
    },
  });
  return { storage, wrap };
}

const many = (count: number) =>
  rss(Array.from({ length: count }, (_, i) => [`${i}`, wanting(`CRM ${i}`)] as [string, string]));

test.each([
  ['the commit at its end', 'finishSourceRun', 1],
  ['a commit before', 'addRunSignals', 120],
] as const)('a run is not repeated because the storage was full at %s', async (_, change, items) => {
  const { storage, wrap } = failing(change, FULL);
  const h = await createHarness({ wrap });
  h.pages['/feed'] = status(200, {}, many(items));
  const id = await h.add();
  await h.poller.start();
  await expect.poll(() => storage.tries).toBe(1);
  h.pages['/feed'] = status(200, {}, rss([])); // shown only once
  for (const tries of [2, 3]) {
    await expect.poll(() => h.clock.pending()).toBeGreaterThan(0);
    h.clock.advance(1_000);
    await expect.poll(() => storage.tries).toBe(tries);
  }
  storage.fault = null;
  h.clock.advance(1_000);
  await expect.poll(() => h.source(id)).toMatchObject({ itemsSeen: items, lastError: null });
  expect((await h.source(id)).signalsMade).toBe(items);
  expect(h.asked()).toHaveLength(1);
});

test('a run whose result cannot be stored for another reason fails, and its source is read again', async () => {
  const { storage, wrap } = failing('finishSourceRun', new Error('a bug'));
  const h = await createHarness({ wrap });
  h.pages['/feed'] = status(200, {}, many(1));
  const id = await h.add();
  await h.poller.start();
  await h.ended(2); // its result, and its failure
  storage.fault = null;
  await h.pass(60_000);
  expect(await h.source(id)).toMatchObject({ signalsMade: 1, lastError: null });
});

test('a failure of one result is stored', async () => {
  const { storage, wrap } = failing('finishSourceRun', new Error('a bug'));
  const h = await createHarness({
    wrap: (store) => {
      const wrapped = wrap(store);
      return {
        ...wrapped,
        finishSourceRun: (run) =>
          run.error === null ? wrapped.finishSourceRun(run) : store.finishSourceRun(run),
      };
    },
  });
  h.pages['/feed'] = status(200, {}, many(1));
  const id = await h.add();
  await h.poller.start();
  await expect.poll(() => h.source(id)).toMatchObject({ lastError: { code: 'internal' }, failures: 1 });
  storage.fault = null;
  await h.pass(900_000);
  expect(await h.source(id)).toMatchObject({ signalsMade: 1, lastError: null });
});

async function startedWhileFull() {
  const { storage, wrap } = failing('finishSourceRun', FULL);
  const h = await createHarness({ wrap });
  h.pages['/feed'] = status(200, {}, many(1));
  const id = await h.add();
  await h.poller.start();
  await expect.poll(() => storage.tries).toBe(1);
  return { h, id };
}

test('a source is due again soon if the storage stays full', async () => {
  const { h, id } = await startedWhileFull();
  h.clock.advance(5 * 60_000);
  await expect.poll(async () => (await h.source(id)).nextPollAt).toBeLessThanOrEqual(h.clock.now() + 60_000);
  await expect.poll(() => h.store.dueSources(h.clock.now() + 60_000)).toMatchObject([{ id }]);
});

test('stopping does not wait for a storage that is full', async () => {
  const { h, id } = await startedWhileFull();
  await h.poller.stop();
  expect(await h.store.dueSources(h.clock.now() + 60_000)).toMatchObject([{ id }]);
});
