import { z } from 'zod';
import { CAMPAIGN_EVENT_TYPES, REPLY_CLASSES } from './campaign-event.ts';

const STATS_INTERVALS = ['day', 'week'] as const;
export const statsIntervalSchema = z.enum(STATS_INTERVALS);
export type StatsInterval = z.infer<typeof statsIntervalSchema>;

/** The most buckets that a series has: a year of days, or seven of weeks. */
export const MAX_BUCKETS = 400;

/** What is counted: the types of events, with the replies of machines apart from those of people. */
export const COUNTED = [...CAMPAIGN_EVENT_TYPES, 'auto_replied'] as const;
export type Counted = (typeof COUNTED)[number];

/** What replies are counted by; `unclassified` is a reply that came without a class. */
export const COUNTED_CLASSES = [...REPLY_CLASSES, 'unclassified'] as const;
export type CountedClass = (typeof COUNTED_CLASSES)[number];

const countSchema = z
  .strictObject({
    total: z.int().describe('Events'),
    unique: z.int().describe('Distinct recipients; a lead and its address are one'),
  })
  .meta({ id: 'CampaignCount' });
export type Count = z.infer<typeof countSchema>;

const countsSchema = z
  .strictObject(objectOf(COUNTED, countSchema))
  .describe('By type of event. `replied` are the replies of people, `auto_replied` those of machines')
  .meta({ id: 'CampaignCounts' });
export type Counts = Record<Counted, Count>;

const RATES = {
  delivery: 'Delivered over sent',
  bounce: 'Bounced over sent',
  open: 'Opened over delivered',
  click: 'Clicked over delivered',
  reply: 'Replied over delivered, automatic replies left out',
  unsubscribe: 'Unsubscribed over delivered',
  meeting: 'Meetings over recipients contacted',
} as const;
export type Rates = Record<keyof typeof RATES, number | null>;

const ratesSchema = z
  .strictObject(
    Object.fromEntries(
      Object.entries(RATES).map(([name, text]) => [name, z.number().min(0).max(1).nullable().describe(text)]),
    ) as Record<keyof typeof RATES, z.ZodNullable<z.ZodNumber>>,
  )
  .describe('Distinct recipients over distinct recipients, 0 to 1; null where there is nothing to divide by')
  .meta({ id: 'CampaignRates' });

const summary = {
  recipients_contacted: z.int().describe('Distinct recipients with a `sent` or `delivered` event'),
  counts: countsSchema,
  rates: ratesSchema,
};

/** Answer of `GET /v1/campaigns/{id}/stats`. */
export const campaignStatsSchema = z
  .strictObject({
    campaign_id: z.string(),
    from: z.iso.datetime().nullable().describe('Start of what is counted; null where nothing ever happened'),
    to: z.iso.datetime().nullable().describe('End of what is counted, itself not included'),
    interval: statsIntervalSchema.nullable().describe('null where there is no series'),
    timezone: z.string(),
    ...summary,
    replies_by_class: z
      .strictObject(objectOf(COUNTED_CLASSES, countSchema))
      .describe('All replies, automatic ones included'),
    by_step: z.array(
      z.strictObject({
        step: z.int().nullable().describe('null: events that named no step'),
        name: z.string().nullable().describe("The step's name in the campaign"),
        ...summary,
      }),
    ),
    series: z
      .array(
        z.strictObject({
          date: z.iso.date().describe('Its first day in `timezone`; a week begins on Monday'),
          start: z.iso.datetime().describe('When that day begins'),
          end: z.iso
            .datetime()
            .describe('When the next one begins: a day of 23 or 25 hours where the clock changes'),
          counts: countsSchema,
        }),
      )
      .describe(
        'In the order of time without gaps; the first and the last hold what is within `from` and `to`',
      ),
  })
  .meta({ id: 'CampaignStats' });
export type CampaignStats = z.infer<typeof campaignStatsSchema>;

function objectOf<K extends string, S extends z.ZodType>(keys: readonly K[], schema: S): Record<K, S> {
  return Object.fromEntries(keys.map((key) => [key, schema])) as Record<K, S>;
}
