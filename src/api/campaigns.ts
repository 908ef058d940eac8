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

/** `/v1/campaigns`: campaigns and their status. */
export function addCampaigns(routesOf: RoutesOf): void {
  const campaigns = routesOf('Campaigns');
  campaigns.create('/campaigns', {
    operationId: 'createCampaign',
    summary: 'Create a campaign',
    description:
      'A campaign starts as a `draft`. With another `status`, it changes to it immediately, which triggers `campaign.status_changed`.',
    scope: 'campaigns:write',
    versioned: true,
    problems: ['INVALID_TRANSITION'],
    body: campaignInputSchema,
    answer: campaignSchema,
    async handle({ parts, tenantId, body, tag }) {
      const campaign = await createCampaign(parts, tenantId, body);
      return tag(campaign, campaignResource(campaign));
    },
  });
  addList(campaigns, '/campaigns', {
    operationId: 'listCampaigns',
    summary: 'List campaigns',
    description: 'Newest first.',
    scope: 'campaigns:read',
    query: campaignFilters.query.shape,
    item: campaignSchema,
    filters: ({ query }) => campaignFilters.toFilters(query),
    read: ({ parts: { store }, tenantId }, asked) => store.listCampaigns(tenantId, asked),
    show: ({ rows }) => rows.map(campaignResource),
  });
  campaigns.get('/campaigns/:id', {
    operationId: 'getCampaign',
    summary: 'Get a campaign',
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
    summary: 'Update a campaign',
    description: [
      'Omitted members stay as they are. The `status` changes `draft → scheduled → active ⇄ paused → completed` or',
      '`draft → active`; any status can change to `completed`, which is final. Each change triggers `campaign.status_changed`.',
    ].join(' '),
    scope: 'campaigns:write',
    versioned: true,
    problems: ['INVALID_TRANSITION'],
    body: campaignPatchSchema,
    answer: campaignSchema,
    async handle({ parts, tenantId, params, body, when, tag }) {
      const campaign = await changeCampaign(parts, tenantId, { id: params.id, patch: body, when });
      return tag(campaign, campaignResource(campaign));
    },
  });
  addCampaignEvents(campaigns);
  addCampaignStats(campaigns);
}
