import type { Clock } from './clock.ts';
import { createFifo } from './fifo.ts';

/** The longest that a batch works without a pause, and what the works in line may take of a turn of the event loop. */
const MAX_TURN_MS = 5;
/** A turn's share in the mean of turns. */
const SHARE = 0.05;
/** One long turn, as of a process that stood still, says little of those after it. */
const LONGEST_TURN_MS = 500;

/** Long work stands here between two pieces of it: one line, as there is one event loop. */
const line = createFifo<() => void>();
let called = false;
let eachMs = 0;

/**
 * A pause between the pieces of long work: it lets other requests have their turn where the last was a while ago. Long works
 * go on in the order in which they paused, in each turn of the event loop one, or as many as are short: all of eight would make
 * every turn eight times as long, and a request that takes five turns would wait for forty pieces.
 */
export function createTurns(clock: Pick<Clock, 'monotonic'>, maxMs = MAX_TURN_MS): () => Promise<void> {
  let since = clock.monotonic();
  return async () => {
    if (clock.monotonic() - since < maxMs) return;
    await standInLine();
    since = clock.monotonic();
  };
}

/** Resolves when it is its turn, after all that stand here already: for a piece of work that cannot be cut. */
export function standInLine(): Promise<void> {
  return new Promise((resolve) => {
    line.push(resolve);
    callNext();
  });
}

/** About how many milliseconds work would wait that stood in line now. */
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
