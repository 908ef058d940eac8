import type { Page, PageRequest } from '../model/filters.ts';
import type { NewMail } from '../model/mail.ts';
import type { EndedRun, Source, SourceError, SourcePosition, SourceQuota } from '../model/source.ts';
import type { CommittedSignal, NewSignal } from './signal-store.ts';

/** A source that is being read, by one reader at a time. */
export interface ClaimedSource {
  source: Source;
  position: SourcePosition;
  /** What the run is stored by. */
  token: string;
}

/** A source that is due, and the host that it asks: of a service, its kind. */
export interface DueSource {
  id: string;
  tenantId: string;
  host: string;
  /** Unix milliseconds. */
  dueAt: number;
}

/** What a claim takes: those of `ids` that are due at `now`, each held until `leaseUntil`. */
export interface SourceClaim {
  now: number;
  leaseUntil: number;
  ids: string[];
  /** A token for this claim alone. */
  token: string;
}

/** What came of reading a source. */
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
  /** How far it was read; null leaves the position as it is. */
  position: SourcePosition | null;
  itemsSeen: number;
  itemsMatched: number;
  /** Those that `addRunSignals` did not store before. */
  signals: NewSignal[];
  /** Made before the end by `addRunSignals`. */
  signalsAdded: number;
  /** What the service said; null: nothing. */
  quota: SourceQuota | null;
  /** Told to the owner; null: nothing is. */
  mail: NewMail | null;
}

/** A host asked to be left alone. */
export interface HostHold {
  host: string;
  /** What of it: empty is all; else a method or a key, as its API counts them. */
  scope: string;
  /** Unix milliseconds. */
  until: number;
}

/** Where posts are detected. */
export interface SourceStore {
  /** `limit` sources at most; names are unique in a tenant, in whatever case. */
  createSource(source: Source, limit: number): Promise<'created' | 'name_taken' | 'full'>;
  getSource(tenantId: string, id: string): Promise<Source | null>;
  /** Oldest first. */
  pageSources(tenantId: string, page: PageRequest): Promise<Page<Source>>;
  /**
   * Stores a caller's change where the source before it has the version it grew from; `stale`: it has not, or it is gone.
   * `restart` forgets position, errors and the run under way: the source is another from now on.
   */
  changeSource(source: Source, restart: boolean): Promise<'changed' | 'name_taken' | 'stale'>;
  /** Its signals stay. False where the tenant has no such source, or, with a `version`, where it has another. */
  deleteSource(tenantId: string, id: string, version?: number): Promise<boolean>;
  /** Makes an active source due at `now`, or as soon as it may be read; false where it is not active or not there. */
  runSource(tenantId: string, id: string, now: number): Promise<boolean>;
  /** Of each tenant and host the source that was due longest, the longest waiting first. */
  dueSources(now: number): Promise<DueSource[]>;
  /** Leases sources, so that no other process reads them until the lease ends. */
  claimSources(claim: SourceClaim): Promise<ClaimedSource[]>;
  /** Gives a claimed source back unread, due again at `until`; nothing of it counts as a run. */
  putOffSource(run: Pick<SourceRun, 'sourceId' | 'token' | 'claimedPollAt'>, until: number): Promise<void>;
  /**
   * Stores a part of a run's signals ahead of its end, so that no commit is long; made again after a crash they are known.
   * Null, and nothing is stored, as `finishSourceRun`.
   */
  addRunSignals(
    run: Pick<SourceRun, 'sourceId' | 'token'>,
    signals: NewSignal[],
  ): Promise<CommittedSignal[] | null>;
  /**
   * Stores a run whole: its signals with all they cause, the position, the counts and the next time. Null, and nothing is
   * stored, where the source was changed, deleted or claimed by another since.
   */
  finishSourceRun(run: SourceRun): Promise<CommittedSignal[] | null>;
  /** What came of the source's last runs, newest first; 100 are kept. */
  pageSourceRuns(sourceId: string, page: PageRequest): Promise<Page<EndedRun>>;
  /** Remembers a pause that a host asked for; of two the longer stands. */
  holdHost(hold: HostHold): Promise<void>;
  /** The pauses that are not over at `now`. */
  hostHolds(now: number): Promise<HostHold[]>;
  /**
   * Ends the leases of processes that are gone, and returns the sources that they were reading, which rest from `now` on and are
   * paused at the third time in a row. `own`: the leases in the name of this process end too, as it has just begun.
   */
  recoverSources(options: { own: boolean; now: number }): Promise<string[]>;
  /**
   * Makes those due now that a clock ahead of this one has read or made, with the pauses they asked for as long as they were:
   * for a start, and when the clock was set back. Those that are being read stay. Answers how many.
   */
  replanSources(now: number): Promise<number>;
  /** When the next source is due after `after`, Unix milliseconds; null: none is. */
  nextSourceDue(after: number): Promise<number | null>;
}
