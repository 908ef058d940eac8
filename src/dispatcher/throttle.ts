/**
 * Two requests are in the same window if they start less than this apart. It is a quarter of a second longer
 * than the promised 60 s, because receivers count arrivals: a first request delayed by its handshake must not
 * arrive within 60 s of one sent later over the established connection.
 */
export const WINDOW_MS = 60_250;

/**
 * Above this number of starts in the window, they are grouped into buckets: 1,000,000 of them would take 16
 * MB per endpoint.
 */
const EXACT_UP_TO = 6_000;
const BUCKET_MS = 100;

/** A sliding window over the request starts of one endpoint. Times are monotonic milliseconds. */
export interface Throttle {
  /** Counts a request if the limit allows it. */
  take(now: number): boolean;
  /** Number of requests allowed now. */
  room(now: number): number;
  /** When the next request is allowed: `now`, or when enough starts have left the window. */
  nextRoomAt(now: number): number;
  /** Counts a start before a restart; in ascending order. */
  record(at: number): void;
  setLimit(limit: number): void;
  /** When the last start leaves the window; forgetting the throttle after that changes nothing. */
  emptyAt(): number;
}

/**
 * Allows `limit` starts in any {@link WINDOW_MS}; an idle endpoint may use all of them at once. Stored as
 * runs (time, count): one run per start, which is exact, and above the first thousands one run per bucket,
 * dated at its end, so that a start leaves the window up to 0.1 s late, and never early.
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
    // The end of the current bucket is later than `at`: starts in between belong to it. Late, never early.
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
