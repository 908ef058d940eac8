import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { campaignResource, changeCampaign, createCampaign, findCampaign } from '../campaigns/campaigns.ts';
import { callerOf } from '../http/auth.ts';
import { runParts } from '../http/idempotency.ts';
import { pagingQuery } from '../http/paging.ts';
import { idParams, noQuery } from '../http/path.ts';
import { listOf } from '../http/query.ts';
import {
  campaignInputSchema,
  campaignPatchSchema,
  campaignSchema,
  campaignStatusSchema,
} from '../model/campaign.ts';
import { listAnswer, readPage } from './list.ts';
import type { ApiParts } from './parts.ts';

type CampaignRouteParts = Pick<
  ApiParts,
  'store' | 'clock' | 'newId' | 'seededRandom' | 'cursors' | 'baseUrl' | 'nudge'
>;

const oneCampaign = z.strictObject({ data: campaignSchema });

/** `/v1/campaigns`: campaigns and where they stand. */
export function addCampaigns(app: FastifyInstance, parts: CampaignRouteParts): void {
  addCreate(app, parts);
  addList(app, parts);
  addGet(app, parts);
  addPatch(app, parts);
}

function addCreate(app: FastifyInstance, parts: CampaignRouteParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/campaigns',
    {
      config: { scope: 'campaigns:write', problems: ['INVALID_TRANSITION'] },
      schema: {
        operationId: 'createCampaign',
        summary: 'Create a campaign',
        description:
          'A campaign starts as a `draft`. With another `status` it moves there at once, which `campaign.status_changed` tells of.',
        tags: ['Campaigns'],
        querystring: noQuery,
        body: campaignInputSchema,
        response: { 201: oneCampaign },
      },
    },
    async (request, reply) => {
      const { campaign, lanes } = await createCampaign(
        runParts(request, parts),
        callerOf(request).tenant.id,
        request.body,
      );
      parts.nudge(lanes);
      reply.header('location', `${parts.baseUrl}/v1/campaigns/${campaign.id}`);
      return reply.code(201).send({ data: campaignResource(campaign) });
    },
  );
}

function addList(app: FastifyInstance, parts: CampaignRouteParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/campaigns',
    {
      config: { scope: 'campaigns:read' },
      schema: {
        operationId: 'listCampaigns',
        summary: 'Campaigns, newest first',
        tags: ['Campaigns'],
        querystring: z.strictObject({
          status: listOf(campaignStatusSchema).describe('Only campaigns that are in one of these'),
          ...pagingQuery,
        }),
        response: { 200: listAnswer(campaignSchema) },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const { status } = request.query;
      const { page, pagination } = await readPage(
        parts,
        { request, reply },
        {
          name: 'campaigns',
          filters: { status },
          query: request.query,
          read: (place) => parts.store.listCampaigns(tenant.id, { statuses: status, ...place }),
        },
      );
      return { data: page.rows.map(campaignResource), pagination };
    },
  );
}

function addGet(app: FastifyInstance, { store }: CampaignRouteParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/campaigns/:id',
    {
      config: { scope: 'campaigns:read' },
      schema: {
        operationId: 'getCampaign',
        summary: 'One campaign',
        tags: ['Campaigns'],
        params: idParams,
        querystring: noQuery,
        response: { 200: oneCampaign },
      },
    },
    async (request) => {
      const campaign = await findCampaign(store, callerOf(request).tenant.id, request.params.id);
      return { data: campaignResource(campaign) };
    },
  );
}

function addPatch(app: FastifyInstance, parts: CampaignRouteParts): void {
  app.withTypeProvider<ZodTypeProvider>().patch(
    '/campaigns/:id',
    {
      config: { scope: 'campaigns:write', problems: ['INVALID_TRANSITION'] },
      schema: {
        operationId: 'updateCampaign',
        summary: 'Change a campaign, or move it on',
        description: [
          'What is left out stays as it is. `status` moves `draft → scheduled → active ⇄ paused → completed` or',
          '`draft → active`; any status can become `completed`, which is final. The same status again changes nothing',
          'and tells nobody; a move is told by `campaign.status_changed`.',
        ].join(' '),
        tags: ['Campaigns'],
        params: idParams,
        querystring: noQuery,
        body: campaignPatchSchema,
        response: { 200: oneCampaign },
      },
    },
    async (request) => {
      const change = { id: request.params.id, patch: request.body };
      const { campaign, lanes } = await changeCampaign(parts, callerOf(request).tenant.id, change);
      parts.nudge(lanes);
      return { data: campaignResource(campaign) };
    },
  );
}
