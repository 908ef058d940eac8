import { z } from 'zod';
import { DAY_MS } from '../lib/clock.ts';
import { campaignStatusSchema, replyClassSchema } from './campaign.ts';
import { MOST_OUTCOMES } from './constants.ts';
import { DELIVERY_STATUSES } from './delivery.ts';
import { type EventType, eventTypeSchema } from './event.ts';
import { listFilters, listOf, queryTime } from './filters.ts';
import { leadSchema } from './lead.ts';
import { actorSchema, dealSchema, stageSchema } from './pipeline.ts';
import { signalSchema } from './signal.ts';
import { PAUSED_REASONS } from './webhook.ts';

/** Why an event was not delivered to an endpoint, or not yet. */
const OUTCOME_REASONS = [
  'first_attempt_due',
  'batch_due',
  'attempt_failed',
  'endpoint_paused',
  'retries_exhausted',
  'dead_letter_expired',
  'body_too_large',
  'endpoint_deleted',
  'event_type',
  'signal_type',
  'classification',
  'icp_profile',
  'min_score',
  'about_itself',
  'same_message',
  'endpoint_created_later',
  'log_removed',
] as const;
export type OutcomeReason = (typeof OUTCOME_REASONS)[number];

const outcomeSchema = z.strictObject({
  endpoint_id: z.string().describe('ID of the endpoint.'),
  delivery_id: z.string().nullable().describe('ID of the delivery; `null` if there is none, or none yet.'),
  status: z
    .enum([...DELIVERY_STATUSES, 'skipped'])
    .describe('Status of the delivery; `skipped` if there is none.'),
  reason: z
    .enum(OUTCOME_REASONS)
    .nullable()
    .describe(
      'Why the event was not delivered, or not yet; `null` if it was. `batch_due`: it will be sent in one message with others; ' +
        '`event_type`, `signal_type`, `classification`, `icp_profile` and `min_score`: the filter of the endpoint that excludes it; ' +
        '`about_itself`: the event is about this endpoint; `same_message`: the message of another event said the same; `log_removed`: the delivery is no longer stored.',
    ),
});
export type EventOutcome = z.output<typeof outcomeSchema>;

/** An event as returned by every API, with its outcome for each endpoint of the tenant. */
export const eventResourceSchema = z
  .strictObject({
    id: z.string().describe('Unique identifier of the event.'),
    type: eventTypeSchema.describe('Type of the event.'),
    timestamp: z.iso.datetime().describe('When the event happened.'),
    subject_id: z
      .string()
      .describe('ID of the signal, lead, campaign, endpoint or delivery the event is about.'),
    data: z
      .record(z.string(), z.unknown())
      .describe('Data of the event, as delivered in `data`. For `signal.detected` only the `signal_id`.'),
    deliveries: z
      .array(outcomeSchema)
      .describe(
        `Outcome of the event for each endpoint, at most ${MOST_OUTCOMES.toLocaleString('en')}: if there are more, first those with a delivery.`,
      ),
  })
  .meta({ id: 'Event', description: 'Something that happened, and its delivery to each endpoint.' });
export type EventResource = z.output<typeof eventResourceSchema>;

/** The filters of event lists. */
export const eventFilters = listFilters(
  {
    type: listOf(eventTypeSchema).describe('Only events of these types.'),
    from: queryTime.describe('Only events at or after this time.'),
    to: queryTime.describe('Only events before this time.'),
  },
  ({ type: types, from, to }) => ({ types, from, to }),
);

/**
 * The body of `signal.detected`, without its signature: a signal without the IDs of related objects
 * (specification, section 2).
 */
export const signalPayloadSchema = signalSchema.omit({
  icp_profile_id: true,
  external_id: true,
  lead_id: true,
  also_seen: true,
});

/** Maximum signals in a digest. */
export const DIGEST_SIGNALS = 20;

/** `data` of `digest.ready`: the signals of the day before the digest's hour. */
export const digestDataSchema = z.strictObject({
  date: z.iso.date().describe('Date of the digest, in `timezone`.'),
  timezone: z.string().describe('IANA time zone of the account.'),
  counts: z
    .strictObject({
      hot: z.int().describe('Number of `hot` signals.'),
      warm: z.int().describe('Number of `warm` signals.'),
    })
    .describe('Number of signals since the last digest.'),
  signals: z
    .array(
      signalSchema.pick({
        signal_id: true,
        classification: true,
        icp_score: true,
        excerpt: true,
        company: true,
        profile_url: true,
      }),
    )
    .max(DIGEST_SIGNALS)
    .describe(`The best signals, best first; at most ${DIGEST_SIGNALS}.`),
  url: z.string().describe('URL of the signals in the dashboard.'),
});
export type DigestData = z.infer<typeof digestDataSchema>;

const leadId = z.string().describe('ID of the lead.');
const campaign = {
  campaign_id: z.string().describe('ID of the campaign.'),
  campaign_name: z.string().describe('Name of the campaign.'),
};

const endpoint = {
  endpoint_id: z.string().describe('ID of the endpoint. The event is not delivered to this endpoint.'),
  label: z.string().describe('Label of the endpoint.'),
  host: z.string().describe("Host name of the endpoint's URL; an empty string without one."),
};
const failures = z.int().describe('Number of failed attempts in a row.');
const previousState = 'State of the endpoint before.';
const currentState = 'State of the endpoint now.';

