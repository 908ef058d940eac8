import type { FastifyRateLimitStore } from '@fastify/rate-limit';
import type { Clock } from '../lib/clock.ts';
import { createWindows } from '../lib/windows.ts';

/** Length of every rate-limit window. */
export const WINDOW_MS = 60_000;

/** The windows of one limit: the store that @fastify/rate-limit counts in. */
export interface RateWindows extends FastifyRateLimitStore {
  /** Counts `count` more for `key` where they fit below `limit`, else nothing; whether they did. */
  add(key: string, count: number, limit: number): boolean;
  /** What is counted for `key`, when its window ends, and how long that is, all 0 before its first request. */
  look(key: string): { count: number; resetSeconds: number; ttlMs: number };
  /** Windows of their own. */
  readonly size: number;
}

/** Windows of a minute; `most` clients have one of their own at a time, see {@link createWindows} for those beyond. */
export function createRateWindows(clock: Clock, most?: number): RateWindows {
  const windows = createWindows(clock, WINDOW_MS, most);
  const rates: RateWindows = {
    incr(key, callback) {
      const window = windows.open(key);
      window.count++;
      callback(null, { current: window.count, ttl: windows.left(window) });
    },
    child: () => rates,
    add(key, count, limit) {
      const window = windows.open(key);
      if (window.count + count > limit) return false;
      window.count += count;
      return true;
    },
    look(key) {
      const window = windows.find(key);
      if (window === null) return { count: 0, resetSeconds: 0, ttlMs: 0 };
      return { count: window.count, resetSeconds: window.resetSeconds, ttlMs: windows.left(window) };
    },
    get size() {
      return windows.size;
    },
  };
  return rates;
}
