import type { Page, PageRequest } from '../model/filters.ts';
import type { NewMail } from '../model/mail.ts';
import type { EndedRun, Source, SourceError, SourcePosition, SourceQuota } from '../model/source.ts';
import type { CommittedSignal, NewSignal } from './signal-store.ts';

/** A leased source, read by one process at a time. */
export interface ClaimedSource {
  source: Source;
  position: SourcePosition;
  /** The token with which the run is stored. */
  token: string;
}

/** A due source and its host; for services, the kind. */
export interface DueSource {
  id: string;
  tenantId: string;
  host: string;
  /** Unix milliseconds. */
  dueAt: number;
}

/** Comes before all due sources in their order. */
export const BEFORE_ALL_DUE: DueSource = { id: '', tenantId: '', host: '', dueAt: -1 };

/** A claim for those of `ids` that are due at `now`, leased until `leaseUntil`. */
export interface SourceClaim {
  now: number;
  leaseUntil: number;
  ids: string[];
  /** A token for this claim only. */
  token: string;
}

/** The result of reading a source. */
export interface SourceRun {
  sourceId: string;
  token: string;
  startedAt: number;
  now: number;
  /** The `nextPollAt` when it was claimed: if it has changed since, another time was requested, which is kept. */
  claimedPollAt: number;
  nextPollAt: number;
  /** Not read before this time, even on request; 0: the site asked for no pause. */
  notBefore: number;
  /** Null: the run succeeded. */
  error: SourceError | null;
  /** The new position; null: unchanged. */
  position: SourcePosition | null;
  itemsSeen: number;
  itemsMatched: number;
  /** Those not yet stored by `addRunSignals`. */
  signals: NewSignal[];
  /** Number of signals already stored by `addRunSignals`. */
  signalsAdded: number;
  /** The quota that the service returned; null: none. */
  quota: SourceQuota | null;
  /** Mail to the owner; null: none. */
  mail: NewMail | null;
}

/** A pause that a host requested. */
export interface HostHold {
  host: string;
  /** The part of the host it applies to: empty for all, else a method or key, as the API counts requests. */
  scope: string;
  /** Unix milliseconds. */
  until: number;
}

/** Sources of posts. */
export interface SourceStore {
  /** `limit` sources at most; names are unique per tenant, case-insensitive. */
  createSource(source: Source, limit: number): Promise<'created' | 'name_taken' | 'full'>;
  getSource(tenantId: string, id: string): Promise<Source | null>;
  countSources(tenantId: string): Promise<number>;
  /** Oldest first. */
  pageSources(tenantId: string, page: PageRequest): Promise<Page<Source>>;
  /**
   * Stores a change if the stored source has the version it is based on; `stale`: it has another, or was deleted. `restart`
   * resets position and errors and discards the run in progress, because the source now reads something else.
   */
  changeSource(source: Source, restart: boolean): Promise<'changed' | 'name_taken' | 'stale'>;
  /**
   * Its signals stay. False if the tenant has no such source or, with a `version`, if it has another version. Nothing returns it any
   * more; what is left of it is removed in pieces by `pruneSources`.
   */
  deleteSource(tenantId: string, id: string, version?: number): Promise<boolean>;
  /** Removes up to `limit` links to signals of a deleted source, and after the last one its row; false: there is no deleted source. */
  pruneSources(limit: number): Promise<boolean>;
  /** Makes an active source due at `now`, or as soon as it may be read; false if it is paused or does not exist. */
  runSource(tenantId: string, id: string, now: number): Promise<boolean>;
  /** The longest due source of each tenant and host, longest due first. */
  dueSources(now: number): Promise<DueSource[]>;
  /** All due sources, longest due first, after one of them. */
  pageDueSources(now: number, after: DueSource | null, limit: number): Promise<DueSource[]>;
  /** Leases sources, so that no other process reads them until the lease ends. */
  claimSources(claim: SourceClaim): Promise<ClaimedSource[]>;
  /** Releases a claimed source unread, due again at `until`; this does not count as a run. */
  putOffSource(run: Pick<SourceRun, 'sourceId' | 'token' | 'claimedPollAt'>, until: number): Promise<void>;
  /**
   * Stores part of a run's signals before its end, so that no commit is long; after a crash, they are duplicates. Returns null
   * like `finishSourceRun`.
   */
  addRunSignals(
    run: Pick<SourceRun, 'sourceId' | 'token'>,
    signals: NewSignal[],
  ): Promise<CommittedSignal[] | null>;
  /**
   * Stores a complete run: its signals with their events and deliveries, the position, the counts and the time of the next run.
   * Null, and nothing is stored, if the source was changed, deleted or claimed by another process since.
   */
  finishSourceRun(run: SourceRun): Promise<CommittedSignal[] | null>;
  /** Results of the source's last runs, newest first; 100 are kept. */
  pageSourceRuns(sourceId: string, page: PageRequest): Promise<Page<EndedRun>>;
  /** Stores a pause that a host requested; the longer of two applies. */
  holdHost(hold: HostHold): Promise<void>;
  /** Pauses that are not over at `now`: the ten thousand that end last. */
  hostHolds(now: number): Promise<HostHold[]>;
  /** Deletes up to `limit` pauses that are over at `before`; returns their number. */
  pruneHolds(before: number, limit: number): Promise<number>;
  /**
   * Ends the leases of dead processes, and returns the sources that they were reading. These rest from `now` on, and are paused
   * after the third time in a row. `own`: also ends leases in the name of this process, which has just started.
   */
  recoverSources(options: { own: boolean; now: number }): Promise<string[]>;
  /**
   * Makes sources due that were created or read by a clock ahead of this one, and keeps the length of their pauses: at startup,
   * and when the clock was set back. Sources being read are unchanged. Returns their number.
   */
  replanSources(now: number): Promise<number>;
  /** When the next source is due after `after`, Unix milliseconds; null: none. */
  nextSourceDue(after: number): Promise<number | null>;
}
