import type { Clock } from '../lib/clock.ts';

/** A millisecond of the store has room for 16,384 signals of all tenants. */
const MOST_A_MILLISECOND = 256;

/**
 * A clock that advances with the signals that get its time: that of a keyed request stands still, so that all
 * signals of a large batch would be of one millisecond. Posts are planned more slowly, so it is never ahead.
 */
export function advancing(clock: Clock): Clock {
  let at = 0;
  let count = 0;
  return {
    ...clock,
    now() {
      const now = clock.now();
      if (now > at) [at, count] = [now, 0];
      if (++count > MOST_A_MILLISECOND) [at, count] = [at + 1, 1];
      return at;
    },
  };
}
