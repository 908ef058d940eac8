/**
 * Two requests count for the same window while they start less than this apart. A quarter of a second over the promised
 * 60 s, because the receiver counts arrivals: a first request held up by its handshake must not arrive inside the window of
 * one sent 60 s later over the warm connection.
 */
export const WINDOW_MS = 60_250;

/** Past this many starts in the window they are rounded up to buckets: 1,000,000 of them would be 16 MB an endpoint. */
const EXACT_UP_TO = 6_000;
const BUCKET_MS = 100;

/** A sliding window over one endpoint's request starts. Times are monotonic milliseconds, never going back. */
export interface Throttle {
  /** Takes a place where there is one. */
  take(now: number): boolean;
  /** Places free now. */
  room(now: number): number;
  /** When a place is free: `now`, or the moment enough starts leave the window. */
  nextRoomAt(now: number): number;
  /** Counts a start that was already made (before a restart); in ascending order. */
  record(at: number): void;
  setLimit(limit: number): void;
  /** From when on nothing is remembered, so that forgetting the throttle changes nothing. */
  emptyAt(): number;
}

/**
 * At most `limit` starts in any {@link WINDOW_MS}; an idle endpoint may use all at once. Kept as runs (time, count): one
 * run a start, which is exact, and past the first thousands a run a bucket, dated at the bucket's end, so that a
 * place comes back up to 0.1 s late and never early.
 */
export function createThrottle(limit: number): Throttle {
  let times: number[] = [];
  let counts: number[] = [];
  let head = 0;
  let used = 0;

  function forget(now: number): void {
    while (head < times.length && (times[head] ?? 0) <= now - WINDOW_MS) used -= counts[head++] ?? 0;
    if (head > 512 && head * 2 > times.length) {
      times = times.slice(head);
      counts = counts.slice(head);
      head = 0;
    }
  }

  function record(at: number): void {
    const time = used < EXACT_UP_TO ? at : Math.ceil(at / BUCKET_MS) * BUCKET_MS;
    const last = times.length - 1;
    // A bucket's end lies ahead of `at`: what starts meanwhile belongs to it. Late, never early.
    if (last >= head && (times[last] ?? 0) >= time) counts[last] = (counts[last] ?? 0) + 1;
    else {
      times.push(time);
      counts.push(1);
    }
    used++;
  }

  return {
    record,
    take(now) {
      forget(now);
      if (used >= limit) return false;
      record(now);
      return true;
    },
    room(now) {
      forget(now);
      return Math.max(0, limit - used);
    },
    nextRoomAt(now) {
      forget(now);
      let toLeave = used - limit + 1;
      let at = now;
      for (let i = head; toLeave > 0 && i < times.length; i++) {
        toLeave -= counts[i] ?? 0;
        at = (times[i] ?? 0) + WINDOW_MS;
      }
      return at;
    },
    setLimit(next) {
      limit = next;
    },
    emptyAt: () => (times.at(-1) ?? Number.NEGATIVE_INFINITY) + WINDOW_MS,
  };
}
