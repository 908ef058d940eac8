import type { Database } from 'better-sqlite3';
import type { Campaign } from '../../../model/campaign.ts';
import type { RoutedEvent } from '../../../model/event.ts';
import type { CampaignEventResult, NewCampaignEvent } from '../../campaign-store.ts';
import { createCampaignEventSql } from '../tables/campaign-events.ts';
import { createRecipientSql } from '../tables/campaign-recipients.ts';
import { createCampaignSql } from '../tables/campaigns.ts';
import { createLeadAliasSql } from '../tables/lead-aliases.ts';
import { createEventWriter } from './events.ts';

export function campaignOperations(db: Database) {
  const campaigns = createCampaignSql(db);
  const recipients = createRecipientSql(db);
  const campaignEvents = createCampaignEventSql(db);
  const leads = createLeadAliasSql(db);
  const insertRouted = createEventWriter(db);

  return {
    createCampaign(campaign: Campaign, events: RoutedEvent[]): void {
      campaigns.insert(campaign);
      events.forEach(insertRouted);
    },
    updateCampaign(campaign: Campaign, expectedVersion: number, events: RoutedEvent[]): boolean {
      if (!campaigns.update(campaign, expectedVersion)) return false;
      events.forEach(insertRouted);
      return true;
    },
    recordCampaignEvents(campaign: Campaign, events: NewCampaignEvent[]): CampaignEventResult[] {
      const numbers = recipients.numbers(campaign);
      const results = events.map((event): CampaignEventResult => {
        if (campaignEvents.isKnown(campaign.id, event.key)) return 'duplicate';
        const aliases = leads.aliasesOf(campaign.tenantId, event);
        if (aliases === null) return 'unknown_lead';
        event.events.forEach(insertRouted);
        campaignEvents.insert(campaign.id, numbers.of(aliases), event);
        return 'created';
      });
      numbers.finish();
      return results;
    },
  };
}

/**
 * Takes a person out of the events of every campaign of a tenant, by the lead's id and its identity keys: part of the
 * change that erases him. Returns the ids of the events that told of his replies, whose texts still name him.
 */
export function createRecipientEraser(
  db: Database,
): (tenantId: string, aliases: readonly string[]) => string[] {
  const recipients = createRecipientSql(db);
  const campaignEvents = createCampaignEventSql(db);
  return (tenantId, aliases) =>
    recipients
      .forget(tenantId, aliases)
      .flatMap(({ campaignId, recipient }) => campaignEvents.takeTold(campaignId, recipient));
}
