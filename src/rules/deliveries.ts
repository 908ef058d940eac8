import { DAY_MS } from '../lib/clock.ts';
import type { DeliveryNext, DeliveryStatus } from '../model/delivery.ts';

/** What decides whether a delivery can be sent again. */
export interface Replayable {
  /** As stored. */
  status: DeliveryStatus;
  hasBody: boolean;
  endpointDeleted: boolean;
  /** Its endpoint is read, not called. */
  isPull: boolean;
}

/** Why a delivery is not sent again, or null where it is. */
export function replayRefusal({
  status,
  hasBody,
  endpointDeleted,
  isPull,
}: Replayable): 'no_endpoint' | 'pull' | 'rejected' | 'waiting' | 'no_body' | null {
  if (endpointDeleted) return 'no_endpoint';
  if (isPull) return 'pull';
  if (status === 'rejected') return 'rejected';
  if (status === 'pending' || status === 'retrying') return 'waiting';
  return hasBody ? null : 'no_body';
}

/** How long a dead letter is kept (specification, section 8). */
export const DEAD_LETTER_MS = 7 * DAY_MS;

/** Where a delivery ends that is not tried any more: among the dead letters, where its endpoint keeps them, or nowhere. */
export function endUndelivered(
  keepsDeadLetters: boolean,
  keptUntil: number,
): Extract<DeliveryNext, { status: 'dead' | 'discarded' }> {
  return keepsDeadLetters ? { status: 'dead', expiresAt: keptUntil } : { status: 'discarded' };
}

/** Speeds of attempts as they are counted: four to each doubling of the time, so that a percentile is right within a tenth. */
export const FAILED = -1;

const PER_DOUBLING = 4;

export function speedOf(ms: number): number {
  return Math.ceil(PER_DOUBLING * Math.log2(Math.max(1, ms)));
}

/** So many attempts of one speed. */
export interface SpeedCount {
  speed: number;
  count: number;
}

/** How attempts went: how many there were, which share succeeded, and how long 95 of 100 of those took at most. */
export interface AttemptSummary {
  attempts: number;
  /** Null where there were none. */
  successRate: number | null;
  /** Milliseconds; null where none succeeded. */
  p95: number | null;
}

export function summaryOf(counts: readonly SpeedCount[]): AttemptSummary {
  const sumOf = (some: readonly SpeedCount[]) => some.reduce((sum, { count }) => sum + count, 0);
  const succeeded = counts.filter(({ speed }) => speed !== FAILED).sort((a, b) => a.speed - b.speed);
  const [attempts, successes] = [sumOf(counts), sumOf(succeeded)];
  let left = 0.95 * successes;
  const slowest = succeeded.find(({ count }) => {
    left -= count;
    return left <= 0;
  });
  return {
    attempts,
    successRate: attempts === 0 ? null : successes / attempts,
    p95: slowest === undefined ? null : 2 ** ((slowest.speed - 0.5) / PER_DOUBLING),
  };
}
