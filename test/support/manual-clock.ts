import type { Clock } from '../../src/lib/clock.ts';

/** A {@link Clock} that advances only when a test says so. */
export interface ManualClock extends Clock {
  /** Advances by `ms` and fires due timers in order, each at its own time. */
  advance(ms: number): void;
  /** Sets only the wall clock, as a correction of a machine's clock does; timers and `monotonic` are unaffected. */
  stepWall(ms: number): void;
  /** The number of pending timers. */
  pending(): number;
}

interface Waiting {
  due: number;
  fn: () => void;
}

/** A clock at `startMs` (Unix milliseconds). */
export function createManualClock(startMs = Date.UTC(2026, 0, 1)): ManualClock {
  let elapsed = 0;
  let wallOffset = startMs;
  const waiting = new Set<Waiting>();

  const nextDue = (until: number): Waiting | null => {
    let first: Waiting | null = null;
    // A set keeps insertion order, so that timers with the same time fire in the order in which they were created.
    for (const timer of waiting) {
      if (timer.due <= until && (first === null || timer.due < first.due)) first = timer;
    }
    return first;
  };

  return {
    now: () => wallOffset + elapsed,
    monotonic: () => elapsed,
    after(ms, fn) {
      const timer = { due: elapsed + Math.max(0, ms), fn };
      waiting.add(timer);
      return { cancel: () => void waiting.delete(timer) };
    },
    advance(ms) {
      const until = elapsed + ms;
      for (let timer = nextDue(until); timer !== null; timer = nextDue(until)) {
        waiting.delete(timer);
        elapsed = Math.max(elapsed, timer.due);
        timer.fn();
      }
      elapsed = until;
    },
    stepWall(ms) {
      wallOffset += ms;
    },
    pending: () => waiting.size,
  };
}
