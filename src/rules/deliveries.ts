import { DAY_MS } from '../lib/clock.ts';
import type { DeliveryNext, DeliveryStatus } from '../model/delivery.ts';

/** The facts that decide whether a delivery can be replayed. */
export interface Replayable {
  /** As stored. */
  status: DeliveryStatus;
  hasBody: boolean;
  endpointDeleted: boolean;
  /** Whether its endpoint is a pull endpoint. */
  isPull: boolean;
}

/** Why a delivery cannot be replayed; null if it can. */
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

/**
 * The final state of a delivery that is out of retries: a dead letter if its endpoint keeps them, otherwise
 * discarded.
 */
export function endUndelivered(
  keepsDeadLetters: boolean,
  keptUntil: number,
): Extract<DeliveryNext, { status: 'dead' | 'discarded' }> {
  return keepsDeadLetters ? { status: 'dead', expiresAt: keptUntil } : { status: 'discarded' };
}

/**
 * Bucket of failed attempts. Durations have four buckets per doubling, so percentiles are accurate to within
 * a tenth.
 */
export const FAILED = -1;

const PER_DOUBLING = 4;

export function speedOf(ms: number): number {
  return Math.ceil(PER_DOUBLING * Math.log2(Math.max(1, ms)));
}

/** Number of attempts in one bucket. */
export interface SpeedCount {
  speed: number;
  count: number;
}

/** A summary of attempts: their number, success rate, and the p95 duration of successful ones. */
export interface AttemptSummary {
  attempts: number;
  /** Null if there were no attempts. */
  successRate: number | null;
  /** Milliseconds; null if no attempt succeeded. */
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
