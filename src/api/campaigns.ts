import { campaignResource, changeCampaign, createCampaign, findCampaign } from '../campaigns/campaigns.ts';
import {
  campaignFilters,
  campaignInputSchema,
  campaignPatchSchema,
  campaignSchema,
} from '../model/campaign.ts';
import { addCampaignEvents } from './campaign-events.ts';
import { addCampaignStats } from './campaign-stats.ts';
import { addList } from './list.ts';
import type { RoutesOf } from './routes.ts';

/** `/v1/campaigns`: campaigns and where they stand. */
export function addCampaigns(routesOf: RoutesOf): void {
  const campaigns = routesOf('Campaigns');
  campaigns.create('/campaigns', {
    operationId: 'createCampaign',
    summary: 'Create a campaign',
    description:
      'A campaign starts as a `draft`. With another `status` it moves there at once, which `campaign.status_changed` tells of.',
    scope: 'campaigns:write',
    versioned: true,
    problems: ['INVALID_TRANSITION'],
    body: campaignInputSchema,
    answer: campaignSchema,
    async handle({ parts, tenantId, body, tag }) {
      const { campaign, lanes } = await createCampaign(parts, tenantId, body);
      parts.nudge(lanes);
      return tag(campaign, campaignResource(campaign));
    },
  });
  addList(campaigns, '/campaigns', {
    operationId: 'listCampaigns',
    summary: 'Campaigns, newest first',
    scope: 'campaigns:read',
    query: campaignFilters.query.shape,
    item: campaignSchema,
    filters: ({ query }) => campaignFilters.toFilters(query),
    read: ({ parts: { store }, tenantId }, asked) => store.listCampaigns(tenantId, asked),
    show: ({ rows }) => rows.map(campaignResource),
  });
  campaigns.get('/campaigns/:id', {
    operationId: 'getCampaign',
    summary: 'One campaign',
    scope: 'campaigns:read',
    versioned: true,
    answer: campaignSchema,
    async handle({ parts, tenantId, params, tag }) {
      const campaign = await findCampaign(parts.store, tenantId, params.id);
      return tag(campaign, campaignResource(campaign));
    },
  });
  campaigns.patch('/campaigns/:id', {
    operationId: 'updateCampaign',
    summary: 'Change a campaign, or move it on',
    description: [
      'What is left out stays as it is. `status` moves `draft → scheduled → active ⇄ paused → completed` or',
      '`draft → active`; any status can become `completed`, which is final. The same status again changes nothing',
      'and tells nobody; a move is told by `campaign.status_changed`.',
    ].join(' '),
    scope: 'campaigns:write',
    versioned: true,
    problems: ['INVALID_TRANSITION'],
    body: campaignPatchSchema,
    answer: campaignSchema,
    async handle({ parts, tenantId, params, body, when, tag }) {
      const { campaign, lanes } = await changeCampaign(parts, tenantId, { id: params.id, patch: body, when });
      parts.nudge(lanes);
      return tag(campaign, campaignResource(campaign));
    },
  });
  addCampaignEvents(campaigns);
  addCampaignStats(campaigns);
}
