import type { Distribution } from '../lib/distribution.ts';

/** Waiting deliveries in one state. */
export interface Backlog {
  count: number;
  /** When the longest due one became due, Unix milliseconds; null if none is waiting. */
  oldestDueAt: number | null;
}

/** Counts of stored data for monitoring: over all tenants, without naming any. */
export interface StoreCounts {
  waiting: Record<'pending' | 'retrying' | 'held', Backlog>;
  deadLetters: number;
  endpointsPaused: number;
  mailWaiting: number;
  /** Active sources that are overdue. */
  sourcesLate: number;
  /** Active sources whose last run failed. */
  sourcesFailing: number;
}

/**
 * Leases, throttles and due times depend on each node's own clock: a larger difference from the database's clock is
 * reported.
 */
export const MOST_SKEW_MS = 2_000;

/** The state of the driver for monitoring. */
export interface StorePulse {
  /** Changes waiting for their commit, including those in progress. */
  queueLength: number;
  queueLimit: number;
  /** False once nothing can be stored any more. */
  accepting: boolean;
  /** The duration of commits in seconds, and the number of changes per commit. */
  commitSeconds: Distribution;
  commitOperations: Distribution;
  /** Changes rejected by the storage since the process started. */
  refused: number;
  /** Duration of the commit in progress so far, in seconds; 0: none. */
  underWaySeconds: number;
  databaseBytes: number;
  /** Bytes written but not checkpointed yet. */
  walBytes: number;
  /** The number of the latest applied migration. */
  schemaVersion: number;
  /**
   * How far this machine's clock is ahead of the database's; null: it is the same clock, or has not been measured
   * yet.
   */
  clockSkewMs: number | null;
  /** Free disk space at the database; null if it is in memory. */
  freeBytes: number | null;
}

/** Counts for monitoring, and the expected wait of a change. */
export interface FiguresStore {
  /** Its cost grows with the data: for occasional use; it blocks no other call. `lateBefore`: Unix milliseconds. */
  countAll(lateBefore: number): Promise<StoreCounts>;
  /** Estimated wait of a new change of this tenant for its commit, in milliseconds; from memory. */
  waitMs(tenantId: string): number;
}
