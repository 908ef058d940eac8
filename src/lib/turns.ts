import type { Clock } from './clock.ts';
import { createFifo } from './fifo.ts';

/** The longest that a batch works without a pause. */
const MAX_TURN_MS = 5;

/** Whoever's work is long stands here between two pieces of it: one line, as there is one event loop. */
const line = createFifo<() => void>();
let called = false;

/**
 * A pause between the pieces of long work: it lets other requests have their turn where the last was a while ago. In each
 * turn of the event loop one long work goes on, in the order in which they paused: of eight at once every turn would be
 * eight times as long, and a request that takes five turns wait for forty pieces.
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

function callNext(): void {
  if (called || line.size === 0) return;
  called = true;
  setImmediate(() => {
    called = false;
    const goOn = line.shift();
    callNext(); // first, as the work goes on within this turn
    goOn?.();
  });
}
