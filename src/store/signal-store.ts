import type { ObservedCompany } from '../model/company.ts';
import type { RoutedEvent } from '../model/event.ts';
import type { Position, StoredPage } from '../model/filters.ts';
import type { Classification, SignalQuery, SignalTriage, SignalView } from '../model/signal.ts';
import { searchedFacts } from '../rules/words.ts';
import type { Taking } from './delivery-store.ts';

/** A scored signal ready to be stored, with the events and deliveries it causes. */
export interface NewSignal {
  id: string;
  tenantId: string;
  profileId: string;
  platform: string;
  /** Identifies the post on its platform: the post's id, with a prefix if the id alone is not unique. */
  externalId: string | null;
  /** Canonical URL of the post, or null; identifies the post if there is no external id. */
  canonicalUrl: string | null;
  signalType: string;
  classification: string;
  score: number;
  /** When it was detected, Unix milliseconds. */
  timestamp: number;
  companyDomain: string;
  /** Facts about the company at `companyDomain`; null if it names none. */
  company: ObservedCompany | null;
  /** Facts about people and company that it can be found by, in addition to its text ({@link searchedFacts}). */
  facts: string[];
  /** Keys that near-duplicate texts share within the profile (`model/near-keys.ts`). */
  nearKeys: number[];
  /** Keys that identify its author (`model/person-keys.ts`). */
  personKeys: string[];
  /** The signal as JSON text, exactly as in every response. */
  wire: string;
  /** The explanation as JSON text. */
  explanation: string;
  text: string;
  events: RoutedEvent[];
  /**
   * Whether the result lists stored signals of its post with a different text. Only the last signal of a post asks:
   * otherwise a thousand signals would each get a list of a thousand.
   */
  asksForOutdated?: true;
  /**
   * Whether the result's `wire` is empty. A keyed request stores its results so far in one text, with each commit: those of a batch
   * of 500 posts with a hundred signals each would be 50 MB with it.
   */
  omitsWire?: true;
}

/**
 * Result for a {@link NewSignal}: stored, or a duplicate (`id` and `wire` are then those of the existing signal). `wire` is empty if
 * the signal omits it.
 */
export interface CommittedSignal {
  status: 'created' | 'duplicate';
  id: string;
  wire: string;
  /**
   * Stored signals of the same post, by external id, with a different text, except those of deleted profiles; omitted if there are none, or if the
   * signal does not ask for them.
   */
  outdated?: OutdatedSignal[];
}

/** A stored signal whose post was edited. */
export interface OutdatedSignal {
  id: string;
  profileId: string;
  /** The size of its text and, at most, of its facts: about the length of a usual text that takes as long to index (`searchedLength`). */
  searchedBytes: number;
}

/** The current text of a post. */
export interface PostText {
  tenantId: string;
  platform: string;
  /** The external id as shown in signals, and as stored: these differ for items of feeds. */
  shownId: string;
  externalId: string;
  text: string;
}

/** An edit of a stored signal's post. */
export interface SignalEdit {
  /**
   * The edited post, scored, with the id of the stored signal. `events` are stored if the edit makes the signal hot and it was
   * not announced as hot before.
   */
  signal: NewSignal;
  /** Unix milliseconds. */
  now: number;
  /** The length of what the stored signal is found by ({@link searchedLength}). */
  replacedLength: number;
}

/** Result of a {@link SignalEdit}: the signal after it; `wire` null: it no longer exists. */
export interface EditedSignal {
  id: string;
  wire: string | null;
  /** False if it already had the text, or no longer exists. */
  isChanged: boolean;
  /** Whether the edit's events were stored. */
  isHotNow: boolean;
}

/** A signal that a new one would be a duplicate of. */
export interface StoredDuplicate {
  id: string;
  score: number;
}

/** A page of wire JSON. */
export interface SignalPage {
  /** The rows in UTF-8, separated by commas; as text they would be decoded only to be encoded again. */
  json: Uint8Array;
  last: Position | null;
}

/** Filters and position of a page of signals in commit order. */
export type StoredSignalQuery = Omit<SignalQuery, 'sort' | 'qBegins'>;

/** A page of wire JSON in commit order; see {@link StoredPage}. */
export interface StoredSignalPage extends StoredPage {
  /** As in {@link SignalPage}. */
  json: Uint8Array;
}

/** A signal with the members that only its own route returns. JSON texts as stored. */
export interface SignalDetail {
  wire: string;
  explanation: string;
  text: string;
}

/** Whether a signal was relevant, and why; the latest feedback counts. */
export interface SignalFeedback {
  tenantId: string;
  signalId: string;
  relevant: boolean;
  reason: string;
  /** Id of the key or user that gave it. */
  actorId: string;
  createdAt: number;
}

/** A stored signal for previews of a profile. JSON texts as stored. */
export interface StoredPost {
  id: string;
  profileId: string;
  platform: string;
  externalId: string | null;
  canonicalUrl: string | null;
  score: number;
  classification: string;
  wire: string;
  text: string;
  /** The latest feedback; null: none. */
  relevant: boolean | null;
}

/** Feedback on a signal, and its score and classification. */
export interface Judgement {
  signalId: string;
  score: number;
  classification: string;
  relevant: boolean;
  /** When the feedback was given. */
  createdAt: number;
  /** Length of the post's text in bytes, which changes when it is erased. */
  textBytes: number;
}

/** Numbers of signals detected on a day, by classification. */
export interface SignalDay {
  /** `2026-01-31`, UTC. */
  day: string;
  hot: number;
  warm: number;
}

