import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  createReleases,
  createTurnRunner,
  createYielder,
  inLaterTurn,
  isTurnLong,
  lineWaitMs,
  onBehalfOf,
  runInTurn,
  shared,
  sharedOnce,
  standInLine,
  unknownOwner,
  wasAccepted,
} from '../../src/lib/yielding.ts';
import { createManualClock } from '../support/manual-clock.ts';

test('long work yields once its time slice is used up, and not before', async () => {
  const clock = createManualClock();
  const nextTurn = createYielder(clock, 10);
  let others = 0;
  setImmediate(() => others++);
  clock.advance(9);
  await nextTurn();
  expect(others).toBe(0);
  clock.advance(1);
  await nextTurn();
  expect(others).toBe(1);
});

/** Blocks the thread for this long. */
function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until) {
    // nothing
  }
}

/** The progress of each task after every turn of the event loop in which one continued. */
async function turnsOf(count: number, pieceMs: number): Promise<number[]> {
  const clock = createManualClock();
  const works = Array.from({ length: count }, () => createYielder(clock, 10));
  clock.advance(10);
  let went = 0;
  const all = works.map((nextTurn) =>
    nextTurn().then(() => {
      work(pieceMs);
      went++;
    }),
  );
  const seen: number[] = [];
  for (let turn = 0; went < count && turn < 3 * count; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(went);
  }
  await Promise.all(all);
  return [...new Set(seen)].filter((n) => n > 0);
}

test('one of several long tasks continues in each turn of the event loop', async () => {
  expect(await turnsOf(3, 6)).toEqual([1, 2, 3]);
});

test('tasks with short chunks share a turn', async () => {
  expect((await turnsOf(500, 0)).length).toBeLessThan(50);
});

test('a task that has used little time waits for one chunk of the long ones, not for one of each', async () => {
  const clock = createManualClock();
  const order: string[] = [];
  const brief = createYielder(clock, 10);
  // Waits for the store, say, until a later turn of the event loop.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const long = Array.from({ length: 5 }, () => createYielder(clock, 10));
  clock.advance(10); // each has worked for that long
  const all = long.map((nextTurn, n) =>
    nextTurn().then(() => {
      work(6);
      order.push(`long ${n}`);
    }),
  );
  all.push(brief().then(() => void order.push('brief')));
  await Promise.all(all);
  expect(order.indexOf('brief')).toBeLessThanOrEqual(2);
  expect(order.filter((name) => name !== 'brief')).toEqual([0, 1, 2, 3, 4].map((n) => `long ${n}`));
});

test('long tasks go on however many brief ones come', async () => {
  const clock = createManualClock();
  const brief = Array.from({ length: 20 }, () => createYielder(clock, 10));
  // A timer may fire in this turn of the event loop.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const long = createYielder(clock, 10);
  clock.advance(10);
  const order: string[] = [];
  const all = [...brief, long].map((nextTurn, n) =>
    nextTurn().then(() => {
      work(6);
      order.push(n < brief.length ? 'brief' : 'long');
    }),
  );
  await Promise.all(all);
  expect(order.indexOf('long')).toBeLessThanOrEqual(1);
});

test('the wait in the queue is estimated from previous turns', async () => {
  expect(lineWaitMs()).toBe(0);
  const going = Array.from({ length: 10 }, () => standInLine().then(() => work(6)));
  await going[0];
  await going[1];
  expect(lineWaitMs()).toBeGreaterThan(0);
  await Promise.all(going);
  expect(lineWaitMs()).toBe(0);
});

test('owners take turns: a task waits for one chunk of another owner, not for one of each of its tasks', async () => {
  const clock = createManualClock();
  const order: string[] = [];
  const task = (owner: string, chunks: number) =>
    onBehalfOf(owner, async () => {
      const nextTurn = createYielder(clock, 10);
      for (let chunk = 0; chunk < chunks; chunk++) {
        clock.advance(10);
        await nextTurn();
        work(6);
        order.push(owner);
      }
    });
  await Promise.all([...Array.from({ length: 20 }, () => task('flood', 3)), task('other', 5)]);
  expect(order).toHaveLength(65);
  const before = order.slice(0, order.lastIndexOf('other')).filter((owner) => owner === 'flood').length;
  expect(before).toBeLessThanOrEqual(2 * 5);
});

/** Releases `count` functions that each cause work in microtasks; returns how many were called after every turn of the event loop. */
async function releaseTogether(count: number, pieceMs: number): Promise<number[][]> {
  const release = createReleases();
  const done: number[] = [];
  const seen: number[][] = [];
  const follow = async (n: number) => {
    await null;
    await null;
    work(pieceMs);
    done.push(n);
  };
  for (let n = 0; n < count; n++) release(() => void follow(n));
  for (let turn = 0; done.length < count && turn <= count; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    seen.push([...done]);
  }
  return seen;
}

