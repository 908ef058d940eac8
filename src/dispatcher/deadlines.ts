import type { Clock, Timer } from '../lib/clock.ts';

/** Something that must be over by a moment. */
export interface Expiring {
  /** Monotonic milliseconds; set by {@link Deadlines.add}. */
  deadline: number;
  /** Called once, at or after the deadline, unless it was removed. Must not throw. */
  expire(): void;
  /** Its neighbours among those with the same timeout, kept by {@link Deadlines}; null where there is none. */
  earlier: Expiring | null;
  later: Expiring | null;
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

/** Those with one timeout, in the order of their deadlines. */
interface Queue {
  first: Expiring | null;
  last: Expiring | null;
}

/**
 * Requests share a few distinct timeouts (1 to 30 s, whole seconds), and within one of them the first in is the first
 * out: a list each, whose head is the next to expire. A request that ends in time costs one insertion and one deletion,
 * and the timer is set about once a timeout instead of once a request.
 *
 * Not a `Set`: V8's outgrown tables point to their successors, so that a dead one in the old generation holds on to all
 * after it with every request that they ever held. Half of what a delivery allocates then outlived its youth, and was
 * copied and swept for nothing.
 */
export function createDeadlines(clock: Clock): Deadlines {
  const byTimeout = new Map<number, Queue>();
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
    for (const queue of byTimeout.values()) {
      for (let item = queue.first; item !== null; item = queue.first) {
        if (item.deadline > now) {
          arm(item.deadline);
          break;
        }
        unlink(queue, item);
        item.expire();
      }
    }
  }

  return {
    add(item, timeoutMs) {
      item.deadline = clock.monotonic() + timeoutMs;
      let queue = byTimeout.get(timeoutMs);
      if (queue === undefined) {
        queue = { first: null, last: null };
        byTimeout.set(timeoutMs, queue);
      }
      append(queue, item);
      arm(item.deadline);
    },
    remove(item, timeoutMs) {
      const queue = byTimeout.get(timeoutMs);
      if (queue !== undefined && isIn(queue, item)) unlink(queue, item);
    },
  };
}

function isIn(queue: Queue, item: Expiring): boolean {
  return item.earlier !== null || queue.first === item;
}

function append(queue: Queue, item: Expiring): void {
  item.earlier = queue.last;
  if (queue.last === null) queue.first = item;
  else queue.last.later = item;
  queue.last = item;
}

/** Leaves no pointer in `item`: what is dead must not hold on to the living. */
function unlink(queue: Queue, item: Expiring): void {
  if (item.earlier === null) queue.first = item.later;
  else item.earlier.later = item.later;
  if (item.later === null) queue.last = item.earlier;
  else item.later.earlier = item.earlier;
  item.earlier = null;
  item.later = null;
}
