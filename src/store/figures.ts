import type { Distribution } from '../lib/distribution.ts';

/** Deliveries that wait in one state. */
export interface Waiting {
  count: number;
  /** When the one that has been due longest became due, Unix milliseconds; null where none waits. */
  oldestDueAt: number | null;
}

/** What an operator watches of everything that is stored: over all tenants, without naming one. */
export interface StoreCounts {
  waiting: Record<'pending' | 'retrying' | 'held', Waiting>;
  deadLetters: number;
  endpointsPaused: number;
  mailWaiting: number;
  /** Active sources that should have been read a while ago. */
  sourcesLate: number;
  /** Active sources whose last run failed. */
  sourcesFailing: number;
}

/** Leases, throttles and what is due go by each node's own clock: further than this from the database's it is said to be wrong. */
export const MOST_SKEW_MS = 2_000;

/** What an operator watches of the driver. */
export interface StorePulse {
  /** Changes that wait for their commit, those under way included. */
  queueLength: number;
  queueLimit: number;
  /** False once nothing can be stored ever again. */
  accepting: boolean;
  /** Seconds that batches took to be committed, and of how many changes they were. */
  commitSeconds: Distribution;
  commitOperations: Distribution;
  /** Changes that the storage refused since the process began. */
  refused: number;
  /** Seconds that the commit under way has taken so far; 0: none is. */
  underWaySeconds: number;
  databaseBytes: number;
  /** Of what was written and not yet brought into the database. */
  walBytes: number;
  /** The number of the newest migration that the database has. */
  schemaVersion: number;
  /** How far this machine's clock is before the database's; null: it is the same one, or was not measured yet. */
  clockSkewMs: number | null;
  /** Free where the database lies; null where it lies in memory. */
  freeBytes: number | null;
}

/** How much of what is stored waits, and how long a change would. */
export interface FiguresStore {
  /** Its cost grows with the data: for occasional use; it blocks no other call. `lateBefore`: Unix milliseconds. */
  countAll(lateBefore: number): Promise<StoreCounts>;
  /** About how many milliseconds a change of this tenant would wait for its commit that came now; from memory. */
  waitMs(tenantId: string): number;
}
