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
      "From this time on; a date means its beginning in `timezone`. Left out: the campaign's first event",
    ),
  to: bound
    .optional()
    .describe(
      "Before this time; a date means its beginning in `timezone`. Left out: after the campaign's last event",
    ),
  interval: statsIntervalSchema
    .optional()
    .describe(
      `What a bucket of the series is: at most ${MAX_BUCKETS} of them. Left out: days, or weeks where days are too many`,
    ),
  timezone: z
    .string()
    .max(64)
    .refine(isTimeZone, 'must be an IANA time zone such as "Europe/Berlin"')
    .default('UTC')
    .describe('The IANA time zone whose days and weeks the series has'),
};

/** `GET /v1/campaigns/{id}/stats`: how a campaign performs. */
export function addCampaignStats(campaigns: Routes): void {
  campaigns.get('/campaigns/:id/stats', {
    operationId: 'getCampaignStats',
    summary: 'How a campaign performs',
    description: [
      'Counts events (`total`) and distinct recipients (`unique`). Without a range it covers the whole life of the',
      'campaign. Replies of machines are counted apart and are in no rate. A lead and its address are one recipient.',
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
    throw refused(parameter, `"${parameter}" must be a time of the years 1970 to 2999.`);
  }
  return moment;
}

function refused(parameter: string, detail: string): DomainError {
  return new DomainError('INVALID_REQUEST', detail, { errors: [{ parameter, detail }] });
}
