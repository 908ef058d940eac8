import type { Clock } from '../lib/clock.ts';
import type { Outcome } from '../model/delivery.ts';
import { storageFaultOf } from '../model/errors.ts';
import type { Store } from '../store/store.ts';
import type { DispatcherLog } from './dispatcher.ts';
import type { DispatcherTally } from './tally.ts';

const PAUSE_MS = 1_000;
/** After a lease's length the delivery is claimed and sent again anyway, so that its outcome is of no more use. */
const TRIES = 60;

/** Takes outcomes to the store. */
export interface Ledger {
  /** `lost` where the lease had passed to someone else or the store stayed out of order. Never rejects. */
  store(outcome: Outcome): Promise<'kept' | 'lost'>;
  /** Outcomes that wait for their commit. */
  readonly waiting: number;
}

export interface LedgerParts {
  store: Store;
  clock: Clock;
  log: DispatcherLog;
  tally: DispatcherTally;
}

/**
 * A full or busy store must not turn a delivered webhook into one sent twice: the outcome waits in memory and is tried
 * again every second. Meanwhile the count of those that wait holds sending back.
 */
export function createLedger({ store, clock, log, tally }: LedgerParts): Ledger {
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