/** `data` of each event that is delivered in an envelope. State changes have `previous` and `current`. */
export const EVENT_DATA = {
  'signal.new_hot': z.strictObject({
    platform: z.string().describe('Name of the platform of the post.'),
    score: z.string().describe('Classification of the signal.'),
    lead_name: z.string().describe('Name of the author; an empty string if unknown.'),
    signal_text: z.string().describe('Beginning of the post, up to 500 characters.'),
    signal_id: z.string().describe('ID of the signal.'),
  }),
  'lead.created': z.strictObject({
    lead_id: leadId,
    previous: z.null().describe('Always `null`.'),
    current: leadSchema.describe('The lead as it was created.'),
  }),
  'lead.enriched': z.strictObject({
    lead_id: leadId,
    previous: leadSchema.nullable().describe('The lead before; `null` for a new lead.'),
    current: leadSchema.describe('The lead now.'),
  }),
  'pipeline.stage_changed': z.strictObject({
    lead_id: leadId,
    previous: stageSchema.describe('Previous stage.'),
    current: stageSchema.describe('Current stage.'),
    reason: z.string().describe('Reason given for the move; an empty string if none.'),
    actor: actorSchema,
    lead: leadSchema.describe('The lead now.'),
  }),
  'campaign.status_changed': z.strictObject({
    ...campaign,
    previous: campaignStatusSchema.describe('Previous status.'),
    current: campaignStatusSchema.describe('Current status.'),
  }),
  'digest.ready': digestDataSchema,
  'reply.classified': z.strictObject({
    ...campaign,
    event_id: z.string().describe('Your ID of the reply event.'),
    lead_id: z.string().describe('ID of the lead that replied; an empty string if unknown.'),
    email: z.string().describe('Email address that replied; an empty string if unknown.'),
    step: z.int().nullable().describe('Number of the step; `null` if the event had none.'),
    reply_class: replyClassSchema.describe('Classification of the reply.'),
    auto: z.boolean().describe('Whether the reply is automatic.'),
    occurred_at: z.iso.datetime().describe('When the reply was received.'),
    previous: z.null().describe('Always `null`.'),
    current: replyClassSchema.describe('Classification of the reply.'),
  }),
  'deal.changed': z.strictObject({
    lead_id: leadId,
    previous: dealSchema.nullable().describe('The deal before; `null` if there was none.'),
    current: dealSchema.describe('The deal now.'),
    actor: actorSchema,
    lead: leadSchema.describe('The lead now.'),
  }),
  'endpoint.failing': z.strictObject({
    ...endpoint,
    consecutive_failures: failures,
    pauses_at: z.int().describe('Number of failed attempts in a row at which the endpoint is paused.'),
    previous: z.enum(['active', 'failing']).describe(previousState),
    current: z.literal('failing').describe(currentState),
  }),
  'endpoint.paused': z.strictObject({
    ...endpoint,
    reason: z.enum(PAUSED_REASONS).describe('Why the endpoint was paused.'),
    consecutive_failures: failures,
    previous: z.enum(['active', 'failing']).describe(previousState),
    current: z.literal('paused').describe(currentState),
  }),
  'endpoint.recovered': z.strictObject({
    ...endpoint,
    previous: z.enum(['failing', 'paused']).describe(previousState),
    current: z.literal('active').describe(currentState),
  }),
  'delivery.dead': z.strictObject({
    delivery_id: z.string().describe('ID of the delivery, which can be replayed with it.'),
    ...endpoint,
    event: eventTypeSchema.describe('Type of the event that could not be delivered.'),
    event_id: z.string().describe('ID of the event that could not be delivered.'),
    subject_id: z.string().describe('ID of the object that event is about.'),
    attempt_count: z.int().describe('Number of attempts, including replays.'),
    expires_at: z.iso.datetime().describe('When the delivery leaves the dead-letter queue.'),
  }),
} satisfies Record<Exclude<EventType, 'signal.detected'>, z.ZodType>;

/** The envelope around `data`, without its signature. */
export function envelopeSchema(event: string, data: z.ZodType) {
  return z.strictObject({
    event: z.literal(event).describe('Type of the event.'),
    tenant_id: z.string().describe('ID of the account.'),
    data: data.describe('Data of the event.'),
    id: z.string().describe('Unique identifier of the event, the same in all its deliveries.'),
    timestamp: z.iso.datetime().describe('When the event happened.'),
  });
}

/** How long events stay in a feed. */
export const FEED_MS = 7 * DAY_MS;

/** An event in the feed of an endpoint. */
export const feedEventSchema = z
  .strictObject({
    id: z.string().describe('ID of the delivery; the same as its `webhook-id`.'),
    type: eventTypeSchema.describe('Type of the event.'),
    timestamp: z.iso.datetime().describe('When the event happened.'),
    payload: z
      .record(z.string(), z.unknown())
      .describe('The exact body that is posted to a `url`, including its `signature`.'),
  })
  .meta({ id: 'FeedEvent', description: 'An event in the feed of an endpoint.' });
