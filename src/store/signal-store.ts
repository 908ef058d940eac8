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
  /** What it is known again by on its platform: the post's id, after what tells it apart where that alone does not. */
  externalId: string | null;
  /** Canonical post URL, or null where there is none; it makes a post known again where an external id is missing. */
  canonicalUrl: string | null;
  signalType: string;
  classification: string;
  score: number;
  /** When it was detected, Unix milliseconds. */
  timestamp: number;
  companyDomain: string;
  /** What it says of the company at `companyDomain`; null where it names none. */
  company: ObservedCompany | null;
  /** What of people and company it is found by ({@link searchedFacts}), beside its text. */
  facts: string[];
  /** What its text is known again by within its profile (`model/near-keys.ts`); none: by nothing. */
  nearKeys: number[];
  /** What its author is known again by (`model/person-keys.ts`). */
  personKeys: string[];
  /** The signal as JSON text, exactly as every answer shows it. */
  wire: string;
  /** The explanation as JSON text. */
  explanation: string;
  text: string;
  events: RoutedEvent[];
}

/** What became of a {@link NewSignal}: stored, or the one that was there already (`id` and `wire` are then that one's). */
export interface CommittedSignal {
  status: 'created' | 'duplicate';
  id: string;
  wire: string;
  /** Stored signals of the same post, by its external id, that have another text than it has now; left out: none has. */
  outdated?: OutdatedSignal[];
}

/** A stored signal whose post has another text by now. */
export interface OutdatedSignal {
  id: string;
  profileId: string;
  wire: string;
}

/** A post as it is now. */
export interface PostText {
  tenantId: string;
  platform: string;
  /** Its external id as signals show it, and as it is known again by: these differ for a feed's item. */
  shownId: string;
  externalId: string;
  text: string;
}

/** An edit of a stored signal's post. */
export interface SignalEdit {
  /**
   * The edited post, scored, under the stored signal's id; `events` are told of if the signal becomes hot by it and was
   * not told of as hot before.
   */
  signal: NewSignal;
  /** Unix milliseconds. */
  now: number;
}

/** What became of a {@link SignalEdit}: the signal as it then is; `wire` null: it is gone. */
export interface EditedSignal {
  id: string;
  wire: string | null;
  /** False where it had the text already, or is gone. */
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
  /** The rows in UTF-8, with commas between them: as text they would be decoded only to be encoded again. */
  json: Uint8Array;
  last: Position | null;
}

/** Filters and position of a page of signals in the order by commit. */
export type StoredSignalQuery = Omit<SignalQuery, 'sort' | 'qBegins'>;

/** A page of wire JSON in the order by commit; see {@link StoredPage}. */
export interface StoredSignalPage extends StoredPage {
  /** As in {@link SignalPage}. */
  json: Uint8Array;
}

/** A signal with what only its own route shows. JSON texts as stored. */
export interface SignalDetail {
  wire: string;
  explanation: string;
  text: string;
}

/** Whether a signal was worth it, and why; the last word counts. */
export interface SignalFeedback {
  tenantId: string;
  signalId: string;
  relevant: boolean;
  reason: string;
  /** Id of the key, or of the person, that said it. */
  actorId: string;
  createdAt: number;
}

/** A stored signal as a draft of a profile is tried on it. JSON texts as stored. */
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
  /** What was last said of it; null: nothing. */
  relevant: boolean | null;
}

/** What feedback says of a signal, and what the signal was found to be. */
export interface Judgement {
  signalId: string;
  score: number;
  classification: string;
  relevant: boolean;
  /** When the feedback was given. */
  createdAt: number;
  /** Length of the post's text in bytes, which changes where it is erased. */
  textBytes: number;
}

/** Signals that were detected on a day, by class. */
export interface SignalDay {
  /** `2026-01-31`, UTC. */
  day: string;
  hot: number;
  warm: number;
}

