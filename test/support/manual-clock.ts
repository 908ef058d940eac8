import type { Clock } from '../../src/lib/clock.ts';

/** A {@link Clock} that stands still until a test moves it. */
export interface ManualClock extends Clock {
  /** Moves time on by `ms` and fires what falls due on the way, in order, each at its own moment. */
  advance(ms: number): void;
  /** Sets wall time alone, as a corrected machine clock does; timers and `monotonic` do not notice. */
  stepWall(ms: number): void;
  /** How many timers wait. */
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
    // A set keeps the order of insertion, so timers of one moment fire in the order they were asked for.
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
