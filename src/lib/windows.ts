import { crc32 } from 'node:zlib';
import type { Clock } from './clock.ts';

/** Keys that have a window of their own at a time; see {@link createWindows} for those beyond. */
const MOST_WINDOWS = 50_000;
const SHARED_WINDOWS = 65_536;

/** What was counted for one key since its window opened. */
export interface Window {
  count: number;
  /** Monotonic, so that setting the machine's clock neither opens nor locks a window. */
  endsAt: number;
  /** Unix epoch; kept, as it would waver by a second if it were computed from two clocks each time. */
  resetSeconds: number;
  /** Whether other keys count in it too: their counts must not be taken back. */
  isShared: boolean;
  /** For the caller: whether the limit was reported already. */
  isTold: boolean;
}

/** Fixed windows of one length, each opened by the first use of its key. */
export interface Windows {
  /** The key's open window, its own or a shared one; null where it has none, and none is made. */
  find(key: string): Window | null;
  /** The key's open window, which is opened where it has none. */
  open(key: string): Window;
  /** Milliseconds until a window ends. */
  left(window: Window): number;
  /** Windows of their own. */
  readonly size: number;
}

/**
 * The windows live in two generations, each filled for a window's length: when the younger is that old, nothing in the elder
 * can still be open, and it is dropped whole.
 *
 * No open window is ever dropped, so a key's count cannot be reset by using many others. Where the younger generation
 * holds `most` keys, those that are new share windows, by checksum: counted too high, never too low. A million keys in one
 * window's length are 14 to a shared window; the windows of two such lengths take 16 MiB.
 */
export function createWindows(clock: Clock, windowMs: number, most = MOST_WINDOWS): Windows {
  let young = new Map<string, Window>();
  let old = new Map<string, Window>();
  let turnsAt = clock.monotonic() + windowMs;
  const shared: (Window | undefined)[] = Array.from({ length: SHARED_WINDOWS });
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
      const opened: Window = { count: 0, endsAt, resetSeconds, isShared, isTold: false };
      if (isShared) {
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
