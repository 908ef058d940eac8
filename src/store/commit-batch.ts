import type { StorageFaultKind } from '../model/errors.ts';
import { type Committed, unavailable } from './write-queue.ts';

/**
 * The storage fault behind an error: `full` may affect a large change and not a small one; `outage` (locked,
 * read-only, failing device) affects all alike; `damaged` those that need a damaged page; null: the change itself failed.
 */
export type StorageFault = StorageFaultKind | null;

/** What a rolled-back transaction, or part of one, failed with; boxed because anything can be thrown. */
interface Lost {
  cause: unknown;
}

/** The transactions of a synchronous driver. */
export interface Transactions {
  /** Runs `work` in one transaction: commits when it returns. If it or COMMIT throws, all is rolled back, and the cause is returned. */
  runBatch(work: () => void): Lost | null;
  /**
   * Runs part of a batch. If it throws, only that part is rolled back, and the cause is returned.
   * @throws if the whole transaction is lost with it
   */
  tryPart(work: () => void): Lost | null;
  faultOf(error: unknown): StorageFault;
}

/**
 * Applies all changes in one transaction. If one fails by its own fault, all are applied once more in one transaction with a
 * savepoint each, so that only that one fails, without extra disk flushes for the others; without a failure there are no
 * savepoints. If the storage is full, each change gets its own transaction. A change can therefore be applied more than once,
 * after a rollback.
 */
export function commitBatch<Change>(
  changes: readonly Change[],
  apply: (change: Change) => unknown,
  { runBatch, tryPart, faultOf }: Transactions,
): Committed {
  const values: unknown[] = [];
  const failed: Committed['failed'] = [];

  function applyOne(index: number): void {
    values[index] = apply(changes[index] as Change);
  }

  function applyAll(): void {
    for (let index = 0; index < changes.length; index++) values[index] = apply(changes[index] as Change);
  }

  function applyApart(): void {
    for (let index = 0; index < changes.length; index++) {
      const lost = tryPart(() => applyOne(index));
      if (lost !== null) fail(index, index + 1, lost.cause);
    }
  }

  function fail(from: number, to: number, cause: unknown): void {
    const error = translateFault(cause, faultOf);
    for (let index = from; index < to; index++) {
      values[index] = undefined;
      failed.push({ index, error });
    }
  }

  let lost = runBatch(applyAll);
  if (lost !== null && changes.length > 1 && faultOf(lost.cause) === null) {
    lost = runBatch(applyApart);
    if (lost !== null) failed.length = 0;
  }
  // No retry if all changes would fail the same way: a lock costs its whole timeout each time, and after a failed flush the
  // state of the file is uncertain (pages may be marked clean that were never written).
  if (lost !== null && (changes.length === 1 || faultOf(lost.cause) === 'outage')) {
    fail(0, changes.length, lost.cause);
  } else if (lost !== null) {
    for (let index = 0; index < changes.length; index++) {
      const single = runBatch(() => applyOne(index));
      if (single === null) continue;
      const outage = faultOf(single.cause) === 'outage';
      fail(index, outage ? changes.length : index + 1, single.cause);
      if (outage) break;
    }
  }
  return { values, failed };
}

const DETAILS: Record<StorageFaultKind, string> = {
  full: 'The storage is full. Nothing was stored; try again shortly.',
  outage: 'The storage cannot be reached right now. Nothing was stored; try again shortly.',
  damaged:
    'A part of the storage that this needs is damaged. It works again once the operator has restored a backup.',
};

/** The error for callers: a storage fault becomes `UNAVAILABLE`, anything else is unchanged. */
export function translateFault(cause: unknown, faultOf: Transactions['faultOf']): unknown {
  const fault = faultOf(cause);
  if (fault === null) return cause;
  const error = unavailable(DETAILS[fault], fault);
  error.cause = cause;
  return error;
}
