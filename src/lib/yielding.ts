import type { Clock } from './clock.ts';
import { createFifo } from './queues.ts';

/** The longest that a batch works without a pause, and what the works in line may take of a turn of the event loop. */
const MAX_TURN_MS = 5;
/** A turn's share in the mean of turns. */
const SHARE = 0.05;
/** One long turn, as of a process that stood still, says little of those after it. */
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

/** A turn of the event loop: of five hundred posts each short piece had one of its own, and they took 6 s. */
function goOn(turn: { since: number; began: number; pieces: number }): void {
  turn.pieces++;
  line.shift()?.();
  // The piece runs in microtasks that follow from this call; a tick asked for in one runs when none is left.
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
