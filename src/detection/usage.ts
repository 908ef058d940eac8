import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';

/** Maximum number of owners whose use is remembered. */
const MOST_KNOWN = 10_000;

/** How much of something shared each owner used recently. */
export interface Usage {
  add(owner: string, amount: number): void;
  get(owner: string): number;
}

/** Creates a usage that counts half as much after each `halfLifeMs`. */
export function createUsage(clock: Pick<Clock, 'monotonic'>, halfLifeMs: number): Usage {
  const used = new LRUCache<string, { amount: number; at: number }>({ max: MOST_KNOWN });

  function get(owner: string): number {
    const known = used.get(owner);
    return known === undefined ? 0 : known.amount * 2 ** ((known.at - clock.monotonic()) / halfLifeMs);
  }

  return {
    add: (owner, amount) => void used.set(owner, { amount: get(owner) + amount, at: clock.monotonic() }),
    get,
  };
}
