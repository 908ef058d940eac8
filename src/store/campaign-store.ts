import type { Campaign, CampaignEventType, CampaignQuery, ReplyClass } from '../model/campaign.ts';
import type { RoutedEvent } from '../model/event.ts';
import type { Page } from '../model/filters.ts';

/** Whom an event is about: a lead, an address in lower case, or both. */
export interface NamedPerson {
  leadId: string | null;
  email: string | null;
}

/** A campaign event ready to be stored, with what it causes. */
export interface NewCampaignEvent extends NamedPerson {
  /** Hash of the caller's event id. */
  key: string;
  type: CampaignEventType;
  /** Unix milliseconds. */
  occurredAt: number;
  step: number | null;
  replyClass: ReplyClass | null;
  auto: boolean;
  events: RoutedEvent[];
}

/** What became of a {@link NewCampaignEvent}; one of a lead that is not there is not stored. */
export type CampaignEventResult = 'created' | 'duplicate' | 'unknown_lead';

/** A campaign event as statistics read it. Two events of one person have the same recipient number. */
export interface CampaignEventRow {
  occurredAt: number;
  key: string;
  type: CampaignEventType;
  recipient: number;
  step: number | null;
  replyClass: ReplyClass | null;
  auto: boolean;
}

/** A part of a campaign's events in the order of time: `from` <= occurred at < `to`, after the row `after`. */
export interface CampaignEventWindow {
  from: number;
  to: number;
  after: Pick<CampaignEventRow, 'occurredAt' | 'key'> | null;
  limit: number;
}

/** Campaigns and what happened in them. */
export interface CampaignStore {
  createCampaign(campaign: Campaign, events: RoutedEvent[]): Promise<void>;
  getCampaign(tenantId: string, id: string): Promise<Campaign | null>;
  listCampaigns(tenantId: string, query: CampaignQuery): Promise<Page<Campaign>>;
  /** Replaces the campaign if it is still at `expectedVersion`, with the events of the change; false where it is not. */
  updateCampaign(campaign: Campaign, expectedVersion: number, events: RoutedEvent[]): Promise<boolean>;
  /**
   * Stores what the campaign has not seen yet, each with the events it causes. A lead and its address are one recipient,
   * and stay one when the lead comes to be, or the address to be known, between two events.
   */
  recordCampaignEvents(campaign: Campaign, events: NewCampaignEvent[]): Promise<CampaignEventResult[]>;
  /** Each person with what the tenant's leads know beside it. */
  completePeople(tenantId: string, people: NamedPerson[]): Promise<NamedPerson[]>;
  /** When the campaign's first and last events happened; null where there are none. */
  getCampaignSpan(campaignId: string): Promise<{ first: number; last: number } | null>;
  listCampaignEvents(campaignId: string, window: CampaignEventWindow): Promise<CampaignEventRow[]>;
}
