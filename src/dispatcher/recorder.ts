import type { Clock } from '../lib/clock.ts';
import { createDistribution, type Distribution } from '../lib/distribution.ts';
import type { DeliveryNext, Outcome } from '../model/delivery.ts';
import { storageFaultOf } from '../model/errors.ts';
import type { Store } from '../store/store.ts';

const PAUSE_MS = 1_000;
/** After the length of a lease, the delivery is claimed and sent again anyway, so its outcome is useless. */
const TRIES = 60;

/** Stores outcomes. */
export interface OutcomeRecorder {
  /**
   * Resolves to `lost` if another process holds the lease by now, or if the store keeps failing. Never
   * rejects.
   */
  store(outcome: Outcome): Promise<'kept' | 'lost'>;
  /** Number of outcomes waiting for their commit. */
  readonly waiting: number;
}

export interface OutcomeRecorderDeps {
  store: Store;
  clock: Clock;
  log: Log;
  tally: DispatcherTally;
}

/**
 * Retries storing an outcome every second, so that a full or busy store does not cause a delivered webhook to
 * be sent again. Meanwhile, the number of waiting outcomes limits sending.
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
        log.warn({ deliveryId, endpointId }, 'an attempt outlived its lease; only the attempt was stored');
        return 'lost';
      } catch (error) {
        // Storage failures are logged once, where they start: here, it would be a line per second for each of
        // thousands.
        if (storageFaultOf(error) === null) {
          log.warn(
            { err: error, deliveryId, endpointId, tries },
            'an outcome could not be stored; trying again',
          );
        }
        await new Promise<void>((resolve) => clock.after(PAUSE_MS, resolve));
      }
    }
    log.error({ deliveryId, endpointId }, 'an outcome could not be stored; the delivery will be sent again');
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

/** Counters of attempts since the process started, in plain numbers. */
export interface DispatcherTally {
  /** By the next state of the delivery: only stored outcomes, and deliveries too large to send. */
  readonly outcomes: Readonly<Record<DeliveryNext['status'] | 'rejected', number>>;
  /** Attempts by error code; `none` for successful ones. */
  readonly results: ReadonlyMap<string, number>;
  /** Durations of attempts, in seconds. */
  readonly seconds: Distribution;
  /** Counts a stored outcome. */
  count(outcome: Outcome): void;
  /** Counts a stored delivery that is too large to send. */
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

/** Structured log lines, one per event. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