/** Signals. */
export interface SignalStore {
  /** All or nothing: stores each new signal with its events, deliveries and skip reasons; a duplicate causes none of them. */
  commitSignals(signals: NewSignal[]): Promise<CommittedSignal[]>;
  /** As {@link commitSignals}; `taken` are the ids of deliveries leased to the caller, as if it had claimed them. */
  commitSignalsInHand(
    signals: NewSignal[],
    taking: Taking,
  ): Promise<{ committed: CommittedSignal[]; taken: string[] }>;
  /**
   * For each new signal, the stored one for the same post and profile; null: there is none, or the post was edited.
   */
  findDuplicates(signals: readonly NewSignal[]): Promise<(StoredDuplicate | null)[]>;
  /** The stored signals of a post, for any profile that was not deleted, whose text differs from the current one. */
  findOutdatedSignals(post: PostText): Promise<OutdatedSignal[]>;
  /**
   * Updates text, score and classification of signals whose posts were edited, and moves them to the end of the commit order.
   * Id, time, lead, feedback and deliveries stay. A signal that already has the text is not changed.
   */
  editSignals(edits: SignalEdit[]): Promise<EditedSignal[]>;
  /**
   * Removes some words of a signal from the search, before a change that removes them all: {@link editSignals} with this
   * `text`, or, if null, its deletion. Returns whether there are more.
   */
  leaveSearch(signal: { id: string; tenantId: string; text: string | null }): Promise<boolean>;
  /**
   * Makes a signal searchable by all of its words again whose change did not follow {@link leaveSearch}, as a process ended in
   * between; false if there was none at the previous call that returned false.
   */
  restoreSearch(): Promise<boolean>;
  getSignal(tenantId: string, id: string): Promise<SignalDetail | null>;
  listSignals(tenantId: string, query: SignalQuery): Promise<SignalPage>;
  /**
   * Signals in commit order, oldest first: a later commit never comes before a position already returned, whatever was
   * deleted in between and however often the process ended. A signal whose post was edited is returned again.
   */
  listStoredSignals(tenantId: string, query: StoredSignalQuery): Promise<StoredSignalPage>;
  /**
   * Those of the 2,000 most recently stored signals with this classification, most recent first, with their explanations,
   * as JSON. A signal that a batch stores late is included, however many were detected after it.
   */
  latestSignals(
    tenantId: string,
    query: { classification: Classification; limit: number },
  ): Promise<Uint8Array>;
  /** The current end of the commit order of signals and events: everything committed from now on comes after it. */
  storedPosition(tenantId: string): Promise<number>;
  /** Stores or replaces it; false if the tenant has no such signal. */
  saveFeedback(feedback: SignalFeedback): Promise<boolean>;
  getFeedback(tenantId: string, signalId: string): Promise<SignalFeedback | null>;
  /** Deletes the oldest `limit` near-duplicate keys of signals detected before; returns their number. */
  pruneNearKeys(before: number, limit: number): Promise<number>;
  /** Number of signals that match a query, counted up to `most`. */
  countSignals(tenantId: string, query: SignalQuery, most: number): Promise<number>;
  /** Number of signals detected on each day from `from` on (`2026-01-31`, UTC), without samples. */
  countSignalsByDay(tenantId: string, from: string): Promise<SignalDay[]>;
  /** Numbers for a profile on some days, by score in steps of five: `score` is the lowest of a step. */
  countSignalsByScore(
    tenantId: string,
    of: { profileId: string; days: readonly string[] },
  ): Promise<{ score: number; count: number }[]>;
  /** Number of signals detected since a time (Unix milliseconds) that have feedback, counted up to `most`. */
  countJudged(tenantId: string, of: { since: number; most: number }): Promise<number>;
  /** The triage of the tenant's signals with these ids; unknown ones are omitted. */
  listTriage(tenantId: string, ids: readonly string[]): Promise<SignalTriage[]>;
  /**
   * Assigns or snoozes signals, or marks them as added to the pipeline, whichever is given; returns the number of signals that
   * exist.
   */
  triageSignals(
    tenantId: string,
    ids: readonly string[],
    change: Partial<Pick<SignalTriage, 'assignee' | 'snoozedUntil'>> & { added?: true },
  ): Promise<number>;
  /** By name. */
  listSignalViews(tenantId: string): Promise<SignalView[]>;
  /** Stores a view, replacing one with the same name. */
  saveSignalView(view: SignalView): Promise<void>;
  deleteSignalView(tenantId: string, id: string): Promise<boolean>;
  /** The template for drafts of replies; null: the tenant has none of its own. */
  getReplyTemplate(tenantId: string): Promise<string | null>;
  saveReplyTemplate(tenantId: string, template: string): Promise<void>;
  /** The newest `limit` signals. */
  listPosts(tenantId: string, limit: number): Promise<StoredPost[]>;
  /** Whether the tenant has any signal from this platform with an external id. */
  hasSignalsOf(tenantId: string, platform: string): Promise<boolean>;
  /**
   * Deletes the tenant's signals from a platform that have an external id, with their feedback and search terms, and returns
   * their number. Signals attached to a lead stay, as do events and facts about companies.
   */
  removeSignalsOf(tenantId: string, platform: string): Promise<number>;
  /** Feedback on the newest `limit` judged signals of a profile. */
  listJudgements(tenantId: string, profileId: string, limit: number): Promise<Judgement[]>;
}
