import { z } from 'zod';
import { toIso } from '../lib/clock.ts';
import { listFilters, listOf, type PageRequest } from './filters.ts';
import { emailInput, idInput, requiredLine, timeInput } from './text.ts';

export const CAMPAIGN_STATUSES = ['draft', 'scheduled', 'active', 'paused', 'completed'] as const;
/** Status of a campaign; `campaigns/campaigns.ts` has the transitions. */
export const campaignStatusSchema = z.enum(CAMPAIGN_STATUSES);
export type CampaignStatus = z.infer<typeof campaignStatusSchema>;

const CAMPAIGN_CHANNELS = ['email', 'linkedin', 'phone', 'sms', 'multichannel'] as const;
const channelSchema = z.enum(CAMPAIGN_CHANNELS).describe('Channel of the campaign.');

/** Later times are typing errors, and do not fit the time format. */
const MAX_TIME_MS = Date.UTC(2999, 11, 31, 23, 59, 59, 999);

/** Whether Unix milliseconds are a valid time of a campaign. */
export function isCampaignTime(ms: number): boolean {
  return ms >= 0 && ms <= MAX_TIME_MS;
}

/** A time in a request body, in Unix milliseconds. */
const momentSchema = timeInput.refine(isCampaignTime, 'must be between the years 1970 and 2999');

/** The same, formatted as in responses. */
const plannedSchema = momentSchema.transform(toIso);

/** The number of a step within its campaign's sequence. */
const stepNumberSchema = z.int().min(0).max(100);

const stepSchema = z.strictObject({
  step: stepNumberSchema.describe('Number of the step, as in its events.'),
  name: requiredLine(200).describe('Name of the step in statistics.'),
});

const stepsSchema = z
  .array(stepSchema)
  .max(50)
  .refine(
    (steps) => new Set(steps.map(({ step }) => step)).size === steps.length,
    'must not have two steps with the same number',
  )
  .transform((steps) => [...steps].sort((a, b) => a.step - b.step))
  .describe('Names of the steps, for statistics. Events may have other step numbers too.');

const nameSchema = requiredLine(200).describe('Name of the campaign.');
const descriptionSchema = z
  .string()
  .trim()
  .max(2_000)
  .describe('Description of the campaign, for your own use.');
const STARTS_AT = 'Planned start, for your own use: the status does not change by itself.';
const ENDS_AT = 'Planned end, for your own use: the status does not change by itself.';

/** Body of `POST /v1/campaigns`. */
export const campaignInputSchema = z.strictObject({
  name: nameSchema,
  description: descriptionSchema.default(''),
  channel: channelSchema.default('email'),
  steps: stepsSchema.default([]),
  starts_at: plannedSchema.nullable().default(null).describe(STARTS_AT),
  ends_at: plannedSchema.nullable().default(null).describe(ENDS_AT),
  status: campaignStatusSchema
    .default('draft')
    .describe('Initial status: `draft`, or a status that a draft can change to.'),
});
export type CampaignInput = z.output<typeof campaignInputSchema>;

/** Body of `PATCH /v1/campaigns/{id}`: omitted members stay as they are. */
export const campaignPatchSchema = z.strictObject({
  name: nameSchema.optional(),
  description: descriptionSchema.optional(),
  channel: channelSchema.optional(),
  steps: stepsSchema.optional(),
  starts_at: plannedSchema.nullable().optional().describe(STARTS_AT),
  ends_at: plannedSchema.nullable().optional().describe(ENDS_AT),
  status: campaignStatusSchema.optional().describe('Status to change the campaign to.'),
});
export type CampaignPatch = z.output<typeof campaignPatchSchema>;

const time = z.iso.datetime();

/** A campaign as returned by every API. */
export const campaignSchema = z
  .strictObject({
    id: z.string().describe('Unique identifier of the campaign.'),
    name: z.string().describe('Name of the campaign.'),
    description: z.string().describe('Description of the campaign; an empty string if none is set.'),
    channel: channelSchema,
    status: campaignStatusSchema.describe('Status of the campaign.'),
    steps: z.array(stepSchema).describe('Names of the steps, in the order of their numbers.'),
    starts_at: time.nullable().describe('Planned start; `null` if not set.'),
    ends_at: time.nullable().describe('Planned end; `null` if not set.'),
    started_at: time.nullable().describe('When the campaign first became active; `null` if it never was.'),
    completed_at: time.nullable().describe('When the campaign was completed; `null` if it is not.'),
    status_changed_at: time.describe('When the status last changed.'),
    created_at: time.describe('When the campaign was created.'),
    updated_at: time.describe('When the campaign was last changed.'),
  })
  .meta({ id: 'Campaign', description: 'An outreach campaign, whose events are recorded and counted.' });
