import type { RoutedEvent } from '../model/event.ts';
import type { Page, PageRequest } from '../model/filters.ts';
import type { Lead, LeadQuery } from '../model/lead.ts';
import type { Actor, BoardStage, Stage } from '../model/pipeline.ts';
import type { NewSignal } from './signal-store.ts';

/** A stored lead; a change applies only to the version it was based on. */
export interface StoredLead {
  lead: Lead;
  version: number;
}

/** A signal that can become part of a lead. JSON texts as stored. */
export interface LeadSignal {
  id: string;
  /** The lead it belongs to; null: none yet. */
  leadId: string | null;
  wire: string;
}

/** A signal with everything known about its author. */
export interface PersonalSignal extends LeadSignal {
  /** Keys of its author, from all places where it was posted. */
  keys: string[];
}

/** A move to add to the history. Times are Unix milliseconds. */
export interface NewStageMove {
  previous: Stage | null;
  current: Stage;
  reason: string;
  actor: Actor;
  movedAt: number;
  /** How long the lead was in the previous stage; null for the first move. */
  stayedMs: number | null;
}

/** An entry of the history; `position` numbers a lead's moves from 1. */
export interface StageMoveRow extends NewStageMove {
  position: number;
}

/** An identity key and the lead that has it; null: none. */
export interface IdentityHolder {
  key: string;
  leadId: string | null;
}

/** The new state of a lead, with everything that changes with it. */
export interface LeadChange {
  tenantId: string;
  lead: Lead;
  /** The version it is based on; 0: it is new. */
  expectedVersion: number;
  /** The owners of identities on which the decision is based; the change applies only if they are still the same. */
  seen: IdentityHolder[];
  /** The lead's new identities, without those that other leads have; null: unchanged. */
  keys: string[] | null;
  /** Signals to store and attach; none may be stored already. */
  newSignals: NewSignal[];
  /** Stored signals to attach; none may belong to a lead. */
  attach: string[];
  move: NewStageMove | null;
  events: RoutedEvent[];
}

/** A column of the board, with its newest leads as wire JSON in UTF-8. */
export interface BoardColumn extends BoardStage {
  leads: Buffer[];
}

/** Progress of leads through the pipeline. */
export interface StageFlow {
  leads: number;
  /** Number of leads by the furthest stage they ever reached, except `lost`; stages without leads are omitted. */
  furthest: Partial<Record<Stage, number>>;
  /** The mean time in each stage, in milliseconds, of leads that left it. */
  stayed: Partial<Record<Stage, number>>;
}

/** What a signal of a lead is matched by. */
export interface LeadScore {
  profileId: string;
  score: number;
}

/** Leads with their identities, stages and signals. */
export interface LeadStore {
  getLead(tenantId: string, id: string): Promise<StoredLead | null>;
  /** As wire JSON in UTF-8. */
  listLeads(tenantId: string, query: LeadQuery): Promise<Page<Buffer>>;
  /** The owner of each of `keys`, in their order. */
  findIdentities(tenantId: string, keys: readonly string[]): Promise<IdentityHolder[]>;
  /** The tenant's signals with these ids, in any order; unknown ones are omitted. */
  findLeadSignals(tenantId: string, ids: readonly string[]): Promise<LeadSignal[]>;
  /** Signals whose author has the key, in the order of their IDs. */
  pageSignalsOfPerson(tenantId: string, key: string, page: PageRequest): Promise<Page<PersonalSignal>>;
  /** The newest `limit` unattached signals. */
  findFreeSignalsOfPerson(tenantId: string, keys: readonly string[], limit: number): Promise<LeadSignal[]>;
  /** For each new signal, the id of the stored one with the same id, or the same post and profile; otherwise null. */
  findKnownSignals(signals: readonly NewSignal[]): Promise<(string | null)[]>;
  /** The best attached signals with their explanations, as wire JSON texts. */
  listSignalsOfLead(leadId: string, limit: number): Promise<string[]>;
  /** The profiles and scores of the same signals: the texts of a hundred may have megabytes. */
  listScoresOfLead(leadId: string, limit: number): Promise<LeadScore[]>;
  /** Attached signals, oldest first. */
  pageSignalsOfLead(leadId: string, page: PageRequest): Promise<Page<PersonalSignal>>;
  /** Stores the lead with signals, move and events; false if the data it was based on has changed. */
  commitLead(change: LeadChange): Promise<boolean>;
  /** Every stage in the order of the pipeline, each with its `limit` newest leads. */
  readBoard(tenantId: string, limit: number): Promise<BoardColumn[]>;
  /**
   * Open leads whose next step is due by `until` (`2026-01-31`), and after `after` if that is given, longest overdue first, as
   * wire JSON texts.
   */
  listDueSteps(tenantId: string, due: { after?: string; until: string; limit: number }): Promise<string[]>;
  /** The value of the deals of open leads. */
  sumOpenDeals(tenantId: string): Promise<BoardStage['value']>;
  /** Number of leads created since a time (Unix milliseconds), counted up to `most`. */
  countLeads(tenantId: string, of: { since: number; most: number }): Promise<number>;
  /** Progress of the newest `leads` leads created since then, and their mean time in each stage. */
  readStageFlow(tenantId: string, of: { since: number; leads: number }): Promise<StageFlow>;
  /** Counts a request to the enrichment provider on `day` (`2026-01-31`); false, without counting it, if the limit is reached. */
  countEnrichment(day: string, limit: number): Promise<boolean>;
  /** Moves of a lead, newest first. */
  pageStageMoves(leadId: string, page: PageRequest): Promise<Page<StageMoveRow>>;
}
