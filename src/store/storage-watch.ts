import type { Clock } from '../lib/clock.ts';
import { storageFaultOf } from '../model/errors.ts';

/** What is reported to operators: changes can no longer be stored, or can again. */
export type StorageChange =
  | { state: 'failing'; fault: 'full' | 'outage' }
  | { state: 'well'; lastedMs: number };

/** Observes the outcome of every change, and reports once when the storage starts to fail and once when it recovers. */
export interface StorageWatch {
  stored(): void;
  failed(error: unknown): void;
}

/**
 * A full disk still accepts small changes occasionally: only after this long without a rejection is it considered
 * recovered.
 */
const QUIET_MS = 5_000;

/**
 * Two states: well, and failing since a moment. Failing begins with the first change that the storage refused, and ends
 * with the first that it took QUIET_MS after the last refusal.
 */
export function createStorageWatch(clock: Clock, report: (change: StorageChange) => void): StorageWatch {
  let failing: { sinceMs: number; lastMs: number } | null = null;
  return {
    stored() {
      if (failing === null) return;
      const now = clock.monotonic();
      if (now - failing.lastMs < QUIET_MS) return;
      const lastedMs = failing.lastMs - failing.sinceMs;
      failing = null;
      report({ state: 'well', lastedMs });
    },
    failed(error) {
      const fault = storageFaultOf(error);
      if (fault === null) return;
      const now = clock.monotonic();
      if (failing === null) report({ state: 'failing', fault });
      failing = { sinceMs: failing?.sinceMs ?? now, lastMs: now };
    },
  };
}
