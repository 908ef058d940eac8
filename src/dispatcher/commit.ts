import type { Clock } from '../lib/clock.ts';
import type { Outcome } from '../model/delivery.ts';
import type { Store } from '../store/store.ts';
import type { DispatcherLog } from './dispatcher.ts';

const PAUSE_MS = 1_000;
/** After a lease's length the delivery is claimed and sent again anyway, so that its outcome is of no more use. */
const TRIES = 60;

/**
 * Stores an outcome, then calls `done`, once: `lost` where its lease had passed to someone else or the store stayed out
 * of order.
 */
export type Commit = (outcome: Outcome, done: (fate: 'kept' | 'lost') => void) => void;

/**
 * A full or busy store must not turn a delivered webhook into one sent twice: the outcome waits in memory and is tried
 * again every second. Meanwhile the count of uncommitted outcomes holds sending back.
 */
export function createCommit(parts: { store: Store; clock: Clock; log: DispatcherLog }): Commit {
  const { store, clock, log } = parts;

  function attempt(outcome: Outcome, done: Parameters<Commit>[1], tries: number): void {
    const { deliveryId, endpointId } = outcome;
    const onStored = (applied: boolean) => {
      if (!applied)
        log.warn({ deliveryId, endpointId }, 'an attempt outlived its lease; only the attempt was kept');
      done(applied ? 'kept' : 'lost');
    };
    const onFault = (error: unknown) => {
      log.warn({ err: error, deliveryId, endpointId, tries }, 'an outcome could not be stored; trying again');
      clock.after(PAUSE_MS, () => {
        if (tries < TRIES) {
          attempt(outcome, done, tries + 1);
          return;
        }
        log.error({ deliveryId, endpointId }, 'an outcome was given up; the delivery will be sent again');
        done('lost');
      });
    };
    void store.recordOutcome(outcome).then(onStored, onFault);
  }

  return (outcome, done) => attempt(outcome, done, 1);
}
