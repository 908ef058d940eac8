import { z } from 'zod';
import { CAMPAIGN_EVENT_TYPES, REPLY_CLASSES } from './campaign-event.ts';

const STATS_INTERVALS = ['day', 'week'] as const;
export const statsIntervalSchema = z.enum(STATS_INTERVALS);
export type StatsInterval = z.infer<typeof statsIntervalSchema>;

/** Maximum buckets of a series: a year of days, or seven years of weeks. */
export const MAX_BUCKETS = 400;

/** What is counted: the types of events, with automatic replies separate from those of people. */
export const COUNTED = [...CAMPAIGN_EVENT_TYPES, 'auto_replied'] as const;
export type Counted = (typeof COUNTED)[number];

/** Classes that replies are counted by; `unclassified` is a reply without a class. */
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
