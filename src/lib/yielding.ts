import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from './clock.ts';
import { letGo } from './lists.ts';
import { createFairQueue, createFifo, type FairQueue } from './queues.ts';

/** Maximum time that a task runs without yielding, and that tasks take of one event-loop turn. */
const MAX_TURN_MS = 5;
/** The weight of a turn in the moving average. */
const SHARE = 0.05;
/** Longer turns, such as after the process was suspended, say little about the next ones. */
const LONGEST_TURN_MS = 500;

/**
 * Tasks that wait between two chunks, for one event loop. Owners take turns: with one queue, a batch of a hundred posts waited for up to
 * 3 s beside 24 large requests of another tenant. Tasks that have used less than a turn so far alternate with the others: otherwise, a
 * single post waited for a chunk of each of sixty large tasks.
 */
const line = { brief: createFairQueue<() => void>(), long: createFairQueue<() => void>() };
let briefIsNext = true;
const { workOff, eachMs } = createTurnRunner({
  size: waiting,
  next,
  maxMs: MAX_TURN_MS,
  now: () => performance.now(),
});

/** The owner of the tasks that are running. */
const owners = new AsyncLocalStorage<string>();

/** Runs work whose tasks take turns with those of other owners, such as tenants. Other work shares an owner, ''. */
export function onBehalfOf<T>(owner: string, work: () => T): T {
  return owners.run(owner, work);
}

/** Identifies the turn of the event loop. */
const turnNow = () => performance.nodeTiming.uvMetricsInfo.loopCount;

/** The turn of the event loop in which a connection was accepted last. */
let acceptedIn = -1;

/** Must be called when a connection was accepted: see {@link inWorkTurn}. */
export function wasAccepted(): void {
  acceptedIn = turnNow();
}

/**
 * Runs work in a later turn of the event loop: the next one or, while connections arrive, one in the next 5 ms. Node accepts one per turn: with
 * 15 ms of work in each, a new connection waited for a second behind sixty others.
 */
export function inWorkTurn(work: () => void): void {
  setImmediate(workUnlessAccepting, work, Number.POSITIVE_INFINITY);
}

function workUnlessAccepting(work: () => void, latest: number): void {
  const now = performance.now();
  const isAccepting = acceptedIn === turnNow() && now < latest;
  if (isAccepting) setImmediate(workUnlessAccepting, work, Math.min(latest, now + MAX_TURN_MS));
  else work();
}

/**
 * Yields to the event loop between chunks of long work, at most every `maxMs`. Tasks of one owner resume in the order in
 * which they yielded: one per turn of the event loop, or several if their chunks are short. If eight tasks
 * resumed in each turn, each turn would take eight times as long, and a request that needs five turns would
 * wait for forty chunks.
 */
export function createYielder(clock: Pick<Clock, 'monotonic'>, maxMs = MAX_TURN_MS): () => Promise<void> {
  let since = clock.monotonic();
  let lookedAt = since;
  let turn = turnNow();
  let usedMs = 0;
  return async () => {
    const now = clock.monotonic();
    const current = turnNow();
    // Between turns it waited, for the store or for others.
    if (current === turn) usedMs += now - lookedAt;
    lookedAt = now;
    turn = current;
    if (now - since < maxMs) return;
    await joinLine(usedMs < maxMs ? line.brief : line.long);
    since = clock.monotonic();
    lookedAt = since;
    turn = turnNow();
  };
}

/** What `work` returns for each item, one after the other, between which other tasks run. */
export async function eachInTurns<T, R>(items: Iterable<T>, work: (item: T) => Promise<R>): Promise<R[]> {
  const nextTurn = createYielder({ monotonic: () => performance.now() });
  const results: R[] = [];
  for (const item of items) {
    results.push(await work(item));
    await nextTurn();
  }
  return results;
}

/** Concatenates bytes, between which other tasks run, and releases them: 50 MB take 20 ms at once. */
export async function concatInTurns(
  pieces: readonly Uint8Array[],
  clock: Pick<Clock, 'monotonic'>,
): Promise<Buffer> {
  const nextTurn = createYielder(clock);
  const whole = Buffer.allocUnsafe(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
    letGo(piece);
    await nextTurn();
  }
  return whole;
}