/** Signals. */
export interface SignalStore {
  /** All or nothing: each new signal with its events, deliveries and skip reasons. A duplicate brings none of them. */
  commitSignals(signals: NewSignal[]): Promise<CommittedSignal[]>;
  /** As {@link commitSignals}; `taken` are the ids of deliveries that are the caller's from then on, as if it had claimed them. */
  commitSignalsInHand(
    signals: NewSignal[],
    taking: Taking,
  ): Promise<{ committed: CommittedSignal[]; taken: string[] }>;
  /**
   * For each new signal the one that is stored already for the same post and profile; null: there is none, or its author
   * has edited the post.
   */
  findDuplicates(signals: readonly NewSignal[]): Promise<(StoredDuplicate | null)[]>;
  /** The stored signals of a post, of whatever profile, that have another text than it has now. */
  findOutdatedSignals(post: PostText): Promise<OutdatedSignal[]>;
  /**
   * Gives stored signals the text, score and class of their edited posts, and the end of the order by commit. Id, time,
   * lead, feedback and what was delivered stay. One that has the text already is left alone.
   */
  editSignals(edits: SignalEdit[]): Promise<EditedSignal[]>;
  getSignal(tenantId: string, id: string): Promise<SignalDetail | null>;
  listSignals(tenantId: string, query: SignalQuery): Promise<SignalPage>;
  /**
   * Signals in the order of their commits, oldest first: one that commits later never stands before a place that was handed
   * out, whatever was deleted meanwhile and however often the process ended. A signal whose post was edited comes again.
   */
  listStoredSignals(tenantId: string, query: StoredSignalQuery): Promise<StoredSignalPage>;
  /**
   * Of the 2,000 signals that were stored last those of a class, the last stored first, with their explanations, as JSON:
   * one that a batch stores late is among them, however many were detected after it.
   */
  latestSignals(
    tenantId: string,
    query: { classification: Classification; limit: number },
  ): Promise<Uint8Array>;
  /** The place in that order, and in that of events, which everything that commits from now on stands behind. */
  storedPosition(tenantId: string): Promise<number>;
  /** Stores or replaces it; false where the tenant has no such signal. */
  saveFeedback(feedback: SignalFeedback): Promise<boolean>;
  getFeedback(tenantId: string, signalId: string): Promise<SignalFeedback | null>;
  /** Forgets what texts of signals detected before are known again by, the oldest `limit` keys; how many. */
  pruneNearKeys(before: number, limit: number): Promise<number>;
  /** How many signals a query finds, counted up to `most`. */
  countSignals(tenantId: string, query: SignalQuery, most: number): Promise<number>;
  /** How many signals were detected on each day from one on (`2026-01-31`, UTC), made-up ones aside. */
  countSignalsByDay(tenantId: string, from: string): Promise<SignalDay[]>;
  /** Those of a profile on some days, by their scores in steps of five: `score` is the lowest of a step. */
  countSignalsByScore(
    tenantId: string,
    of: { profileId: string; days: readonly string[] },
  ): Promise<{ score: number; count: number }[]>;
  /** How many of the signals detected since a time (Unix milliseconds) were judged, counted up to `most`. */
  countJudged(tenantId: string, of: { since: number; most: number }): Promise<number>;
  /** What was done with those of the tenant's signals; one for each that there is. */
  listTriage(tenantId: string, ids: readonly string[]): Promise<SignalTriage[]>;
  /** Assigns and snoozes signals, each as far as it is given; how many there were. */
  triageSignals(
    tenantId: string,
    ids: readonly string[],
    change: Partial<Pick<SignalTriage, 'assignee' | 'snoozedUntil'>>,
  ): Promise<number>;
  /** By name. */
  listSignalViews(tenantId: string): Promise<SignalView[]>;
  /** Stores a view, in place of the tenant's own of that name. */
  saveSignalView(view: SignalView): Promise<void>;
  deleteSignalView(tenantId: string, id: string): Promise<boolean>;
  /** What replies are drafted from; null: the tenant has no template of its own. */
  getReplyTemplate(tenantId: string): Promise<string | null>;
  saveReplyTemplate(tenantId: string, template: string): Promise<void>;
  /** The newest `limit` signals. */
  listPosts(tenantId: string, limit: number): Promise<StoredPost[]>;
  /** Whether the tenant has any signal of that platform with an external id. */
  hasSignalsOf(tenantId: string, platform: string): Promise<boolean>;
  /**
   * Removes the tenant's signals of a platform that have an external id, with what was said of them and what they are found
   * by; how many. Those that a lead has stay, as do events and the facts of companies.
   */
  removeSignalsOf(tenantId: string, platform: string): Promise<number>;
  /** Of the newest `limit` signals of a profile that have feedback. */
  listJudgements(tenantId: string, profileId: string, limit: number): Promise<Judgement[]>;
}
