import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commitBatch, type StorageFault, type Transactions } from '../../src/store/commit-batch.ts';
import { createWriteQueue, type WriteQueueOptions } from '../../src/store/write-queue.ts';
import { createManualClock } from '../support/manual-clock.ts';

class TestFault extends Error {
  readonly fault: StorageFault;
  constructor(fault: StorageFault) {
    super(`fault ${fault}`);
    this.fault = fault;
  }
}

type Step = () => unknown;
type Options = Partial<Pick<WriteQueueOptions<Step>, 'maxBatch' | 'maxQueued'> & Transactions> & {
  onCommit?: (rows: number[]) => void;
  /** Awaited before each commit, as if a separate thread were still busy. */
  before?: () => Promise<void>;
};

/** A queue for a list that rolls back like a database; `onCommit` may throw like COMMIT. */
function setUp({ onCommit, before, maxBatch, maxQueued, ...overrides }: Options = {}) {
  const batches: number[][] = [];
  let stored: number[] = [];
  let open: number[] = [];
  const transactions: Transactions = {
    faultOf: (error) => (error instanceof TestFault ? error.fault : null),
    tryPart(work) {
      const before = [...open];
      try {
        work();
        return null;
      } catch (cause) {
        if (transactions.faultOf(cause) !== null) throw cause;
        open = before;
        return { cause };
      }
    },
    runBatch(work) {
      open = [];
      try {
        work();
        onCommit?.(open);
      } catch (cause) {
        return { cause };
      }
      stored = [...stored, ...open];
      batches.push(open);
      return null;
    },
    ...overrides,
  };
  const queue = createWriteQueue<Step>({
    async commit(steps) {
      await before?.();
      return commitBatch(steps, (step) => step(), transactions);
    },
    ...(maxBatch === undefined ? {} : { maxBatch }),
    ...(maxQueued === undefined ? {} : { maxQueued }),
  });
  const insert = (value: number) =>
    queue.run(() => {
      open.push(value);
      return value;
    });
  return { queue, batches, insert, stored: () => stored };
}

const unavailable = { code: 'UNAVAILABLE', extra: { retryAfterSeconds: 1 } };

describe('group commit', () => {
  test('operations that arrive together share one transaction and keep their order', async () => {
    const { insert, batches } = setUp();
    expect(await Promise.all([insert(1), insert(2), insert(3)])).toEqual([1, 2, 3]);
    expect(batches).toEqual([[1, 2, 3]]);
  });

  test('an idle queue sends a change immediately; changes during its commit share the next one', async () => {
    const commits = Array.from({ length: 2 }, () => Promise.withResolvers<void>());
    let started = 0;
    const { insert, batches } = setUp({ before: () => commits[started++]?.promise ?? Promise.resolve() });
    const first = insert(1);
    await Promise.resolve();
    expect(started).toBe(1);
    const later = [insert(2), insert(3)];
    await Promise.resolve();
    later.push(insert(4));
    expect(started).toBe(1);
    commits[0]?.resolve();
    await first;
    expect(batches).toEqual([[1]]);
    expect(started).toBe(2);
    commits[1]?.resolve();
    await Promise.all(later);
    expect(batches).toEqual([[1], [2, 3, 4]]);
  });

  test('changes beyond a batch go into the next one, in order', async () => {
    const { insert, batches } = setUp({ maxBatch: 2 });
    await Promise.all([insert(1), insert(2), insert(3), insert(4), insert(5)]);
    expect(batches).toEqual([[1, 2], [3, 4], [5]]);
  });

  test('a promise resolves only after its commit', async () => {
    const seen: string[] = [];
    const { insert, queue } = setUp({ onCommit: () => seen.push('commit') });
    const done = insert(1).then(() => seen.push('resolved'));
    await queue.close();
    await done;
    expect(seen).toEqual(['commit', 'resolved']);
  });
});

