import type { Clock } from '../lib/clock.ts';
import { createDistribution, type Distribution } from '../lib/distribution.ts';
import { storageFaultOf } from '../model/errors.ts';
import type { Committed } from './write-queue.ts';

/** Measures commits. */
export interface CommitMeter {
  /** The clock it uses. */
  readonly clock: Clock;
  readonly seconds: Distribution;
  readonly operations: Distribution;
  /** Changes rejected because the storage was full, locked or failing. */
  readonly refused: number;
  /** Duration of the commit in progress so far, in seconds; 0: none. Shows a hanging commit, whose end is never measured. */
  readonly underWaySeconds: number;
  /** Starts a batch with this number of changes; the returned function ends it with the failed ones. */
  begin(changes: number): (failed: Committed['failed']) => void;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const OPERATIONS = [1, 2, 5, 10, 20, 50, 100, 200];

export function createCommitMeter(clock: Clock): CommitMeter {
  const seconds = createDistribution(SECONDS);
  const operations = createDistribution(OPERATIONS);
  let refused = 0;
  let since: number | null = null;
  return {
    clock,
    seconds,
    operations,
    get refused() {
      return refused;
    },
    get underWaySeconds() {
      return since === null ? 0 : (clock.monotonic() - since) / 1_000;
    },
    begin(changes) {
      const startedAt = clock.monotonic();
      since = startedAt;
      operations.add(changes);
      return (failed) => {
        seconds.add((clock.monotonic() - startedAt) / 1_000);
        since = null;
        for (const { error } of failed) if (storageFaultOf(error) !== null) refused++;
      };
    },
  };
}
