import type { Clock, Timer } from '../lib/clock.ts';

/** Something that must be over by a moment. */
export interface Expiring {
  /** Monotonic milliseconds; set by {@link Deadlines.add}. */
  deadline: number;
  /** Called once, at or after the deadline, unless it was removed. Must not throw. */
  expire(): void;
}

/**
 * A timer this late means that the process stood still (stopped, swapped, starved): replies that came meanwhile wait to be
 * read, and deadlines are looked at only after they were.
 */
const STOOD_STILL_MS = 1_000;

/** Deadlines of many requests with one timer. */
export interface Deadlines {
  add(item: Expiring, timeoutMs: number): void;
  remove(item: Expiring, timeoutMs: number): void;
}

/**
 * Requests share a few distinct timeouts (1 to 30 s, whole seconds), and within one of them the first in is the first
 * out: an insertion-ordered set each, whose head is the next to expire. A request that ends in time costs one insertion and
 * one deletion, and the timer is set about once a timeout instead of once a request.
 */
export function createDeadlines(clock: Clock): Deadlines {
  const byTimeout = new Map<number, Set<Expiring>>();
  let timer: Timer | null = null;
  let armedFor = Number.POSITIVE_INFINITY;

  function arm(at: number): void {
    if (at >= armedFor) return;
    timer?.cancel();
    armedFor = at;
    timer = clock.after(Math.max(0, at - clock.monotonic()), wake);
  }

  function wake(): void {
    const late = clock.monotonic() - armedFor > STOOD_STILL_MS;
    timer = null;
    // Timers run before sockets are read; an immediate set by one runs after.
    if (late) setImmediate(sweep);
    else sweep();
  }

  function sweep(): void {
    armedFor = Number.POSITIVE_INFINITY;
    const now = clock.monotonic();
    for (const items of byTimeout.values()) {
      for (const item of items) {
        if (item.deadline > now) {
          arm(item.deadline);
          break;
        }
        items.delete(item);
        item.expire();
      }
    }
  }

  return {
    add(item, timeoutMs) {
      item.deadline = clock.monotonic() + timeoutMs;
      let items = byTimeout.get(timeoutMs);
      if (items === undefined) {
        items = new Set();
        byTimeout.set(timeoutMs, items);
      }
      items.add(item);
      arm(item.deadline);
    },
    remove(item, timeoutMs) {
      byTimeout.get(timeoutMs)?.delete(item);
    },
  };
}
