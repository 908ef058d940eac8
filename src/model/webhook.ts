import { z } from 'zod';
import { endpointHeadersSchema } from './endpoint-headers.ts';
import { eventTypeSchema } from './event.ts';
import { payloadFormatSchema, savedFormatSchema } from './payload-format.ts';
import { classificationSchema, signalTypeSchema } from './signal.ts';
import { idInput, lineText } from './text.ts';

const ENDPOINT_STATUSES = ['active', 'paused'] as const;
/** How signals come: each by itself, or one message for what was found in an hour or a day. */
export const BATCHINGS = ['instant', 'hourly', 'daily'] as const;
export const PAUSED_REASONS = ['failures', 'gone', 'manual', 'plan'] as const;
/** Whether an endpoint is called, or read. */
const ENDPOINT_MODES = ['push', 'pull'] as const;
/** `mcp`: it is called for a subscription of an MCP client, with which it ends; no list of endpoints has it. */
export type EndpointMode = (typeof ENDPOINT_MODES)[number] | 'mcp';
export type PausedReason = (typeof PAUSED_REASONS)[number];

/** Requests in any 60 s that an endpoint gets unless its plan allows more. */
export const DEFAULT_RATE_LIMIT_PER_MINUTE = 60;

const uniqueList = <T extends z.ZodType>(item: T) =>
  z
    .array(item)
    .max(50)
    .transform((list) => [...new Set(list)] as z.output<T>[]);

const settings = {
  url: z
    .string()
    .trim()
    .max(2_048)
    .describe('Public HTTPS address that deliveries are posted to; none with `mode: pull`'),
  label: lineText(200).describe('A name of your own'),
  event_types: uniqueList(eventTypeSchema)
    .refine((l) => l.length > 0, 'must name at least one event')
    .describe('Events it is subscribed to'),
  signal_types: uniqueList(signalTypeSchema).describe('Only signals of these types; empty: all'),
  classifications: uniqueList(classificationSchema).describe('Only signals of these classes; empty: all'),
  icp_profile_ids: uniqueList(idInput).describe('Only signals of these profiles; empty: all'),
  min_score: z.int().min(0).max(100).describe('Only signals with at least this score'),
  max_retries: z.int().min(1).max(10).describe('Attempts after the first'),
  retry_interval_seconds: z
    .int()
    .min(30)
    .max(600)
    .nullable()
    .describe('Wait before the first retry; null: 1 s, 5 s, 30 s, then six times as long each'),
  backoff: z.enum(['exponential', 'fixed']).describe('How the interval goes on'),
  timeout_seconds: z.int().min(1).max(30).describe('From name resolution to the end of the reply'),
  dead_letter: z.boolean().describe('Keep what has used up its retries for 7 days, instead of discarding it'),
  payload_format: payloadFormatSchema
    .nullable()
    .describe(
      'Shape of `signal.detected`, or a `preset`, which makes every event a message of that service (Pro and above); null: the standard payload',
    ),
  batching: z
    .enum(BATCHINGS)
    .describe(
      'With a `preset`: `instant` sends a message for each signal, `hourly` one for those of an hour, `daily` one a day, at the hour and in the time zone of `/v1/settings`. Other events are always sent at once',
    ),
  rate_limit_per_minute: z
    .int()
    .min(1)
    .max(1_000_000)
    .describe('Requests in any 60 s; over 60 on Enterprise only'),
  auto_resume: z.boolean().describe('Probe a paused endpoint, and resume it when it answers 2xx'),
};

/** Settings of an endpoint as a caller writes them (specification, section 2; empty filter lists let everything through). */
export const webhookInputSchema = z.strictObject({
  url: settings.url.default(''),
  label: settings.label.default(''),
  event_types: settings.event_types.default(['signal.detected']),
  signal_types: settings.signal_types.default([]),
  classifications: settings.classifications.default([]),
  icp_profile_ids: settings.icp_profile_ids.default([]),
  min_score: settings.min_score.default(0),
  max_retries: settings.max_retries.default(3),
  retry_interval_seconds: settings.retry_interval_seconds.default(null),
  backoff: settings.backoff.default('exponential'),
  timeout_seconds: settings.timeout_seconds.default(30),
  dead_letter: settings.dead_letter.default(true),
  payload_format: settings.payload_format.default(null),
  batching: settings.batching.default('instant'),
  rate_limit_per_minute: settings.rate_limit_per_minute.default(DEFAULT_RATE_LIMIT_PER_MINUTE),
  auto_resume: settings.auto_resume.default(true),
});
export type WebhookInput = z.infer<typeof webhookInputSchema>;

const orderedSchema = z
  .boolean()
  .describe(
    'One delivery at a time, in the order of events: those behind one that fails wait until it is delivered, dead or discarded',
  );

