import type { Clock } from '../lib/clock.ts';
import { storageFaultOf } from '../model/errors.ts';

/**
 * What is reported to operators: changes can no longer be stored, or can again; or a part of the storage is damaged. `reason`: in
 * the words of the database.
 */
export type StorageChange =
  | { state: 'failing'; fault: 'full' | 'outage'; reason: string | null }
  | { state: 'well'; lastedMs: number }
  | { state: 'damaged'; cause: unknown };

/**
 * Observes the outcome of every change, and reports once when the storage starts to fail and once when it recovers.
 * Damage found by a read or a change is reported once, and is permanent.
 */
export interface StorageWatch {
  /** Whether damage was met. */
  readonly isDamaged: boolean;
  stored(): void;
  failed(error: unknown): void;
  /** A read failed: only damage is reported. */
  unread(error: unknown): void;
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
  let isDamaged = false;

  function unread(error: unknown): void {
    if (isDamaged || storageFaultOf(error) !== 'damaged') return;
    isDamaged = true;
    report({ state: 'damaged', cause: error instanceof Error ? error.cause : undefined });
  }

  return {
    get isDamaged() {
      return isDamaged;
    },
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
      if (fault === 'damaged') return unread(error);
      const now = clock.monotonic();
      if (failing === null) report({ state: 'failing', fault, reason: reasonOf(error) });
      failing = { sinceMs: failing?.sinceMs ?? now, lastMs: now };
    },
    unread,
  };
}

function reasonOf(error: unknown): string | null {
  return error instanceof Error && error.cause instanceof Error ? error.cause.message : null;
}

/** Fails the probe of a storage in which damage was met: a restart checks it, and may refuse to start. */
export function refuseDamage({ isDamaged }: StorageWatch): void {
  if (!isDamaged) return;
  throw new Error(
    'a part of the database is damaged, and requests that need it get 503: check it, and restore a backup',
  );
}
