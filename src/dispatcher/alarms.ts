import { type Clock, DAY_MS, type Timer } from '../lib/clock.ts';

/** Alarms that are due within this time ring together. */
const GRAIN_MS = 5;
/**
 * A timer that is this late means that the process was suspended, swapped out or starved. Responses that
 * arrived meanwhile are read before deadlines are checked.
 */
const STOOD_STILL_MS = 1_000;
/** Maximum number of alarms that ring together, the rest a grain later: what an expired deadline causes takes 0.15 ms, and of 2,700 took 0.3 s. */
const MOST_AT_ONCE = 200;
/** setTimeout is limited to 2^31 − 1; waking up once a day is harmless. */
const MAX_TIMER_MS = DAY_MS;

/** The time at which something is to be examined again. Only this file writes its fields. */
export interface Alarm<T> {
  readonly item: T;
  /** Monotonic milliseconds; Infinity if it is not set. */
  at: number;
  /** Index in the heap. */
  index: number;
}

/** Any number of alarms on a single timer. */
export interface Alarms<T> {
  /** Moves an alarm to an earlier or later time; Infinity removes it. */
  set(alarm: Alarm<T>, at: number): void;
  /** Stops all alarms. */
  stop(): void;
}

export function createAlarm<T>(item: T): Alarm<T> {
  return { item, at: Number.POSITIVE_INFINITY, index: -1 };
}

/**
 * A binary heap ordered by time: finds due alarms without examining the others, and moves one of 100,000
 * alarms in at most 17 steps, nearly always in one, because a new alarm is later than most others.
 */
export function createAlarms<T>(clock: Clock, ring: (due: readonly T[]) => void): Alarms<T> {
  const heap: Alarm<T>[] = [];
  let timer: Timer | null = null;
  let timerAt = Number.POSITIVE_INFINITY;
  let stopped = false;

  function put(alarm: Alarm<T>, index: number): void {
    heap[index] = alarm;
    alarm.index = index;
  }

  function rise(alarm: Alarm<T>): void {
    let index = alarm.index;
    while (index > 0) {
      const parent = heap[(index - 1) >> 1];
      if (parent === undefined || parent.at <= alarm.at) break;
      const above = parent.index;
      put(parent, index);
      index = above;
    }
    put(alarm, index);
  }

  function sink(alarm: Alarm<T>): void {
    let index = alarm.index;
    for (;;) {
      const left = heap[2 * index + 1];
      const right = heap[2 * index + 2];
      const child = right !== undefined && left !== undefined && right.at < left.at ? right : left;
      if (child === undefined || child.at >= alarm.at) break;
      const below = child.index;
      put(child, index);
      index = below;
    }
    put(alarm, index);
  }

  function remove(alarm: Alarm<T>): void {
    const last = heap.pop();
    if (last !== undefined && last !== alarm) {
      last.index = alarm.index;
      rise(last);
      sink(last);
    }
    alarm.index = -1;
  }

  function arm(): void {
    const first = heap[0];
    if (first === undefined || first.at >= timerAt || stopped) return;
    timer?.cancel();
    timerAt = first.at;
    const waitMs = Math.min(Math.max(first.at - clock.monotonic(), GRAIN_MS), MAX_TIMER_MS);
    timer = clock.after(waitMs, wake);
  }

  function wake(): void {
    const late = clock.monotonic() - timerAt > STOOD_STILL_MS;
    // Timers run before sockets are read; an immediate set by a timer runs after.
    if (late) setImmediate(sweep);
    else sweep();
  }

  function sweep(): void {
    timerAt = Number.POSITIVE_INFINITY;
    const now = clock.monotonic();
    const due: T[] = [];
    for (
      let first = heap[0];
      first !== undefined && first.at <= now && due.length < MOST_AT_ONCE;
      first = heap[0]
    ) {
      remove(first);
      first.at = Number.POSITIVE_INFINITY;
      due.push(first.item);
    }
    if (due.length > 0) ring(due);
    arm();
  }

  return {
    set(alarm, at) {
      if (at === alarm.at) return;
      alarm.at = at;
      if (at === Number.POSITIVE_INFINITY) {
        remove(alarm);
        return;
      }
      if (alarm.index === -1) alarm.index = heap.push(alarm) - 1;
      rise(alarm);
      sink(alarm);
      arm();
    },
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}
