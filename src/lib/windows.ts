import { crc32 } from 'node:zlib';
import type { Clock } from './clock.ts';

/**
 * Maximum number of keys that have their own window; further keys share windows (see {@link createWindows}).
 */
const MOST_WINDOWS = 50_000;
const SHARED_WINDOWS = 65_536;

/** The count of a key since its window opened. */
export interface Window {
  count: number;
  /** Monotonic, so that changing the machine's clock neither opens nor locks a window. */
  endsAt: number;
  /** Unix time, stored: computing it from two clocks each time would make it vary by a second. */
  resetSeconds: number;
  /** Whether other keys share the window. Counts of a shared window must not be taken back. */
  isShared: boolean;
  /** Set by the caller once it has reported that the limit was reached. */
  isReported: boolean;
}

/** Fixed windows of equal length, each opened by the first use of its key. */
export interface Windows {
  /** The key's open window, whether shared or not; null if there is none. Does not open one. */
  find(key: string): Window | null;
  /** The key's open window; opens one if there is none. */
  open(key: string): Window;
  /** Milliseconds until a window ends. */
  left(window: Window): number;
  /** Number of keys that have their own window. */
  readonly size: number;
}

/**
 * Windows are kept in two generations. Each generation is filled for the length of a window; when the younger
 * one reaches that age, no window in the older one can still be open, and the older one is dropped as a
 * whole.
 *
 * No open window is ever dropped, so using many other keys does not reset a key's count. Once the younger
 * generation has `most` keys, new keys share windows by checksum, which counts them too high rather than too
 * low. With a million keys, about 14 share each window; two such periods take 16 MiB.
 */
export function createWindows(clock: Clock, windowMs: number, most = MOST_WINDOWS): Windows {
  let young = new Map<string, Window>();
  let old = new Map<string, Window>();
  let turnsAt = clock.monotonic() + windowMs;
  // Created when the first key needs it: half a megabyte for each limit, of which most never have that many keys.
  let shared: (Window | undefined)[] = [];
  let sharedUntil = Number.NEGATIVE_INFINITY;

  function turn(now: number): void {
    if (now < turnsAt) return;
    old = now >= turnsAt + windowMs ? new Map() : young;
    young = new Map();
    turnsAt = now + windowMs;
  }

  function find(key: string): Window | null {
    const now = clock.monotonic();
    turn(now);
    const own = young.get(key) ?? old.get(key);
    if (own !== undefined && now < own.endsAt) return own;
    const common = now < sharedUntil ? shared[slotOf(key)] : undefined;
    return common !== undefined && now < common.endsAt ? common : null;
  }

  return {
    find,
    open(key) {
      const known = find(key);
      if (known !== null) return known;
      const endsAt = clock.monotonic() + windowMs;
      const resetSeconds = Math.ceil((clock.now() + windowMs) / 1000);
      const isShared = young.size >= most;
      const opened: Window = { count: 0, endsAt, resetSeconds, isShared, isReported: false };
      if (isShared) {
        if (shared.length === 0) shared = Array.from({ length: SHARED_WINDOWS });
        shared[slotOf(key)] = opened;
        sharedUntil = endsAt;
      } else {
        young.set(key, opened);
      }
      return opened;
    },
    left: ({ endsAt }) => endsAt - clock.monotonic(),
    get size() {
      return young.size + old.size;
    },
  };
}

function slotOf(key: string): number {
  return crc32(key) % SHARED_WINDOWS;
}