describe('failures', () => {
  test('a poison operation fails alone, with its own error', async () => {
    const { insert, queue, stored } = setUp();
    const poison = queue.run(() => {
      throw new Error('poison');
    });
    const results = await Promise.allSettled([insert(1), poison, insert(2)]);
    expect(results.map((r) => r.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    await expect(poison).rejects.toThrow('poison');
    expect(stored()).toEqual([1, 2]);
  });

  test('a poison operation costs the others no separate commit', async () => {
    const { insert, queue, batches } = setUp();
    const poison = [1, 2].map(() =>
      queue.run(() => {
        throw new Error('poison');
      }),
    );
    const all = await Promise.allSettled([insert(1), ...poison, ...[2, 3, 4, 5].map(insert)]);
    expect(all.filter(({ status }) => status === 'rejected')).toHaveLength(2);
    expect(batches).toEqual([[1, 2, 3, 4, 5]]);
  });

  test('a failed commit rejects every operation and stores nothing', async () => {
    const { insert, stored } = setUp({
      onCommit: () => {
        throw new TestFault('full');
      },
    });
    const results = await Promise.allSettled([insert(1), insert(2)]);
    expect(results).toMatchObject([
      { status: 'rejected', reason: unavailable },
      { status: 'rejected', reason: unavailable },
    ]);
    expect(stored()).toEqual([]);
  });

  test('keeps small changes if the storage is full only for a large one', async () => {
    const { insert, stored } = setUp({
      onCommit: (rows) => {
        if (rows.includes(666)) throw new TestFault('full');
      },
    });
    const results = await Promise.allSettled([insert(1), insert(666), insert(2)]);
    expect(results[1]).toMatchObject({ status: 'rejected', reason: unavailable });
    expect(stored()).toEqual([1, 2]);
  });

  test('does not try the operations of a batch one by one after an outage', async () => {
    let tries = 0;
    const { insert } = setUp({
      runBatch: () => {
        tries++;
        return { cause: new TestFault('outage') };
      },
    });
    const results = await Promise.allSettled([insert(1), insert(2), insert(3)]);
    expect(results.every((r) => r.status === 'rejected' && r.reason.code === 'UNAVAILABLE')).toBe(true);
    expect(tries).toBe(1);
  });

  test('an outage during the replay rejects the rest and keeps what was committed', async () => {
    const { insert, stored } = setUp({
      onCommit: (rows) => {
        if (rows.length > 1) throw new TestFault('full');
        if (rows[0] === 2) throw new TestFault('outage');
      },
    });
    const results = await Promise.allSettled([insert(1), insert(2), insert(3)]);
    expect(results.map((r) => r.status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(stored()).toEqual([1]);
  });

  test('the queue works again after a failure', async () => {
    let broken = true;
    const { insert, stored } = setUp({
      onCommit: () => {
        if (broken) throw new TestFault('outage');
      },
    });
    await expect(insert(1)).rejects.toMatchObject(unavailable);
    broken = false;
    await insert(2);
    expect(stored()).toEqual([2]);
  });

  test('stores exactly the good ones of any mixture of good and poison operations, in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { maxLength: 40 }),
        fc.integer({ min: 1, max: 8 }),
        async (good, maxBatch) => {
          const { insert, queue, stored } = setUp({ maxBatch });
          const results = await Promise.allSettled(
            good.map((isGood, i) =>
              isGood
                ? insert(i)
                : queue.run(() => {
                    throw new Error('poison');
                  }),
            ),
          );
          expect(results.map((r) => r.status === 'fulfilled')).toEqual(good);
          expect(stored()).toEqual(good.flatMap((isGood, i) => (isGood ? [i] : [])));
        },
      ),
    );
  });
});

describe('limits and closing', () => {
  test('rejects an operation above the limit immediately, and stores earlier ones', async () => {
    const { insert, stored } = setUp({ maxQueued: 2 });
    const accepted = [insert(1), insert(2)];
    await expect(insert(3)).rejects.toMatchObject(unavailable);
    await Promise.all(accepted);
    expect(stored()).toEqual([1, 2]);
  });

  test('closing commits waiting operations', async () => {
    const { insert, queue, stored } = setUp({ maxBatch: 2 });
    const waiting = [insert(1), insert(2), insert(3)];
    await queue.close();
    await Promise.all(waiting);
    expect(stored()).toEqual([1, 2, 3]);
  });

  test('rejects waiting and later operations once nothing can be stored any more', async () => {
    const gone = new Error('the thread is gone');
    const { insert, queue } = setUp({ before: () => Promise.reject(gone), maxBatch: 1 });
    const results = await Promise.allSettled([insert(1), insert(2)]);
    expect(results.every((r) => r.status === 'rejected' && r.reason.cause === gone)).toBe(true);
    await expect(insert(3)).rejects.toMatchObject(unavailable);
    await queue.close();
  });

  test('rejects operations after closing', async () => {
    const { insert, queue } = setUp();
    await queue.close();
    await expect(insert(1)).rejects.toMatchObject(unavailable);
  });
});

describe('sharing the writer', () => {
  /** A queue of named changes that records its batches; the first one is in progress until `go` is called. */
  function setUpShared(costUs: number | ((name: string) => number), onCommit = (_: string[]) => {}) {
    const batches: string[][] = [];
    let go = () => {};
    const started = new Promise<void>((resolve) => (go = resolve));
    const queue = createWriteQueue<string>({
      async commit(batch) {
        batches.push(batch);
        onCommit(batch);
        await started;
        return { values: batch, failed: [] };
      },
      ownerOf: (name) => name.charAt(0),
      costOf: (name) => (typeof costUs === 'number' ? costUs : costUs(name)),
    });
    return { queue, batches, go };
  }

  test('owners take turns, and the changes of each stay in order', async () => {
    const { queue, batches, go } = setUpShared(500);
    const first = queue.run('a0');
    await Promise.resolve();
    const rest = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => queue.run(name));
    go();
    await Promise.all([first, ...rest]);
    expect(batches).toEqual([['a0'], ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']]);
  });

  test('a batch has a maximum cost, so that a single change waits for at most two batches', async () => {
    const { queue, batches, go } = setUpShared(10_000);
    const first = queue.run('a0');
    await Promise.resolve();
    const rest = [...Array.from({ length: 50 }, (_, n) => `a${n + 1}`), 'b1'].map((name) => queue.run(name));
    go();
    await Promise.all([first, ...rest]);
    expect(batches.slice(0, 2)).toEqual([['a0'], ['a1', 'b1']]);
    expect(batches.every((batch) => batch.length <= 2)).toBe(true);
  });

  test('a short change waits for one long change at most, however many owners have long ones', async () => {
    let late: Promise<unknown> | null = null;
    const { queue, batches, go } = setUpShared(
      (name) => (name.startsWith('z') ? 600 : 40_000),
      (batch) => {
        if (batch.includes('a1')) late = queue.run('z1');
      },
    );
    const first = queue.run('x0');
    await Promise.resolve();
    const rest = ['a1', 'b1', 'c1', 'a2', 'b2', 'c2'].map((name) => queue.run(name));
    go();
    await Promise.all([first, ...rest]);
    await late;
    expect(batches).toEqual([['x0'], ['a1'], ['z1'], ['b1'], ['c1'], ['a2'], ['b2'], ['c2']]);
  });

  test('an owner with many waiting changes waits long, but one with few does not', async () => {
    const { queue, go } = setUpShared(10_000);
    const all = [queue.run('a0')];
    await Promise.resolve();
    all.push(...Array.from({ length: 50 }, (_, n) => queue.run(`a${n + 1}`)), queue.run('b1'));
    expect(['a', 'b', 'c'].map(queue.waitMs)).toEqual([510, 20, 0]);
    go();
    await Promise.all(all);
    expect(['a', 'b'].map(queue.waitMs)).toEqual([0, 0]);
  });

  test('estimates the wait from recent batches, whether they took more or less than their cost', async () => {
    const clock = createManualClock();
    const takes = { ms: 40 };
    const waits: number[] = [];
    const queue = createWriteQueue<string>({
      async commit(batch) {
        waits.push(queue.waitMs('a'));
        clock.advance(takes.ms);
        return { values: batch, failed: [] };
      },
      ownerOf: (name) => name.charAt(0),
      costOf: () => 10_000,
      clock,
    });
    const store = (count: number) => Promise.all(Array.from({ length: count }, (_, n) => queue.run(`a${n}`)));
    await store(80); // two per batch, 20 ms by their cost
    expect(waits[0]).toBe(780);
    expect(waits.at(-2)).toBeGreaterThan(39); // two left: 20 ms at half the pace
    takes.ms = 5;
    await store(80);
    expect(waits.at(-2)).toBeLessThan(6);
  });

  test('a small batch that consists mostly of its flush does not increase the estimate', async () => {
    const clock = createManualClock();
    const waits: number[] = [];
    const queue = createWriteQueue<string>({
      async commit(batch) {
        waits.push(queue.waitMs('a'));
        clock.advance(500);
        return { values: batch, failed: [] };
      },
      ownerOf: () => 'a',
      costOf: () => 100,
      maxBatch: 2,
      clock,
    });
    await Promise.all(['1', '2', '3', '4', '5', '6'].map((name) => queue.run(name)));
    expect(waits).toEqual([0.4, 0.2, 0]);
  });
});

test('what follows from a commit runs in turns of the event loop, not all at once', async () => {
  const { queue } = setUp();
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  const answered = Array.from({ length: 50 }, async (_, n) => {
    const value = await queue.run(() => n);
    const until = performance.now() + 3;
    while (performance.now() < until) {
      // what a request does with the result
    }
    return value;
  });
  setImmediate(count);
  const values = await Promise.all(answered);
  isOver = true;
  expect(values).toEqual(Array.from({ length: 50 }, (_, n) => n));
  expect(turns).toBeGreaterThanOrEqual(20);
});
