import type { Clock } from '../lib/clock.ts';

/** The longest that a batch works without a pause. */
const MAX_TURN_MS = 10;

/** A pause between the pieces of long work: it lets other requests have their turn where the last was a while ago. */
export function createTurns(clock: Pick<Clock, 'monotonic'>, maxMs = MAX_TURN_MS): () => Promise<void> {
  let since = clock.monotonic();
  return async () => {
    if (clock.monotonic() - since < maxMs) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    since = clock.monotonic();
  };
}
