import type { Clock } from '../lib/clock.ts';
import { createDistribution, type Distribution } from '../lib/distribution.ts';
import type { DeliveryNext, Outcome } from '../model/delivery.ts';
import { storageFaultOf } from '../model/errors.ts';
import type { Store } from '../store/store.ts';

const PAUSE_MS = 1_000;
/** After a lease's length the delivery is claimed and sent again anyway, so that its outcome is of no more use. */
const TRIES = 60;

/** Takes outcomes to the store. */
export interface OutcomeRecorder {
  /** `lost` where the lease had passed to someone else or the store stayed out of order. Never rejects. */
  store(outcome: Outcome): Promise<'kept' | 'lost'>;
  /** Outcomes that wait for their commit. */
  readonly waiting: number;
}

export interface OutcomeRecorderDeps {
  store: Store;
  clock: Clock;
  log: Log;
  tally: DispatcherTally;
}

/**
 * A full or busy store must not turn a delivered webhook into one sent twice: the outcome waits in memory and is tried
 * again every second. Meanwhile the count of those that wait holds sending back.
 */
export function createOutcomeRecorder({ store, clock, log, tally }: OutcomeRecorderDeps): OutcomeRecorder {
  let waiting = 0;

  async function tryAll(outcome: Outcome): Promise<'kept' | 'lost'> {
    const { deliveryId, endpointId } = outcome;
    for (let tries = 1; tries <= TRIES; tries++) {
      try {
        if (await store.recordOutcome(outcome)) {
          tally.count(outcome);
          return 'kept';
        }
        log.warn({ deliveryId, endpointId }, 'an attempt outlived its lease; only the attempt was kept');
        return 'lost';
      } catch (error) {
        // That the storage fails is said once, where it begins: here it would be a line a second for each of thousands.
        if (storageFaultOf(error) === null) {
          log.warn(
            { err: error, deliveryId, endpointId, tries },
            'an outcome could not be stored; trying again',
          );
        }
        await new Promise<void>((resolve) => clock.after(PAUSE_MS, resolve));
      }
    }
    log.error({ deliveryId, endpointId }, 'an outcome was given up; the delivery will be sent again');
    return 'lost';
  }

  return {
    get waiting() {
      return waiting;
    },
    async store(outcome) {
      waiting++;
      const fate = await tryAll(outcome);
      waiting--;
      return fate;
    },
  };
}

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

/** Structured log lines, one an event. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
