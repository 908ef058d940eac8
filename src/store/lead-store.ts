import type { RoutedEvent } from '../model/event.ts';
import type { Page, PageRequest } from '../model/filters.ts';
import type { Lead, LeadQuery } from '../model/lead.ts';
import type { Actor, BoardStage, Stage } from '../model/pipeline.ts';
import type { NewSignal } from './signal-store.ts';

/** A lead as it is stored; a change applies to the version it was decided on, and to no other. */
export interface StoredLead {
  lead: Lead;
  version: number;
}

/** A signal that a lead may be made of. JSON texts as stored. */
export interface LeadSignal {
  id: string;
  /** The lead it belongs to; null: none yet. */
  leadId: string | null;
  wire: string;
}

/** An attached signal with all that tells of its author. */
export interface PersonalSignal extends LeadSignal {
  explanation: string;
  /** What its author is known again by, at any of the places where it was posted. */
  keys: string[];
}

/** A move to be written to the history. Times are Unix milliseconds. */
export interface NewStageMove {
  previous: Stage | null;
  current: Stage;
  reason: string;
  actor: Actor;
  movedAt: number;
  /** How long the lead was in the previous stage; null for its first. */
  stayedMs: number | null;
}

/** A row of the history; `position` counts a lead's moves from 1. */
export interface StageMoveRow extends NewStageMove {
  position: number;
}

/** An identity key and the lead that has it; null: none. */
export interface IdentityHolder {
  key: string;
  leadId: string | null;
}

/** A lead as it shall be, with everything that changes together with it. */
export interface LeadChange {
  tenantId: string;
  lead: Lead;
  /** The version it was decided on; 0: it is new. */
  expectedVersion: number;
  /** Who had which identity when it was decided; the change applies only where that is still so. */
  seen: IdentityHolder[];
  /** Every identity that the lead shall have from now on, as far as no other lead has it; null: those it has. */
  keys: string[] | null;
  /** Signals to store and attach; none of them may be known yet. */
  newSignals: NewSignal[];
  /** Stored signals to attach; none of them may belong to a lead. */
  attach: string[];
  move: NewStageMove | null;
  events: RoutedEvent[];
}

/** A column of the board with its newest leads as wire JSON texts. */
export interface BoardColumn extends BoardStage {
  leads: string[];
}

/** How far a number of leads have come in the pipeline. */
export interface StageFlow {
  leads: number;
  /** Leads by the furthest stage that each was ever in, `lost` aside; a stage that is no lead's furthest is left out. */
  furthest: Partial<Record<Stage, number>>;
  /** The mean time in a stage of those that left it, in milliseconds. */
  stayed: Partial<Record<Stage, number>>;
}

/** Leads: who they are, where they stand, and which signals are theirs. */
export interface LeadStore {
  getLead(tenantId: string, id: string): Promise<StoredLead | null>;
  /** As wire JSON texts. */
  listLeads(tenantId: string, query: LeadQuery): Promise<Page<string>>;
  /** Who has each of `keys`, in their order. */
  findIdentities(tenantId: string, keys: readonly string[]): Promise<IdentityHolder[]>;
  /** The tenant's signals of these ids, in any order; unknown ones are left out. */
  findLeadSignals(tenantId: string, ids: readonly string[]): Promise<LeadSignal[]>;
  /** Signals whose author has one of `keys`, newest first. */
  findSignalsOfPerson(tenantId: string, keys: readonly string[]): Promise<PersonalSignal[]>;
  /** The newest `limit` of those that no lead has. */
  findFreeSignalsOfPerson(tenantId: string, keys: readonly string[], limit: number): Promise<LeadSignal[]>;
  /** For each new signal the id of the stored one that it is itself, or that is the same post and profile, or null. */
  findKnownSignals(signals: readonly NewSignal[]): Promise<(string | null)[]>;
  /** The best attached signals with their explanations, as wire JSON texts. */
  listSignalsOfLead(leadId: string, limit: number): Promise<string[]>;
  /** Every attached signal, with its explanation. */
  listPersonalSignals(leadId: string): Promise<PersonalSignal[]>;
  /** Stores the lead with signals, move and events; false where what it was decided on no longer holds. */
  commitLead(change: LeadChange): Promise<boolean>;
  /** Every stage in the order of the pipeline, each with its `limit` newest leads. */
  readBoard(tenantId: string, limit: number): Promise<BoardColumn[]>;
  /**
   * Open leads whose next step is due on `until` (`2026-01-31`) or before, but after `after` where that is given, the longest
   * due first, as wire JSON texts.
   */
  listDueSteps(tenantId: string, due: { after?: string; until: string; limit: number }): Promise<string[]>;
  /** What the deals of open leads are worth. */
  sumOpenDeals(tenantId: string): Promise<BoardStage['value']>;
  /** How many leads were added since a time (Unix milliseconds), counted up to `most`. */
  countLeads(tenantId: string, of: { since: number; most: number }): Promise<number>;
  /** How far the newest `leads` that were added since then have come, and how long they stayed where. */
  readStageFlow(tenantId: string, of: { since: number; leads: number }): Promise<StageFlow>;
  /** Counts one question to the enrichment provider on `day` (`2026-01-31`); false, and not counted, where there were `limit`. */
  countEnrichment(day: string, limit: number): Promise<boolean>;
  /** Moves of a lead, newest first. */
  pageStageMoves(leadId: string, page: PageRequest): Promise<Page<StageMoveRow>>;
}
