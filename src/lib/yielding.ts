import type { Clock } from './clock.ts';
import { createFifo } from './queues.ts';

/** The longest a task runs without yielding, and the share of an event-loop turn that tasks may take. */
const MAX_TURN_MS = 5;
/** The weight of a turn in the mean duration. */
const SHARE = 0.05;
/** A single long turn, such as of a suspended process, says little about the next ones. */
const LONGEST_TURN_MS = 500;

/** Long work waits here between two chunks: one queue, as there is one event loop. */
const line = createFifo<() => void>();
let called = false;
let eachMs = 0;

/**
 * Yields to the event loop between chunks of long work, at most every `maxMs`. Tasks resume in the order in which they
 * yielded, one per turn of the event loop, or as many as are short: resuming all of eight tasks would make every turn eight
 * times as long, and a request that takes five turns would wait for forty chunks.
 */
export function createYielder(clock: Pick<Clock, 'monotonic'>, maxMs = MAX_TURN_MS): () => Promise<void> {
  let since = clock.monotonic();
  return async () => {
    if (clock.monotonic() - since < maxMs) return;
    await standInLine();
    since = clock.monotonic();
  };
}

/** Resolves after all tasks that already wait: for work that cannot be split. */
export function standInLine(): Promise<void> {
  return new Promise((resolve) => {
    line.push(resolve);
    callNext();
  });
}

/** Roughly how many milliseconds a task that queued now would wait. */
export function lineWaitMs(): number {
  return line.size * eachMs;
}

function callNext(): void {
  if (called || line.size === 0) return;
  called = true;
  const since = performance.now();
  setImmediate(() => goOn({ since, began: performance.now(), pieces: 0 }));
}

/** Short pieces share a turn of the event loop: with one turn each, five hundred posts took 6 s. */
function goOn(turn: { since: number; began: number; pieces: number }): void {
  turn.pieces++;
  line.shift()?.();
  // The piece runs in microtasks caused by this call; a tick requested in one of them runs when none is left.
  queueMicrotask(() =>
    process.nextTick(() => {
      const now = performance.now();
      if (line.size > 0 && now - turn.began < MAX_TURN_MS) return goOn(turn);
      eachMs += (Math.min(LONGEST_TURN_MS, now - turn.since) / turn.pieces - eachMs) * SHARE;
      called = false;
      callNext();
    }),
  );
}
