import type { Position } from '../model/filters.ts';

/** A person to erase, as found; the change applies only if nothing was added since. */
export interface LeadErasure {
  tenantId: string;
  leadId: string;
  expectedVersion: number;
  /** All identity keys of the person, including those known only from signals. */
  keys: string[];
  /** How many signals were found with the keys, counted once for each of their keys. */
  authorships: number;
  /** The last ID among these signals, which are erased by their keys; '' if there are none. Later ones stay. */
  lastSignal: string;
  /** Ids of their signals without a key. Other signals attached to the lead are detached. */
  signals: string[];
  /** Events that name the person, other than those about the lead and the signals. */
  eventIds: string[];
  /** Addresses and profiles that no stored response may contain, besides the ids of the lead and of erased signals. */
  texts: string[];
  /** Texts to redact where others mention them. */
  mentions: Mentions;
  /** Where they are mentioned, as found. */
  mentioning: Mentioning;
}

/** Texts that identify a person anywhere. */
export interface Mentions {
  /** Addresses and profiles, in lower case. */
  texts: string[];
  /** Full names. They stay in posts by an author who is known to be another person of that name. */
  names: string[];
}

/** Ids of data that mentions a person without being about them. */
export interface Mentioning {
  /** Signals of others: in text, title, URL or id, or in their feedback. */
  signals: string[];
  /** Leads of others: in source, tags, custom fields or reasons. */
  leads: string[];
  /** Events of others, by name; those with an address or profile are emptied (`LeadErasure.eventIds`). */
  events: string[];
}

/**
 * A range of a tenant's signals or leads to scan; `after` is the last one of the previous range. It ends after `limit` rows, or
 * {@link SCANNED_CHARACTERS}. The ranges of a scan share one `mentions` object, whose patterns are compiled once.
 */
export interface MentionScan {
  tenantId: string;
  mentions: Mentions;
  after: Position | null;
  limit: number;
}

/** The result of a scan; `last` is where the next one starts, null: there is none. */
export interface FoundMentions {
  ids: string[];
  last: Position | null;
}

/** Also the other leads of the range with reasons of moves, which are searched apart: a lead may have thousands. */
export interface FoundLeads extends FoundMentions {
  moved: string[];
}

/** Like {@link MentionScan}, of a tenant's events. */
export interface EventScan {
  tenantId: string;
  mentions: Mentions & { signalIds: Pick<ReadonlySet<string>, 'has'> };
  after: Position | null;
  limit: number;
}

/** The result of a scan; `last` is where the next one starts, null: there is none. */
export interface ScannedEvents {
  ids: string[];
  /** Those with one of the names and none of the texts and ids. */
  named: string[];
  last: Position | null;
}

/**
 * The length of the texts after which a range ends. Searching fifty events with two long leads each for twenty names took
 * 135 ms, on the main thread; texts made of their beginnings take up to 1 µs a character.
 */
export const SCANNED_CHARACTERS = 50_000;

/** Erasing a person from all stored data. */
export interface ErasureStore {
  /** Events of the range whose data contains one of the texts or ids; those of signals are found by their signal. */
  findEventsNaming(scan: EventScan): Promise<ScannedEvents>;
  /** Signals of the range that mention the person, or whose feedback does. */
  findSignalsNaming(scan: MentionScan): Promise<FoundMentions>;
  /** Leads of the range that mention the person in source, tags, custom fields, notes or next step. */
  findLeadsNaming(scan: MentionScan): Promise<FoundLeads>;
  /**
   * Starts an erasure: deletes the lead with its identities, tags and history, and stores in the same commit what else is to
   * be erased. False, without a change, if the data found has changed.
   */
  eraseLead(erasure: LeadErasure): Promise<boolean>;
  /**
   * Removes a signal from lists, search, counts and its lead, and starts the erasure, under the signal's id, of the data of its
   * events, the bodies of their deliveries and stored responses that contain it. Facts about its company stay. False if the
   * tenant has no such signal.
   */
  deleteSignal(tenantId: string, id: string, now: number): Promise<boolean>;
  /**
   * Does the next piece of an erasure, about 10 ms of work on SQLite: empties the person's signals, all events about them, and the
   * deliveries of these events, none of which is sent any more. Redacts mentions in other people's posts and leads and in their
   * deliveries; URLs and ids that contain one are removed. After the last piece, no log of the storage contains the overwritten
   * data.
   */
  continueErasure(erasure: PendingErasure): Promise<ErasureProgress>;
  /** Erasures in progress, in no particular order. */
  listErasures(limit: number): Promise<PendingErasure[]>;
}

/** An erasure in progress. */
export interface PendingErasure {
  tenantId: string;
  /** Id of the person's lead, or of the deleted signal. */
  leadId: string;
}

/** The result of a piece of an erasure. */
export interface ErasureProgress {
  /** Endpoints whose waiting deliveries changed. */
  endpointIds: string[];
  isDone: boolean;
}
