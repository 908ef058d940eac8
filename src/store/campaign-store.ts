import type { Campaign, CampaignEventType, CampaignQuery, ReplyClass } from '../model/campaign.ts';
import type { RoutedEvent } from '../model/event.ts';
import type { Page } from '../model/filters.ts';

/** The recipient of an event: a lead, an email address in lower case, or both. */
export interface NamedPerson {
  leadId: string | null;
  email: string | null;
}

/** A campaign event to store, with the events it causes. */
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

/** Result for a {@link NewCampaignEvent}; an event of an unknown lead is not stored. */
export type CampaignEventResult = 'created' | 'duplicate' | 'unknown_lead';

/** A campaign event for statistics. Events of one person have the same recipient number. */
export interface CampaignEventRow {
  occurredAt: number;
  key: string;
  type: CampaignEventType;
  recipient: number;
  step: number | null;
  replyClass: ReplyClass | null;
  auto: boolean;
}

/** A part of a campaign's events in chronological order: `from` <= occurred at < `to`, after the row `after`. */
export interface CampaignEventWindow {
  from: number;
  to: number;
  after: Pick<CampaignEventRow, 'occurredAt' | 'key'> | null;
  limit: number;
}

/** Campaigns and their events. */
export interface CampaignStore {
  createCampaign(campaign: Campaign, events: RoutedEvent[]): Promise<void>;
  getCampaign(tenantId: string, id: string): Promise<Campaign | null>;
  listCampaigns(tenantId: string, query: CampaignQuery): Promise<Page<Campaign>>;
  /** Replaces the campaign if it is still at `expectedVersion`, with the events of the change; otherwise false. */
  updateCampaign(campaign: Campaign, expectedVersion: number, events: RoutedEvent[]): Promise<boolean>;
  /**
   * Stores new events, each with the events it causes. A lead and its email address are one recipient, even if the lead is
   * created, or its address becomes known, between two events.
   */
  recordCampaignEvents(campaign: Campaign, events: NewCampaignEvent[]): Promise<CampaignEventResult[]>;
  /** Each recipient with what the tenant's leads add to it. */
  completePeople(tenantId: string, people: NamedPerson[]): Promise<NamedPerson[]>;
  /** Times of the campaign's first and last events; null if there are none. */
  getCampaignSpan(campaignId: string): Promise<{ first: number; last: number } | null>;
  listCampaignEvents(campaignId: string, window: CampaignEventWindow): Promise<CampaignEventRow[]>;
}
