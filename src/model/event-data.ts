import { z } from 'zod';
import { campaignStatusSchema } from './campaign.ts';
import { replyClassSchema } from './campaign-event.ts';
import { type EventType, eventTypeSchema } from './event.ts';
import { leadSchema } from './lead.ts';
import { actorSchema, dealSchema, stageSchema } from './pipeline.ts';
import { signalSchema } from './signal.ts';
import { PAUSED_REASONS } from './webhook.ts';

/** The body of `signal.detected`, without its signature: a signal less the ids it is tied to (specification, section 2). */
export const signalPayloadSchema = signalSchema.omit({
  icp_profile_id: true,
  external_id: true,
  lead_id: true,
  also_seen: true,
});

/** Signals that a digest names. */
export const DIGEST_SIGNALS = 20;

/** `data` of `digest.ready`: what was found in the day before the digest's hour. */
export const digestDataSchema = z.strictObject({
  date: z.iso.date().describe("The day it was made on, in the tenant's time zone"),
  timezone: z.string().describe('IANA name'),
  counts: z.strictObject({ hot: z.int(), warm: z.int() }).describe('Of all signals found'),
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
    .describe('Best first'),
  url: z.string().describe('The signals in the dashboard'),
});
export type DigestData = z.infer<typeof digestDataSchema>;

const leadId = z.string().describe('The lead it is about');
const campaign = { campaign_id: z.string(), campaign_name: z.string() };

const endpoint = {
  endpoint_id: z.string().describe('The endpoint it is about, which is not sent it'),
  label: z.string(),
  host: z.string().describe("The target's; empty where it has none"),
};
const failures = z.int().describe('Failed attempts in a row');

/** `data` of each event that is delivered in an envelope; a state change holds `previous` and `current`. */
export const EVENT_DATA = {
  'signal.new_hot': z.strictObject({
    platform: z.string().describe('Where the post was seen'),
    score: z.string().describe('The classification'),
    lead_name: z.string().describe("The author's name; empty where it is not known"),
    signal_text: z.string().describe('The excerpt of the post'),
    signal_id: z.string(),
  }),
  'lead.enriched': z.strictObject({
    lead_id: leadId,
    previous: leadSchema.nullable().describe('null: it is new'),
    current: leadSchema,
  }),
  'pipeline.stage_changed': z.strictObject({
    lead_id: leadId,
    previous: stageSchema,
    current: stageSchema,
    reason: z.string(),
    actor: actorSchema,
    lead: leadSchema,
  }),
  'campaign.status_changed': z.strictObject({
    ...campaign,
    previous: campaignStatusSchema,
    current: campaignStatusSchema,
  }),
  'digest.ready': digestDataSchema,
  'reply.classified': z.strictObject({
    ...campaign,
    event_id: z.string().describe("The caller's own id of the reply"),
    lead_id: z.string().describe('The lead that replied; empty where it is not known'),
    email: z.string().describe('The address that replied; empty where it is not known'),
    step: z.int().nullable(),
    reply_class: replyClassSchema,
    auto: z.boolean().describe('The reply came from a machine'),
    occurred_at: z.iso.datetime(),
    previous: z.null(),
    current: replyClassSchema,
  }),
  'deal.changed': z.strictObject({
    lead_id: leadId,
    previous: dealSchema.nullable().describe('null: it had none'),
    current: dealSchema,
    actor: actorSchema,
    lead: leadSchema,
  }),
  'endpoint.failing': z.strictObject({
    ...endpoint,
    consecutive_failures: failures,
    pauses_at: z.int().describe('Failures in a row at which it is paused'),
    previous: z.enum(['active', 'failing']),
    current: z.literal('failing'),
  }),
  'endpoint.paused': z.strictObject({
    ...endpoint,
    reason: z.enum(PAUSED_REASONS),
    consecutive_failures: failures,
    previous: z.enum(['active', 'failing']),
    current: z.literal('paused'),
  }),
  'endpoint.recovered': z.strictObject({
    ...endpoint,
    previous: z.enum(['failing', 'paused']),
    current: z.literal('active'),
  }),
  'delivery.dead': z.strictObject({
    delivery_id: z.string().describe('In the dead-letter queue; replay it by this id'),
    ...endpoint,
    event: eventTypeSchema.describe('Type of the event that could not be delivered'),
    event_id: z.string(),
    subject_id: z.string().describe('What that event is about'),
    attempt_count: z.int().describe('Over its whole life'),
    expires_at: z.iso.datetime().describe('When it leaves the queue'),
  }),
} satisfies Record<Exclude<EventType, 'signal.detected'>, z.ZodType>;

/** The envelope around `data`, without its signature. */
export function envelopeSchema(event: string, data: z.ZodType) {
  return z.strictObject({
    event: z.literal(event),
    tenant_id: z.string(),
    data,
    id: z.string().describe('The event; the same in every delivery of it'),
    timestamp: z.iso.datetime().describe('When it happened'),
  });
}
