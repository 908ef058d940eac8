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
