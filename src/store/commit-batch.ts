import { type Committed, unavailable } from './write-queue.ts';

/**
 * What an error says about the storage: `full` may hit one big change and spare a small one; `outage` (locked,
 * read-only, failing device) hits all alike; null is the change's own fault.
 */
export type StorageFault = 'full' | 'outage' | null;

/** What a driver has for committing synchronously. */
export interface Transactions {
  /** Runs `work` in one transaction: commits when it returns, rolls back and throws on when it or COMMIT throws. */
  runBatch(work: () => void): void;
  faultOf(error: unknown): StorageFault;
}

/**
 * Runs all steps in one transaction; where that fails each in one of its own, so that a poison step fails alone. A step may
 * so be run twice (after a roll-back).
 */
export function commitBatch(steps: (() => unknown)[], { runBatch, faultOf }: Transactions): Committed {
  const values: unknown[] = [];
  const failed: Committed['failed'] = [];

  /** The cause is boxed because anything can be thrown. */
  function attempt(from: number, to: number): { cause: unknown } | null {
    try {
      runBatch(() => {
        for (let index = from; index < to; index++) values[index] = steps[index]?.();
      });
      return null;
    } catch (cause) {
      return { cause };
    }
  }

  function fail(from: number, to: number, cause: unknown): void {
    const error = translateFault(cause, faultOf);
    for (let index = from; index < to; index++) {
      values[index] = undefined;
      failed.push({ index, error });
    }
  }

  const whole = attempt(0, steps.length);
  // No second try where every one would meet the same fault: a lock costs its whole time-out each time, and what a
  // failed flush of the disk left behind is not known to be safe (pages may be marked clean that were never written).
  if (whole !== null && (steps.length === 1 || faultOf(whole.cause) === 'outage')) {
    fail(0, steps.length, whole.cause);
  } else if (whole !== null) {
    for (let index = 0; index < steps.length; index++) {
      const single = attempt(index, index + 1);
      if (single === null) continue;
      const outage = faultOf(single.cause) === 'outage';
      fail(index, outage ? steps.length : index + 1, single.cause);
      if (outage) break;
    }
  }
  return { values, failed };
}

/** The error as callers get it: a fault of the storage becomes `UNAVAILABLE`, anything else stays what it is. */
export function translateFault(cause: unknown, faultOf: Transactions['faultOf']): unknown {
  const fault = faultOf(cause);
  if (fault === null) return cause;
  const detail = fault === 'full' ? 'The storage is full.' : 'The storage cannot be reached right now.';
  const error = unavailable(`${detail} Nothing was stored; try again shortly.`, fault);
  error.cause = cause;
  return error;
}
