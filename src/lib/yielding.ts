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

/** Callers that are not authenticated yet share this many owners. */
const UNKNOWN_OWNERS = 64;

/**
 * The owner of work for a caller that is not authenticated yet; the same credentials have the same owner. The number of owners is small, because a new one
 * goes before all others, and a client may send a new key with each request.
 */
export function unknownOwner(credentials: string): string {
  const end = credentials.length;
  const code = credentials.charCodeAt(end - 1) * 31 + credentials.charCodeAt(end - 2);
  return `unknown ${(code || 0) % UNKNOWN_OWNERS}`; // NaN if there are fewer characters
}

/** Identifies the turn of the event loop. */
const turnNow = () => performance.nodeTiming.uvMetricsInfo.loopCount;

/** A turn of the event loop that has taken this long is long. */
const LONG_TURN_MS = 20;
let lookedIn = -1;
let lookedAt = 0;

/**
 * Whether this turn of the event loop has taken more than 20 ms since the first call in it. If so, call `standInLine` before more work: a loop over reads
 * that complete synchronously never yields otherwise.
 */
export function isTurnLong(): boolean {
  const [turn, now] = [turnNow(), performance.now()];
  if (turn !== lookedIn) [lookedIn, lookedAt] = [turn, now];
  return now - lookedAt > LONG_TURN_MS;
}

/** The turn of the event loop in which a connection was accepted last. */
let acceptedIn = -1;

/** Must be called when a connection was accepted: see {@link inLaterTurn}. */
export function wasAccepted(): void {
  acceptedIn = turnNow();
}

/**
 * Runs something short in a later turn of the event loop: the next one or, while connections arrive, one in the next 5 ms. Node accepts one per
 * turn: with 15 ms of work in each, a new connection waited for a second behind sixty others.
 */
export function inLaterTurn(run: () => void): void {
  setImmediate(runUnlessAccepting, run, Number.POSITIVE_INFINITY);
}

function runUnlessAccepting(run: () => void, latest: number): void {
  const now = performance.now();
  const isAccepting = acceptedIn === turnNow() && now < latest;
  if (isAccepting) setImmediate(runUnlessAccepting, run, Math.min(latest, now + MAX_TURN_MS));
  else run();
}

/** After this much work in a turn of the event loop, further work waits for the next one. */
const MAX_WORK_MS = 2 * MAX_TURN_MS;

/** Work that waits for a turn, oldest first. It calls `end` once it has done as much as one turn allows. */
const requested = createFifo<(end: () => void) => void>();
let isRequested = false;
const used = { turn: -1, ms: 0 };

function usedMs(): number {
  return used.turn === turnNow() ? used.ms : 0;
}

function use(ms: number): void {
  used.ms = usedMs() + ms;
  used.turn = turnNow();
}

/**
 * Runs work in a later turn of the event loop, one after the other. All long work requests its turns here: each piece is
 * limited, but those of different queues in the same turn added up to pauses of 300 ms.
 */
function inWorkTurn(work: (end: () => void) => void): void {
  requested.push(work);
  if (isRequested) return;
  isRequested = true;
  inLaterTurn(workOneTurn);
}

/** The same for work that is done when it returns, and after the microtasks that follow from it. */
export function runInTurn(run: () => void): void {
  inWorkTurn((end) => {
    queueMicrotask(() => process.nextTick(end)); // first, in case it fails
    run();
  });
}

function workOneTurn(): void {
  if (usedMs() < MAX_WORK_MS) callRequested(requested.size);
  else inLaterTurn(workOneTurn);
}

/** Calls up to `left` items; those requested meanwhile wait for the next turn. */
function callRequested(left: number): void {
  const began = performance.now();
  requested.shift()?.(() => {
    use(performance.now() - began);
    if (left > 1 && usedMs() < MAX_WORK_MS) callRequested(left - 1);
    else if (requested.size > 0) inLaterTurn(workOneTurn);
    else isRequested = false;
  });
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

/** The result of work that yields between its pieces. Each waits for its turn, except the first. */
export async function inTurns<T>(steps: Generator<void, T>): Promise<T> {
  let step = steps.next();
  while (step.done !== true) {
    await standInLine();
    step = steps.next();
  }
  return step.value;
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
    inWorkTurn((end) => callNext({ since, began: now(), count: 0, end }));
  }

  function callNext(turn: RunnerTurn): void {
    turn.count++;
    // The item continues in microtasks caused by this call; `nextTick`, requested from a microtask, runs after the last of
    // them. Requested first, in case the call fails.
    queueMicrotask(() => process.nextTick(goOn, turn));
    next()?.();
  }

  function goOn(turn: RunnerTurn): void {
    const at = now();
    if (size() > 0 && at - turn.began < maxMs) {
      callNext(turn);
      return;
    }
    eachMs += (Math.min(LONGEST_TURN_MS, at - turn.since) / turn.count - eachMs) * SHARE;
    isCalled = false;
    workOff();
    turn.end();
  }

  return { workOff, eachMs: () => eachMs };
}

/** What a runner does in one turn of the event loop. */
interface RunnerTurn {
  /** When the turn was requested, and when it began. */
  since: number;
  began: number;
  count: number;
  end(): void;
}

/**
 * Returns a function that calls functions whose consequences follow in microtasks, such as those that resolve promises: immediately,
 * unless other work waits or much was done in this turn of the event loop, and for 5 ms; the rest, oldest first, in later turns. If all are
 * called at once, everything that waits for them continues in one turn.
 */
export function createReleases(now: () => number = () => performance.now()): (release: () => void) => void {
  const waiting = createFifo<() => void>();
  let isCalling = false;

  function callFor5Ms(end: () => void): void {
    callNext(now(), end);
  }

  function callNext(began: number, end: () => void): void {
    // As above: after the last of the microtasks.
    queueMicrotask(() => process.nextTick(goOn, began, end));
    waiting.shift()?.();
  }

  function goOn(began: number, end: () => void): void {
    if (waiting.size > 0 && now() - began < MAX_TURN_MS) {
      callNext(began, end);
      return;
    }
    isCalling = waiting.size > 0;
    if (isCalling) inWorkTurn(callFor5Ms);
    end();
  }

  return (release) => {
    waiting.push(release);
    if (isCalling) return;
    isCalling = true;
    const since = performance.now();
    if (requested.size > 0 || usedMs() >= MAX_WORK_MS) inWorkTurn(callFor5Ms);
    else callFor5Ms(() => use(performance.now() - since));
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

/**
 * Like {@link shared}, for work that runs once, on the first call. After that, the result is returned without waiting for a turn: with 2,000 concurrent requests
 * for parts of the API's description, other requests waited up to 7 s.
 */
export function sharedOnce<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | null = null;
  let isDone = false;
  return () => {
    if (result !== null && isDone) return result;
    result ??= work().finally(() => {
      isDone = true;
    });
    return shared(result);
  };
}
