import { z } from 'zod';
import { startOfDate } from '../campaigns/buckets.ts';
import { findCampaign } from '../campaigns/campaigns.ts';
import { campaignStats, type StatsQuery } from '../campaigns/stats.ts';
import { fromIso } from '../lib/clock.ts';
import { isTimeZone } from '../lib/time-zone.ts';
import { isCampaignTime } from '../model/campaign.ts';
import { campaignStatsSchema, MAX_BUCKETS, statsIntervalSchema } from '../model/campaign-stats.ts';
import { DomainError } from '../model/errors.ts';
import { timeText } from '../model/text.ts';
import type { Routes } from './routes.ts';

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

/** `GET /v1/campaigns/{id}/stats`: how a campaign performs. */
export function addCampaignStats(campaigns: Routes): void {
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
    async handle({ parts: { store }, tenantId, params, query }) {
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