/** An endpoint as a caller makes it: its settings, and what is kept apart from them. */
export const webhookCreateSchema = webhookInputSchema.extend({
  mode: z
    .enum(ENDPOINT_MODES)
    .default('push')
    .describe('`pull`: it has no `url` and is not called; read `GET /v1/webhooks/{id}/feed` instead'),
  headers: endpointHeadersSchema.default({}),
  ordered: orderedSchema.default(false),
  backfill_days: z
    .int()
    .min(0)
    .max(30)
    .default(0)
    .describe('It also gets the events of so many days before it was made, as far as they pass its filters'),
});
export type WebhookCreate = WebhookInput & Partial<z.infer<typeof webhookCreateSchema>>;

/** A change of settings: what is left out stays as it is. */
export const webhookPatchSchema = z
  .strictObject({ ...settings, headers: endpointHeadersSchema, ordered: orderedSchema })
  .partial();
export type WebhookPatch = z.infer<typeof webhookPatchSchema>;

/** An endpoint on the wire. `secret` is whole in the answer of its creation only; later `secret_last4` tells which it is. */
export const webhookResourceSchema = z
  .strictObject({
    id: z.string(),
    mode: z.enum(ENDPOINT_MODES).describe('`push`: it is called; `pull`: it is read'),
    url: z.string().nullable().describe('null: it is read, not called'),
    label: z.string(),
    event_types: z.array(eventTypeSchema),
    signal_types: z.array(signalTypeSchema),
    classifications: z.array(classificationSchema),
    icp_profile_ids: z.array(z.string()),
    min_score: z.int(),
    max_retries: z.int(),
    retry_interval_seconds: z.int().nullable(),
    backoff: z.enum(['exponential', 'fixed']),
    timeout_seconds: z.int(),
    dead_letter: z.boolean(),
    payload_format: savedFormatSchema.nullable(),
    batching: z.enum(BATCHINGS),
    rate_limit_per_minute: z.int(),
    auto_resume: z.boolean(),
    ordered: z.boolean().describe('One delivery at a time, in the order of events'),
    headers: z.record(z.string(), z.string()).describe('The last 4 characters of each value'),
    status: z.enum(ENDPOINT_STATUSES),
    paused_reason: z.enum(PAUSED_REASONS).nullable(),
    paused_at: z.iso.datetime().nullable(),
    consecutive_failures: z.int().describe('Failed attempts in a row; at 20 it is paused'),
    secret_last4: z.string(),
    previous_secret_expires_at: z.iso
      .datetime()
      .nullable()
      .describe('Until then deliveries are signed with the secret before, too; null: with one secret'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Webhook' });

/** Most hours that an endpoint's secret goes on being used after a new one was made. */
const MOST_GRACE_HOURS = 48;

/** Body of the order for a new secret. */
export const newSecretSchema = z
  .strictObject({
    grace_hours: z
      .number()
      .min(0)
      .max(MOST_GRACE_HOURS)
      .default(0)
      .describe(
        'For so long `webhook-signature` holds two signatures, that of the new secret first; `X-Service-Signature` and `signature` use the new one at once. 0 also ends a grace that runs',
      ),
  })
  .nullish();

/** An endpoint where its secret is shown: in the answer of its creation, and of giving it a new one. */
export const webhookWithSecretSchema = webhookResourceSchema
  .extend({
    secret: z.string().nullable().describe('Shown here and never again; null where an answer is replayed'),
  })
  .meta({ id: 'WebhookWithSecret' });
export type WebhookResource = z.infer<typeof webhookResourceSchema>;

/** An endpoint as stored. `version` grows with every change, so that the dispatcher knows when its copy is old. */
export interface Endpoint {
  id: string;
  tenantId: string;
  mode: EndpointMode;
  /** `url` is empty where it is read. */
  settings: WebhookInput;
  /** AES-256-GCM box of the secret, bound to the endpoint's id. */
  secretBox: Uint8Array;
  secretLast4: string;
  /** The box of the secret before, and until when (Unix milliseconds) `webhook-signature` has one by it too. */
  previousSecretBox: Uint8Array | null;
  previousSecretUntil: number | null;
  /** What is shown of its own headers, and the box of them as JSON; null: it has none. */
  headers: Record<string, string>;
  headersBox: Uint8Array | null;
  ordered: boolean;
  /** From when on it gets events of before it was made, Unix milliseconds; null: it has them, or asked for none. */
  backfillFrom: number | null;
  status: (typeof ENDPOINT_STATUSES)[number];
  pausedReason: PausedReason | null;
  pausedAt: number | null;
  consecutiveFailures: number;
  /** What somebody was notified of: its next success is news. */
  alarm: 'none' | 'failing' | 'paused';
  version: number;
  createdAt: number;
}