/** Resolves when it is the turn of the owner's next task: after all tasks of this owner that are already waiting. For work that cannot be split. */
export function standInLine(owner?: string): Promise<void> {
  return joinLine(line.long, owner);
}

function joinLine(queue: FairQueue<() => void>, owner = owners.getStore() ?? ''): Promise<void> {
  return new Promise((resolve) => {
    queue.push(owner, resolve);
    workOff();
  });
}

function waiting(): number {
  return line.brief.size + line.long.size;
}

function next(): (() => void) | undefined {
  const [first, second] = briefIsNext ? [line.brief, line.long] : [line.long, line.brief];
  briefIsNext = !briefIsNext;
  return first.next() ?? second.next();
}

/** Estimated wait, in milliseconds, of a task that joins the queue now. */
export function lineWaitMs(): number {
  return waiting() * eachMs();
}

/** A queue whose items are called in turns of the event loop. */
interface TurnQueue {
  /** The number of items. */
  size(): number;
  /** Takes the next item. */
  next(): (() => void) | undefined;
  /** Further items are called in the same turn until it has taken this long. */
  maxMs: number;
  now(): number;
}

/**
 * Calls the items of a queue, in turns of the event loop, until it is empty; `workOff` is called after an item was added.
 * Short ones share a turn: with one turn each, five hundred posts took 6 s. `eachMs`: the average time per item, with what
 * else happens in its turn.
 */
export function createTurnRunner({ size, next, maxMs, now }: TurnQueue): {
  workOff(): void;
  eachMs(): number;
} {
  let isCalled = false;
  let eachMs = 0;

  function workOff(): void {
    if (isCalled || size() === 0) return;
    isCalled = true;
    const since = now();
    inWorkTurn(() => callNext({ since, began: now(), count: 0 }));
  }

  function callNext(turn: { since: number; began: number; count: number }): void {
    turn.count++;
    // The item continues in microtasks caused by this call; `nextTick`, requested from a microtask, runs after the last of
    // them. Requested first, in case the call fails.
    queueMicrotask(() => process.nextTick(goOn, turn));
    next()?.();
  }

  function goOn(turn: { since: number; began: number; count: number }): void {
    const at = now();
    if (size() > 0 && at - turn.began < maxMs) {
      callNext(turn);
      return;
    }
    eachMs += (Math.min(LONGEST_TURN_MS, at - turn.since) / turn.count - eachMs) * SHARE;
    isCalled = false;
    workOff();
  }

  return { workOff, eachMs: () => eachMs };
}

/**
 * Returns a function that calls functions whose consequences follow in microtasks, such as those that resolve promises: immediately,
 * as long as less than 5 ms of this turn of the event loop have been used for it, and the rest, oldest first, in later turns. If all are called
 * at once, everything that waits for them continues in one turn.
 */
export function createReleases(now: () => number = () => performance.now()): (release: () => void) => void {
  const waiting = createFifo<() => void>();
  let isCalling = false;
  let turn = -1;
  let usedMs = 0;
  let began = 0;

  function callNext(): void {
    began = now();
    // As above: after the last of the microtasks.
    queueMicrotask(() => process.nextTick(goOn));
    waiting.shift()?.();
  }

  function goOn(): void {
    usedMs += now() - began;
    if (waiting.size === 0) isCalling = false;
    else if (usedMs < MAX_TURN_MS) callNext();
    else inWorkTurn(beginTurn);
  }

  function beginTurn(): void {
    turn = turnNow();
    usedMs = 0;
    callNext();
  }

  return (release) => {
    waiting.push(release);
    if (isCalling) return;
    isCalling = true;
    if (turnNow() !== turn) beginTurn();
    else if (usedMs < MAX_TURN_MS) callNext();
    else inWorkTurn(beginTurn);
  };
}

const releaseSharer = createReleases();

/** The result of work that others may wait for as well. They continue in turns of the event loop, not all at once. */
export async function shared<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } finally {
    await new Promise<void>(releaseSharer);
  }
}
