import { z } from 'zod';
import {
  campaignResource,
  changeCampaign,
  createCampaign,
  findCampaign,
  recordEvents,
} from '../campaigns/campaigns.ts';
import { campaignStats, type StatsQuery, startOfDate } from '../campaigns/stats.ts';
import { fromIso } from '../lib/clock.ts';
import {
  type CampaignEventInput,
  campaignEventSchema,
  campaignFilters,
  campaignInputSchema,
  campaignPatchSchema,
  campaignSchema,
  campaignStatsSchema,
  isCampaignTime,
  MAX_BATCH_EVENTS,
  MAX_BUCKETS,
  statsIntervalSchema,
} from '../model/campaign.ts';
import { DomainError } from '../model/errors.ts';
import { isTimeZone } from '../model/tenant.ts';
import { timeText } from '../model/text.ts';
import type { CampaignEventResult } from '../store/campaign-store.ts';
import { addBatch, type ItemOutcome } from './batch.ts';
import { addList } from './list.ts';
import type { Routes, RoutesOf } from './routes.ts';

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
    async handle({ deps, tenantId, body, tag }) {
      const campaign = await createCampaign(deps, tenantId, body);
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
    read: ({ deps: { store }, tenantId }, asked) => store.listCampaigns(tenantId, asked),
    show: ({ rows }) => rows.map(campaignResource),
  });
  campaigns.get('/campaigns/:id', {
    operationId: 'getCampaign',
    summary: 'Get a campaign',
    scope: 'campaigns:read',
    versioned: true,
    answer: campaignSchema,
    async handle({ deps, tenantId, params, tag }) {
      const campaign = await findCampaign(deps.store, tenantId, params.id);
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
    async handle({ deps, tenantId, params, body, when, tag }) {
      const campaign = await changeCampaign(deps, tenantId, { id: params.id, patch: body, when });
      return tag(campaign, campaignResource(campaign));
    },
  });
  addCampaignEvents(campaigns);
  addCampaignStats(campaigns);
}

type CampaignEventOutcome = { status: 'created' | 'duplicate' | 'rejected' };

/** `POST /v1/campaigns/{id}/events`: events of a campaign, reported by the sending system. */
function addCampaignEvents(campaigns: Routes): void {
  addBatch(campaigns, '/campaigns/:id/events', {
    operationId: 'recordCampaignEvents',
    summary: 'Record events of a campaign',
    description: [
      `Takes up to ${MAX_BATCH_EVENTS} events. A rejected event does not affect the others. The first event with an \`event_id\` counts;`,
      'later ones in the same campaign are a `duplicate` and change nothing, even if their content differs. Events are counted in any',
      'status of the campaign. A classified reply triggers `reply.classified`.',
    ].join(' '),
    scope: 'campaigns:write',
    name: 'events',
    item: campaignEventSchema,
    maxItems: MAX_BATCH_EVENTS,
    counts: { created: 'created', duplicates: 'duplicate', rejected: 'rejected' },
    own: {},
    none: { status: 'rejected' } as CampaignEventOutcome,
    async run({ deps, tenantId, params }, inputs) {
      const campaign = await findCampaign(deps.store, tenantId, params.id);
      const results = await recordEvents(deps, campaign, inputs);
      return results.map((result, i) => toOutcome(result, inputs[i]));
    },
  });
}

function toOutcome(
  result: CampaignEventResult,
  input: CampaignEventInput | undefined,
): ItemOutcome<CampaignEventOutcome> {
  if (result !== 'unknown_lead') return { status: result };
  return { faults: [{ pointer: '/lead_id', detail: `There is no lead "${input?.lead_id}".` }] };
}

const bound = z.union([timeText, z.iso.date()]);

const statsQuery = {
  from: bound
    .optional()
    .describe(
      'Start of the range, as a time, or a date in `timezone`. Defaults to the first event of the campaign.',
    ),
  to: bound
    .optional()
    .describe(
      'End of the range (exclusive), as a time, or a date in `timezone`. Defaults to the last event of the campaign.',
    ),
  interval: statsIntervalSchema
    .optional()
    .describe(
      `Length of a bucket of the series, which has at most ${MAX_BUCKETS}. Defaults to \`day\`, or \`week\` if there would be too many days.`,
    ),
  timezone: z
    .string()
    .max(64)
    .refine(isTimeZone, 'must be an IANA time zone such as "Europe/Berlin"')
    .default('UTC')
    .describe('IANA time zone of the days and weeks.'),
};

/** `GET /v1/campaigns/{id}/stats`: the performance of a campaign. */
function addCampaignStats(campaigns: Routes): void {
  campaigns.get('/campaigns/:id/stats', {
    operationId: 'getCampaignStats',
    summary: 'Get statistics of a campaign',
    description: [
      'Counts events (`total`) and distinct recipients (`unique`). Without a range, all events of the campaign are counted. Automatic',
      'replies are counted separately and excluded from rates. A lead and its email address are one recipient.',
    ].join(' '),
    scope: 'campaigns:read',
    query: statsQuery,
    answer: campaignStatsSchema,
    async handle({ deps: { store }, tenantId, params, query }) {
      const asked = toStatsQuery(query);
      return campaignStats(store, await findCampaign(store, tenantId, params.id), asked);
    },
  });
}

function toStatsQuery({
  from,
  to,
  interval,
  timezone,
}: z.output<z.ZodObject<typeof statsQuery>>): StatsQuery {
  const query = {
    from: toMoment('from', from, timezone),
    to: toMoment('to', to, timezone),
    interval: interval ?? null,
    timezone,
  };
  if (query.from !== null && query.to !== null && query.to <= query.from) {
    throw refused('to', '"to" must be after "from".');
  }
  return query;
}

function toMoment(parameter: string, text: string | undefined, timezone: string): number | null {
  if (text === undefined) return null;
  const moment = text.includes('T') ? fromIso(text) : startOfDate(text, timezone);
  if (!isCampaignTime(moment)) {
    throw refused(parameter, `"${parameter}" must be between the years 1970 and 2999.`);
  }
  return moment;
}

function refused(parameter: string, detail: string): DomainError {
  return new DomainError('INVALID_REQUEST', detail, { errors: [{ parameter, detail }] });
}