test('what follows from releases runs in turns of the event loop, oldest first', async () => {
  const seen = await releaseTogether(10, 3);
  expect(seen.at(-1)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  for (const [turn, { length }] of seen.entries())
    expect(length - (seen[turn - 1]?.length ?? 0)).toBeLessThanOrEqual(2);
});

test('releases that cost little share a turn, and the first is immediate', async () => {
  const seen = await releaseTogether(500, 0);
  expect(seen[0]?.length).toBeGreaterThan(0);
  expect(seen.length).toBeLessThanOrEqual(5);
  let called = false;
  createReleases()(() => {
    called = true;
  });
  expect(called).toBe(true);
});

test('those that wait for the same result continue in turns of the event loop', async () => {
  const result = Promise.withResolvers<number>();
  let went = 0;
  const all = Array.from({ length: 20 }, async () => {
    expect(await shared(result.promise)).toBe(1);
    work(3);
    went++;
  });
  result.resolve(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(went).toBeLessThanOrEqual(4);
  await Promise.all(all);
  expect(went).toBe(20);
});

test('those that wait for the same work get its error', async () => {
  await expect(shared(Promise.reject(new Error('failed')))).rejects.toThrow('failed');
});

/** The turns of the event loop until work runs, while connections are accepted in the first `count` of them. */
async function turnsUntilWork(count: number, turnMs: number): Promise<number> {
  let turns = 0;
  const end = Promise.withResolvers<number>();
  function accept(): void {
    if (turns++ < count) {
      wasAccepted();
      setImmediate(accept);
    }
    work(turnMs);
  }
  setImmediate(accept);
  inLaterTurn(() => end.resolve(turns));
  return end.promise;
}

test('once shared work is done, callers do not wait for those that share other work', async () => {
  let calls = 0;
  const once = sharedOnce(async () => ++calls);
  expect(await Promise.all([once(), once()])).toEqual([1, 1]);
  const line = Array.from({ length: 20 }, async () => {
    await shared(Promise.resolve());
    work(6);
  });
  await Promise.resolve();
  let isOver = false;
  void Promise.all(line).then(() => {
    isOver = true;
  });
  expect(await once()).toBe(1);
  expect(isOver).toBe(false);
  await Promise.all(line);
});

test('while connections are accepted, work waits for them, for at most 5 ms', async () => {
  expect(await turnsUntilWork(0, 0)).toBe(1);
  expect(await turnsUntilWork(3, 0)).toBe(4);
  const turns = await turnsUntilWork(100, 1);
  expect(turns).toBeGreaterThan(1); // four or five, if nothing else uses the processor
  expect(turns).toBeLessThan(10);
});

test('long pieces of different queues run in different turns of the event loop', async () => {
  const owners = ['a', 'b', 'c'];
  let turn = 0;
  const turns: number[] = [];
  const piece = () => {
    work(12);
    turns.push(turn);
  };
  for (const _ of owners) {
    const items = [piece, piece];
    createTurnRunner({
      size: () => items.length,
      next: () => items.shift(),
      maxMs: 1,
      now: () => performance.now(),
    }).workOff();
  }
  void standInLine().then(piece);
  runInTurn(piece);
  const release = createReleases();
  setImmediate(() => release(() => void Promise.resolve().then(piece)));
  for (; turns.length < 9 && turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(turns).toHaveLength(9);
  expect(new Set(turns).size).toBe(9);
});

test('a turn of the event loop is long once it has taken 20 ms since this was first asked', async () => {
  await new Promise((resolve) => setImmediate(resolve));
  expect(isTurnLong()).toBe(false);
  work(21);
  expect(isTurnLong()).toBe(true);
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  expect(isTurnLong()).toBe(false);
});

test('callers that are not known yet have few owners, and the same one with the same credentials', () => {
  const keys = Array.from({ length: 5_000 }, (_, n) => createHash('sha256').update(`${n}`).digest('hex'));
  const counts = Map.groupBy(keys.map(unknownOwner), (owner) => owner);
  expect(counts.size).toBeLessThanOrEqual(64);
  expect(counts.size).toBeGreaterThan(32);
  expect(Math.max(...[...counts.values()].map(({ length }) => length))).toBeLessThan(5_000 / 10);
  expect(keys.map(unknownOwner)).toEqual(keys.map(unknownOwner));
  expect(unknownOwner('')).toBe(unknownOwner(''));
});
