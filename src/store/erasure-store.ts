/** What is left of a signal when the person behind it is erased. JSON texts. */
export interface ErasedSignal {
  id: string;
  wire: string;
  explanation: string;
}

/** A person to be erased, as they were found; the change applies only where nothing was added since. */
export interface LeadErasure {
  tenantId: string;
  leadId: string;
  expectedVersion: number;
  /** Every identity key of the person, those that only their signals tell of included. */
  keys: string[];
  /** Their signals. Others that are attached to the lead are let go. */
  signals: ErasedSignal[];
  /** Events that name the person, besides those about the lead and the signals. */
  eventIds: string[];
  /** What no kept answer may hold: ids, addresses, profiles. */
  texts: string[];
  /** What is blacked out where others mention it: addresses, profiles. */
  mentions: string[];
}

/** A stretch of a tenant's events that is looked through; `after` is the last one seen before. */
export interface EventScan {
  tenantId: string;
  /** In lower case. */
  texts: string[];
  signalIds: string[];
  after: [createdAt: number, id: string] | null;
  limit: number;
}

/** What was found in a stretch; `last` is where the next one begins, null: there is none. */
export interface ScannedEvents {
  ids: string[];
  last: [createdAt: number, id: string] | null;
}

/** Taking a person out of everything that is stored. */
export interface ErasureStore {
  /** Events of the stretch whose data holds one of the texts or ids; those of signals are found by their signal. */
  findEventsNaming(scan: EventScan): Promise<ScannedEvents>;
  /**
   * Deletes the lead with its identities, tags and history; empties its signals, every event about them, and those events'
   * deliveries, of which none is sent any more. In other people's posts and what was told of them it blacks mentions out.
   * The ids of the endpoints whose waiting deliveries changed; null where what was found no longer holds: nothing is
   * changed then.
   */
  eraseLead(erasure: LeadErasure): Promise<string[] | null>;
}
