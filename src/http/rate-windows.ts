import { crc32 } from 'node:zlib';
import type { FastifyRateLimitStore } from '@fastify/rate-limit';
import type { Clock } from '../lib/clock.ts';

/** Length of every rate-limit window. */
export const WINDOW_MS = 60_000;
/** Clients that have a window of their own at a time; see {@link createRateWindows} for those beyond. */
const MOST_WINDOWS = 50_000;
const SHARED_WINDOWS = 65_536;

/** Requests of one key since its window began. */
interface Window {
  count: number;
  /** Monotonic, so that setting the machine's clock neither opens nor locks a window. */
  endsAt: number;
  /** Unix epoch; kept, as it would waver by a second if it were told from two clocks each time. */
  resetSeconds: number;
}

/** The windows of one limit: the store that @fastify/rate-limit counts in. */
export interface RateWindows extends FastifyRateLimitStore {
  /** Counts `count` more for `key` where they fit below `limit`, else nothing; whether they did. */
  add(key: string, count: number, limit: number): boolean;
  /** What is counted for `key`, when its window ends, and how long that is, all 0 before its first request. */
  look(key: string): { count: number; resetSeconds: number; ttlMs: number };
  /** Windows that are somebody's own. */
  readonly size: number;
}

/**
 * Fixed windows of a minute, each begun by its key's first request. They live in two generations, each filled for a
 * window's length: when the younger is that old, nothing in the elder can still be open, and it is dropped whole.
 *
 * No open window is ever dropped, so that nobody frees a key of his by asking from many others. Where the younger
 * generation holds `most` keys, those that are new share windows, by checksum: counted too high, never too low. A million
 * addresses in a minute are 14 to a shared window, let through as long as those ask no more together than one may; the
 * windows of two such minutes take 16 MiB.
 */
export function createRateWindows(clock: Clock, most = MOST_WINDOWS): RateWindows {
  let young = new Map<string, Window>();
  let old = new Map<string, Window>();
  let turnsAt = clock.monotonic() + WINDOW_MS;
  const shared: (Window | undefined)[] = Array.from({ length: SHARED_WINDOWS });
  let sharedUntil = Number.NEGATIVE_INFINITY;

  function turn(now: number): void {
    if (now < turnsAt) return;
    old = now >= turnsAt + WINDOW_MS ? new Map() : young;
    young = new Map();
    turnsAt = now + WINDOW_MS;
  }

  /** The key's open window, its own or a shared one. */
  function find(key: string, now: number): Window | null {
    turn(now);
    const own = young.get(key) ?? old.get(key);
    if (own !== undefined && now < own.endsAt) return own;
    const common = now < sharedUntil ? shared[slotOf(key)] : undefined;
    return common !== undefined && now < common.endsAt ? common : null;
  }

  function open(key: string, now: number): Window {
    const resetSeconds = Math.ceil((clock.now() + WINDOW_MS) / 1000);
    const opened: Window = { count: 0, endsAt: now + WINDOW_MS, resetSeconds };
    if (young.size < most) {
      young.set(key, opened);
    } else {
      shared[slotOf(key)] = opened;
      sharedUntil = opened.endsAt;
    }
    return opened;
  }

  const windows: RateWindows = {
    incr(key, callback) {
      const now = clock.monotonic();
      const window = find(key, now) ?? open(key, now);
      window.count++;
      callback(null, { current: window.count, ttl: window.endsAt - now });
    },
    child: () => windows,
    add(key, count, limit) {
      const now = clock.monotonic();
      const window = find(key, now) ?? open(key, now);
      if (window.count + count > limit) return false;
      window.count += count;
      return true;
    },
    look(key) {
      const now = clock.monotonic();
      const window = find(key, now);
      if (window === null) return { count: 0, resetSeconds: 0, ttlMs: 0 };
      return { count: window.count, resetSeconds: window.resetSeconds, ttlMs: window.endsAt - now };
    },
    get size() {
      return young.size + old.size;
    },
  };
  return windows;
}

function slotOf(key: string): number {
  return crc32(key) % SHARED_WINDOWS;
}
