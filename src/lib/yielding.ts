import type { Clock } from './clock.ts';
import { createFifo } from './queues.ts';

/** Maximum time that a task runs without yielding, and that tasks take of one event-loop turn. */
const MAX_TURN_MS = 5;
/** The weight of a turn in the moving average. */
const SHARE = 0.05;
/** Longer turns, such as after the process was suspended, say little about the next ones. */
const LONGEST_TURN_MS = 500;

/** Tasks that wait between two chunks: one queue, because there is one event loop. */
const line = createFifo<() => void>();
let called = false;
let eachMs = 0;

/**
 * Yields to the event loop between chunks of long work, at most every `maxMs`. Tasks resume in the order in
 * which they yielded: one per turn of the event loop, or several if their chunks are short. If eight tasks
 * resumed in each turn, each turn would take eight times as long, and a request that needs five turns would
 * wait for forty chunks.
 */
export function createYielder(clock: Pick<Clock, 'monotonic'>, maxMs = MAX_TURN_MS): () => Promise<void> {
  let since = clock.monotonic();
  return async () => {
    if (clock.monotonic() - since < maxMs) return;
    await standInLine();
    since = clock.monotonic();
  };
}

/** Resolves after all tasks that are already waiting. For work that cannot be split. */
export function standInLine(): Promise<void> {
  return new Promise((resolve) => {
    line.push(resolve);
    callNext();
  });
}

/** Estimated wait, in milliseconds, of a task that joins the queue now. */
export function lineWaitMs(): number {
  return line.size * eachMs;
}

function callNext(): void {
  if (called || line.size === 0) return;
  called = true;
  const since = performance.now();
  setImmediate(() => runQueued({ since, began: performance.now(), pieces: 0 }));
}

/** Short chunks share a turn of the event loop: with one turn each, five hundred posts took 6 s. */
function runQueued(turn: { since: number; began: number; pieces: number }): void {
  turn.pieces++;
  line.shift()?.();
  // The chunk runs in microtasks caused by this call; `nextTick`, requested from a microtask, runs after the
  // last of them.
  queueMicrotask(() =>
    process.nextTick(() => {
      const now = performance.now();
      if (line.size > 0 && now - turn.began < MAX_TURN_MS) return runQueued(turn);
      eachMs += (Math.min(LONGEST_TURN_MS, now - turn.since) / turn.pieces - eachMs) * SHARE;
      called = false;
      callNext();
    }),
  );
}
