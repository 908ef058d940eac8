import type { Position } from '../model/filters.ts';

/** A person to be erased, as they were found; the change applies only where nothing was added since. */
export interface LeadErasure {
  tenantId: string;
  leadId: string;
  expectedVersion: number;
  /** Every identity key of the person, those that only their signals tell of included. */
  keys: string[];
  /** Ids of their signals. Others that are attached to the lead are let go. */
  signals: string[];
  /** Events that name the person, besides those about the lead and the signals. */
  eventIds: string[];
  /** What no kept answer may hold: ids, addresses, profiles. */
  texts: string[];
  /** What is blacked out where others mention it. */
  mentions: Mentions;
  /** Where it is mentioned, as it was found. */
  mentioning: Mentioning;
}

/** What tells of a person wherever it stands. */
export interface Mentions {
  /** Addresses and profiles, in lower case. */
  texts: string[];
  /** Full names. They stay in posts by an author who is known to be another person of that name. */
  names: string[];
}

/** Ids of what mentions a person without being about them. */
export interface Mentioning {
  /** Signals of others, by their text, title, address or id, or by what was said of them. */
  signals: string[];
  /** Leads of others, by source, tags, custom fields or reasons. */
  leads: string[];
  /** Events of others, by name: what names an address or profile is emptied (`LeadErasure.eventIds`). */
  events: string[];
}

/** A stretch of a tenant's signals or leads that is looked through; `after` is the last one seen before. */
export interface MentionScan {
  tenantId: string;
  mentions: Mentions;
  after: Position | null;
  limit: number;
}

/** What was found in a stretch; `last` is where the next one begins, null: there is none. */
export interface FoundMentions {
  ids: string[];
  last: Position | null;
}

/** A stretch of a tenant's events that is looked through; `after` is the last one seen before. */
export interface EventScan {
  tenantId: string;
  /** In lower case. */
  texts: string[];
  names: string[];
  signalIds: string[];
  after: Position | null;
  limit: number;
}

/** What was found in a stretch; `last` is where the next one begins, null: there is none. */
export interface ScannedEvents {
  ids: string[];
  /** Those that have one of the names and none of the texts and ids. */
  named: string[];
  last: Position | null;
}

/** Taking a person out of everything that is stored. */
export interface ErasureStore {
  /** Events of the stretch whose data holds one of the texts or ids; those of signals are found by their signal. */
  findEventsNaming(scan: EventScan): Promise<ScannedEvents>;
  /** Signals of the stretch that mention the person anywhere, or whose feedback does. */
  findSignalsNaming(scan: MentionScan): Promise<FoundMentions>;
  /** Leads of the stretch that mention the person in source, tags, custom fields or the reasons of their moves. */
  findLeadsNaming(scan: MentionScan): Promise<FoundMentions>;
  /**
   * Begins an erasure: deletes the lead with its identities, tags and history, and keeps, in the same commit, what else is to
   * be erased. False where what was found no longer holds: nothing is changed then.
   */
  eraseLead(erasure: LeadErasure): Promise<boolean>;
  /**
   * Removes a signal from lists, search, counts and its lead, and begins the erasure, under the signal's id, of its events'
   * data, of the bodies of their deliveries and of kept answers that hold it. What it said of its company stays. False where
   * the tenant has no such signal.
   */
  deleteSignal(tenantId: string, id: string, now: number): Promise<boolean>;
  /**
   * Does the next piece of an erasure that was begun, some 20 ms of work: empties the person's signals, every event about
   * them, and those events' deliveries, of which none is sent any more. In other people's posts and leads, and in what was
   * sent of them, it blacks mentions out; addresses and ids with one go. After the last piece, what was overwritten is in no
   * log of the storage either.
   */
  continueErasure(erasure: PendingErasure): Promise<ErasureProgress>;
  /** Erasures that were begun and are not done, in no order. */
  listErasures(limit: number): Promise<PendingErasure[]>;
}

/** An erasure that was begun. */
export interface PendingErasure {
  tenantId: string;
  /** Of the person's lead, or of the signal that was deleted. */
  leadId: string;
}

/** What a piece of an erasure came to. */
export interface ErasureProgress {
  /** Endpoints whose waiting deliveries changed. */
  endpointIds: string[];
  isDone: boolean;
}