export type CampaignResource = z.infer<typeof campaignSchema>;

/** The settings other than name and status. */
export type CampaignSettings = Omit<CampaignInput, 'name' | 'status'>;

/** A campaign as stored. Times are Unix milliseconds; `version` is incremented by each change. */
export interface Campaign {
  id: string;
  tenantId: string;
  name: string;
  status: CampaignStatus;
  settings: CampaignSettings;
  startedAt: number | null;
  completedAt: number | null;
  statusChangedAt: number;
  createdAt: number;
  updatedAt: number;
  version: number;
}

/** Filters and position of a page of campaigns, newest first. */
export interface CampaignQuery extends PageRequest {
  statuses: CampaignStatus[];
}

/** The filters of campaign lists. */
export const campaignFilters = listFilters(
  { status: listOf(campaignStatusSchema).describe('Only campaigns with these statuses.') },
  ({ status: statuses }) => ({ statuses }),
);

export const CAMPAIGN_EVENT_TYPES = [
  'sent',
  'delivered',
  'opened',
  'clicked',
  'replied',
  'bounced',
  'unsubscribed',
  'meeting',
] as const;
const campaignEventTypeSchema = z.enum(CAMPAIGN_EVENT_TYPES);
export type CampaignEventType = z.infer<typeof campaignEventTypeSchema>;

export const REPLY_CLASSES = [
  'interested',
  'not_now',
  'not_interested',
  'referral',
  'objection',
  'out_of_office',
  'unsubscribe',
  'other',
] as const;
export const replyClassSchema = z.enum(REPLY_CLASSES);
export type ReplyClass = z.infer<typeof replyClassSchema>;

export const MAX_BATCH_EVENTS = 1_000;

/** One event of a campaign as sent by a caller; null members count as omitted. */
export const campaignEventSchema = z
  .strictObject({
    event_id: z
      .string()
      .min(1)
      .max(200)
      .describe(
        'Your ID of the event. An event whose ID was already recorded in the campaign is a duplicate.',
      ),
    type: campaignEventTypeSchema.describe('Type of the event.'),
    occurred_at: momentSchema.describe('When the event happened.'),
    email: emailInput.nullish().describe('Email address of the recipient. Required without `lead_id`.'),
    lead_id: idInput.nullish().describe('ID of the lead that is the recipient. Required without `email`.'),
    step: stepNumberSchema.nullish().describe('Number of the step that caused the event.'),
    reply_class: replyClassSchema.nullish().describe('Classification of the reply; for `replied` only.'),
    auto: z
      .boolean()
      .nullish()
      .describe(
        'Whether the reply is automatic; for `replied` only. Automatic replies are counted separately. `out_of_office` always is.',
      ),
  })
  .superRefine((event, context) => {
    const refuse = (member: string, message: string) =>
      context.addIssue({ code: 'custom', path: [member], message });
    if (!event.email && !event.lead_id) refuse('email', 'or "lead_id" is required');
    if (event.type === 'replied') return;
    if (event.reply_class) refuse('reply_class', 'is for events of type "replied" only');
    if (event.auto) refuse('auto', 'is for events of type "replied" only');
  })
  .meta({ id: 'CampaignEvent', description: 'An event of a campaign.' });
export type CampaignEventInput = z.output<typeof campaignEventSchema>;

/** Whether a reply is automatic. */
export function isAutoReply(event: Pick<CampaignEventInput, 'auto' | 'reply_class'>): boolean {
  return event.auto === true || event.reply_class === 'out_of_office';
}

const STATS_INTERVALS = ['day', 'week'] as const;
export const statsIntervalSchema = z.enum(STATS_INTERVALS);
export type StatsInterval = z.infer<typeof statsIntervalSchema>;

/** Maximum buckets of a series: a year of days, or seven years of weeks. */
export const MAX_BUCKETS = 400;

/** The counters: event types, with automatic replies counted separately. */
export const COUNTED = [...CAMPAIGN_EVENT_TYPES, 'auto_replied'] as const;
export type Counted = (typeof COUNTED)[number];

/** Classes in which replies are counted; `unclassified` replies have no class. */
export const COUNTED_CLASSES = [...REPLY_CLASSES, 'unclassified'] as const;
export type CountedClass = (typeof COUNTED_CLASSES)[number];

