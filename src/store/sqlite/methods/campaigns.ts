import type { CampaignStore } from '../../campaign-store.ts';
import type { Context } from '../context.ts';
import { createCampaignEventSql } from '../tables/campaign-events.ts';
import { createCampaignSql } from '../tables/campaigns.ts';
import { createLeadAliasSql } from '../tables/lead-aliases.ts';

export function campaignMethods({ db, writer, read }: Context) {
  const campaigns = createCampaignSql(db);
  const campaignEvents = createCampaignEventSql(db);
  const leads = createLeadAliasSql(db);

  return {
    createCampaign: (campaign, events) => writer.run('createCampaign', campaign, events),
    getCampaign: (tenantId, id) => read(() => campaigns.get(tenantId, id)),
    listCampaigns: (tenantId, query) => read(() => campaigns.list(tenantId, query)),
    updateCampaign: (campaign, expectedVersion, events) =>
      writer.run('updateCampaign', campaign, expectedVersion, events),
    recordCampaignEvents: (campaign, events) => writer.run('recordCampaignEvents', campaign, events),
    completePeople: (tenantId, people) =>
      read(() => people.map((person) => leads.complete(tenantId, person))),
    getCampaignSpan: (campaignId) => read(() => campaignEvents.span(campaignId)),
    listCampaignEvents: (campaignId, window) => read(() => campaignEvents.list(campaignId, window)),
  } satisfies CampaignStore;
}
