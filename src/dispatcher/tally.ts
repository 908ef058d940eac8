import { createDistribution, type Distribution } from '../lib/distribution.ts';
import type { DeliveryNext, Outcome } from '../model/delivery.ts';

/** What became of attempts since the process began, in plain numbers. */
export interface DispatcherTally {
  /** By where the attempt led its delivery; stored outcomes only, and those too large for any attempt. */
  readonly outcomes: Readonly<Record<DeliveryNext['status'] | 'rejected', number>>;
  /** Attempts by the code of their error; `none` for those that succeeded. */
  readonly results: ReadonlyMap<string, number>;
  /** Seconds that attempts took. */
  readonly seconds: Distribution;
  /** An outcome that is stored. */
  count(outcome: Outcome): void;
  /** A delivery that was stored and is too large to be sent. */
  countRejected(): void;
}

const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function createDispatcherTally(): DispatcherTally {
  const outcomes = { delivered: 0, retrying: 0, dead: 0, discarded: 0, rejected: 0 };
  const results = new Map<string, number>();
  const seconds = createDistribution(BOUNDS);
  return {
    outcomes,
    results,
    seconds,
    count({ next, attempt }) {
      outcomes[next.status]++;
      seconds.add(attempt.durationMs / 1_000);
      const result = attempt.error?.code ?? 'none';
      results.set(result, (results.get(result) ?? 0) + 1);
    },
    countRejected: () => void outcomes.rejected++,
  };
}