const countSchema = z
  .strictObject({
    total: z.int().describe('Number of events.'),
    unique: z.int().describe('Number of distinct recipients. A lead and its email address are one.'),
  })
  .meta({ id: 'CampaignCount', description: 'Number of events and of distinct recipients.' });
export type Count = z.infer<typeof countSchema>;

const COUNT_MEANINGS: Record<Counted, string> = {
  sent: 'Messages sent.',
  delivered: 'Messages delivered.',
  opened: 'Messages opened.',
  clicked: 'Links clicked.',
  replied: 'Replies from people.',
  bounced: 'Messages bounced.',
  unsubscribed: 'Unsubscribe requests.',
  meeting: 'Meetings booked.',
  auto_replied: 'Automatic replies.',
};

const countsSchema = z
  .strictObject(countsOf(COUNT_MEANINGS))
  .meta({ id: 'CampaignCounts', description: 'Counts by type of event.' });
export type Counts = Record<Counted, Count>;

const CLASS_MEANINGS: Record<CountedClass, string> = {
  interested: 'Replies that show interest.',
  not_now: 'Replies that ask to get back later.',
  not_interested: 'Replies that decline.',
  referral: 'Replies that refer to another person.',
  objection: 'Replies that raise an objection.',
  out_of_office: 'Out-of-office replies.',
  unsubscribe: 'Replies that ask to be unsubscribed.',
  other: 'Other replies.',
  unclassified: 'Replies without a classification.',
};

const RATES = {
  delivery: 'Delivered divided by sent.',
  bounce: 'Bounced divided by sent.',
  open: 'Opened divided by delivered.',
  click: 'Clicked divided by delivered.',
  reply: 'Replied divided by delivered, without automatic replies.',
  unsubscribe: 'Unsubscribed divided by delivered.',
  meeting: 'Meetings divided by recipients contacted.',
} as const;
export type Rates = Record<keyof typeof RATES, number | null>;

const ratesSchema = z
  .strictObject(
    Object.fromEntries(
      Object.entries(RATES).map(([name, text]) => [name, z.number().min(0).max(1).nullable().describe(text)]),
    ) as Record<keyof typeof RATES, z.ZodNullable<z.ZodNumber>>,
  )
  .meta({
    id: 'CampaignRates',
    description: 'Rates of distinct recipients, from 0 to 1; `null` where the divisor is 0.',
  });

const summary = {
  recipients_contacted: z.int().describe('Number of distinct recipients with a `sent` or `delivered` event.'),
  counts: countsSchema,
  rates: ratesSchema,
};

/** Representation of `GET /v1/campaigns/{id}/stats`. */
export const campaignStatsSchema = z
  .strictObject({
    campaign_id: z.string().describe('ID of the campaign.'),
    from: z.iso.datetime().nullable().describe('Start of the range; `null` if the campaign has no events.'),
    to: z.iso
      .datetime()
      .nullable()
      .describe('End of the range (exclusive); `null` if the campaign has no events.'),
    interval: statsIntervalSchema
      .nullable()
      .describe('Length of a bucket of the series; `null` if there is no series.'),
    timezone: z.string().describe('IANA time zone of the days and weeks.'),
    ...summary,
    replies_by_class: z
      .strictObject(countsOf(CLASS_MEANINGS))
      .describe('Replies by classification, including automatic ones.'),
    by_step: z
      .array(
        z.strictObject({
          step: z.int().nullable().describe('Number of the step; `null` for events without a step.'),
          name: z.string().nullable().describe('Name of the step; `null` if it has none.'),
          ...summary,
        }),
      )
      .describe('The same numbers for each step.'),
    series: z
      .array(
        z.strictObject({
          date: z.iso.date().describe('First day of the bucket in `timezone`. Weeks start on Monday.'),
          start: z.iso.datetime().describe('Start of the bucket.'),
          end: z.iso
            .datetime()
            .describe('End of the bucket (exclusive). A day with a clock change has 23 or 25 hours.'),
          counts: countsSchema,
        }),
      )
      .describe(
        'Buckets in chronological order, without gaps. The first and the last are cut to `from` and `to`.',
      ),
  })
  .meta({ id: 'CampaignStats', description: 'Performance of a campaign.' });
export type CampaignStats = z.infer<typeof campaignStatsSchema>;

function countsOf<K extends string>(meanings: Record<K, string>): Record<K, typeof countSchema> {
  const entries = Object.entries<string>(meanings);
  return Object.fromEntries(entries.map(([name, text]) => [name, countSchema.describe(text)])) as Record<
    K,
    typeof countSchema
  >;
}
