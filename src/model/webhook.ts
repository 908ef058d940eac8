import { z } from 'zod';
import { eventTypeSchema } from './event.ts';
import { payloadFormatSchema, savedFormatSchema } from './payload-format.ts';
import { classificationSchema, signalTypeSchema } from './signal.ts';
import { boundedRecord, idInput, lineText } from './text.ts';

const MOST_HEADERS = 10;
/** Shorter values are masked completely: their last characters would reveal half of them. */
const SHOWN_FROM = 8;

/** RFC 9110, section 5.1: a token. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** RFC 9110, section 5.5, without obsolete text: visible ASCII, with spaces and tabs only inside. */
const VALUE = /^[!-~](?:[\t -~]*[!-~])?$/;

/** Headers of the connection, the body and the signature, which callers must not set. */
const OWNED = new Set([
  ...[
    'accept-encoding',
    'connection',
    'content-encoding',
    'content-length',
    'content-type',
    'date',
    'expect',
  ],
  ...['host', 'http2-settings', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'user-agent'],
  ...['traceparent', 'tracestate', 'x-event-type'],
]);
const OWNED_BEGINNING = /^(?:proxy-|sec-|webhook-|x-service-|x-mcp-)/;

/**
 * What most servers accept of all headers. They are in memory for each endpoint that is sent to, and in each request: 9,000 endpoints with
 * 41 KB each took 0.9 GB.
 */
const MOST_HEADER_CHARS = 8_192;

/** The endpoint's own headers in request bodies. */
const endpointHeadersSchema = boundedRecord(
  z
    .string()
    .max(100)
    .regex(NAME, "must be a header name: letters, digits and !#$%&'*+-.^_`|~")
    .refine((name) => !isOwned(name), 'is a header set by HTTP or the signature'),
  z.string().max(4_096).regex(VALUE, 'must be visible ASCII characters, without spaces at the ends'),
  MOST_HEADERS,
)
  .refine(hasEachOnce, 'must name each header once; names are case-insensitive')
  .refine(
    isShort,
    `must have at most ${MOST_HEADER_CHARS.toLocaleString('en')} characters, names and values together`,
  )
  .describe(
    'Your own headers, sent with every delivery, such as `Authorization`: up to 10, with at most 8,192 characters together. They are ' +
      'encrypted at rest; only the last 4 characters of each value are returned.',
  );
export type EndpointHeaders = z.output<typeof endpointHeadersSchema>;

/** Masks headers for display: only the last 4 characters of each value, and nothing of a short one. */
export function shownHeaders(headers: EndpointHeaders): Record<string, string> {
  const shown = Object.entries(headers).map(([name, value]) => [
    name,
    value.length < SHOWN_FROM ? '' : value.slice(-4),
  ]);
  return Object.fromEntries(shown);
}

function isOwned(name: string): boolean {
  const lower = name.toLowerCase();
  return OWNED.has(lower) || OWNED_BEGINNING.test(lower);
}

function isShort(headers: Record<string, string>): boolean {
  const chars = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return chars <= MOST_HEADER_CHARS;
}

function hasEachOnce(headers: Record<string, string>): boolean {
  const names = Object.keys(headers);
  return new Set(names.map((name) => name.toLowerCase())).size === names.length;
}

const ENDPOINT_STATUSES = ['active', 'paused'] as const;
/** How signals are delivered: one by one, or in one message per hour or day. */
export const BATCHINGS = ['instant', 'hourly', 'daily'] as const;
export const PAUSED_REASONS = ['failures', 'gone', 'manual', 'plan'] as const;
/** Whether deliveries are posted to the endpoint, or read from its feed. */
const ENDPOINT_MODES = ['push', 'pull'] as const;
/** `mcp` belongs to a subscription of an MCP client, ends with it, and is not listed. */
export type EndpointMode = (typeof ENDPOINT_MODES)[number] | 'mcp';
export type PausedReason = (typeof PAUSED_REASONS)[number];

/** Default maximum of requests to an endpoint in any 60 seconds. */
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
    .describe('Public HTTPS URL that deliveries are posted to. Omit it with `mode: pull`.'),
  label: lineText(200).describe('Label for your own use.'),
  event_types: uniqueList(eventTypeSchema)
    .refine((l) => l.length > 0, 'must name at least one event')
    .describe('Events the endpoint is subscribed to.'),
  signal_types: uniqueList(signalTypeSchema).describe('Only signals of these types. Empty: all.'),
  classifications: uniqueList(classificationSchema).describe(
    'Only signals with these classifications. Empty: all.',
  ),
  icp_profile_ids: uniqueList(idInput).describe('Only signals of the profiles with these IDs. Empty: all.'),
  min_score: z.int().min(0).max(100).describe('Only signals with at least this score.'),
  max_retries: z.int().min(1).max(10).describe('Maximum number of retries after the first attempt.'),
  retry_interval_seconds: z
    .int()
    .min(30)
    .max(600)
    .nullable()
    .describe(
      'Delay before the first retry, in seconds. `null`: the default schedule of 1, 5 and 30 seconds, then six times as long each.',
    ),
  backoff: z
    .enum(['exponential', 'fixed'])
    .describe('Whether the delay grows with each retry or stays the same.'),
  timeout_seconds: z
    .int()
    .min(1)
    .max(30)
    .describe('Timeout of an attempt, in seconds, from DNS lookup to the end of the response.'),
  dead_letter: z
    .boolean()
    .describe(
      'Whether deliveries that run out of retries are kept in the dead-letter queue for 7 days instead of being discarded.',
    ),
  payload_format: payloadFormatSchema
    .nullable()
    .describe(
      'Format of the `signal.detected` payload, or a `preset` that turns every event into a message for that service (Pro and ' +
        'above). `null`: the standard payload.',
    ),
  batching: z
    .enum(BATCHINGS)
    .describe(
      'With a `preset`: `instant` sends one message per signal, `hourly` one per hour, `daily` one per day, at the hour and in the ' +
        'time zone of `/v1/settings`. Other events are always sent immediately.',
    ),
  rate_limit_per_minute: z
    .int()
    .min(1)
    .max(1_000_000)
    .describe('Maximum number of requests in any 60 seconds. More than 60 requires the Enterprise plan.'),
  auto_resume: z
    .boolean()
    .describe('Whether a paused endpoint is probed, and resumed when it responds with a 2xx status.'),
};

/**
 * Settings of an endpoint in request bodies (specification, section 2). Empty filter lists match everything.
 */
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
    'Whether deliveries are sent one at a time, in the order of events. While one fails, those after it wait until it is delivered, ' +
      'dead or discarded.',
  );

/** Body of `POST /v1/webhooks`: the settings, and members that are stored separately. */
export const webhookCreateSchema = webhookInputSchema.extend({
  mode: z
    .enum(ENDPOINT_MODES)
    .default('push')
    .describe(
      '`push`: deliveries are posted to `url`. `pull`: there is no `url`; read them with `GET /v1/webhooks/{id}/feed`.',
    ),
  headers: endpointHeadersSchema.default({}),
  ordered: orderedSchema.default(false),
  backfill_days: z
    .int()
    .min(0)
    .max(30)
    .default(0)
    .describe('Also deliver matching events of this many days before the endpoint was created.'),
});
export type WebhookCreate = WebhookInput & Partial<z.infer<typeof webhookCreateSchema>>;

/** Body of `PATCH /v1/webhooks/{id}`: omitted members stay as they are. */
export const webhookPatchSchema = z
  .strictObject({ ...settings, headers: endpointHeadersSchema, ordered: orderedSchema })
  .partial();
export type WebhookPatch = z.infer<typeof webhookPatchSchema>;

/** An endpoint as returned by every API. Its secret is returned only when it is created or regenerated. */
export const webhookResourceSchema = z
  .strictObject({
    id: z.string().describe('Unique identifier of the endpoint.'),
    mode: z
      .enum(ENDPOINT_MODES)
      .describe('`push`: deliveries are posted to `url`; `pull`: they are read from the feed.'),
    url: z.string().nullable().describe('URL that deliveries are posted to; `null` with `mode: pull`.'),
    label: z.string().describe('Label for your own use; an empty string if none is set.'),
    event_types: z.array(eventTypeSchema).describe('Events the endpoint is subscribed to.'),
    signal_types: z.array(signalTypeSchema).describe('Only signals of these types. Empty: all.'),
    classifications: z
      .array(classificationSchema)
      .describe('Only signals with these classifications. Empty: all.'),
    icp_profile_ids: z.array(z.string()).describe('Only signals of the profiles with these IDs. Empty: all.'),
    min_score: z.int().describe('Only signals with at least this score.'),
    max_retries: z.int().describe('Maximum number of retries after the first attempt.'),
    retry_interval_seconds: z
      .int()
      .nullable()
      .describe('Delay before the first retry, in seconds; `null` for the default schedule.'),
    backoff: settings.backoff,
    timeout_seconds: z.int().describe('Timeout of an attempt, in seconds.'),
    dead_letter: settings.dead_letter,
    payload_format: savedFormatSchema
      .nullable()
      .describe('Format of the payload, as saved; `null` for the standard payload.'),
    batching: z
      .enum(BATCHINGS)
      .describe('With a `preset`: whether signals are sent one by one, hourly or daily.'),
    rate_limit_per_minute: z.int().describe('Maximum number of requests in any 60 seconds.'),
    auto_resume: settings.auto_resume,
    ordered: z.boolean().describe('Whether deliveries are sent one at a time, in the order of events.'),
    headers: z
      .record(z.string(), z.string())
      .describe('Your own headers, by name, with the last 4 characters of each value.'),
    status: z
      .enum(ENDPOINT_STATUSES)
      .describe('Status of the endpoint. Deliveries to a `paused` endpoint are held.'),
    paused_reason: z
      .enum(PAUSED_REASONS)
      .nullable()
      .describe(
        'Why the endpoint is paused. `failures`: 20 failed attempts in a row; `gone`: it responded with 410; `manual`: on request; ' +
          '`plan`: the plan includes fewer endpoints. `null` if it is active.',
      ),
    paused_at: z.iso.datetime().nullable().describe('When the endpoint was paused; `null` if it is active.'),
    consecutive_failures: z
      .int()
      .describe('Number of failed attempts in a row. The endpoint is paused at 20.'),
    secret_last4: z.string().describe('Last 4 characters of the signing secret.'),
    previous_secret_expires_at: z.iso
      .datetime()
      .nullable()
      .describe('Until when deliveries are also signed with the previous secret; `null` if they are not.'),
    created_at: z.iso.datetime().describe('When the endpoint was created.'),
  })
  .meta({ id: 'Webhook', description: 'An endpoint that events are delivered to.' });

/** Maximum hours for which the previous secret stays valid. */
const MAX_GRACE_HOURS = 48;

/** Body of `POST /v1/webhooks/{id}/secret`. */
export const newSecretSchema = z
  .strictObject({
    grace_hours: z
      .number()
      .min(0)
      .max(MAX_GRACE_HOURS)
      .default(0)
      .describe(
        'For this many hours, `webhook-signature` contains two signatures, the one with the new secret first; `X-Service-Signature` ' +
          'and `signature` use the new secret immediately. 0 ends a running grace period.',
      ),
  })
  .nullish();

/** An endpoint with its secret, as returned when it is created and when the secret is regenerated. */
export const webhookWithSecretSchema = webhookResourceSchema
  .extend({
    secret: z
      .string()
      .nullable()
      .describe('The signing secret, returned only once; `null` if the response is replayed.'),
  })
  .meta({ id: 'WebhookWithSecret', description: 'An endpoint with its new signing secret.' });
export type WebhookResource = z.infer<typeof webhookResourceSchema>;

/**
 * An endpoint as stored. `version` is incremented by each change, so the dispatcher can detect a stale copy.
 */
export interface Endpoint extends ListedEndpoint {
  /** The secret, encrypted with AES-256-GCM and bound to the endpoint's ID. */
  secretBox: Uint8Array;
  /**
   * The previous secret; `webhook-signature` also contains a signature with it until `previousSecretUntil`.
   */
  previousSecretBox: Uint8Array | null;
  /** Its own headers, encrypted (as JSON); null if it has none. */
  headersBox: Uint8Array | null;
}

/** An endpoint in a list, without what is encrypted. */
export interface ListedEndpoint {
  id: string;
  tenantId: string;
  mode: EndpointMode;
  /** `url` is empty with `mode: pull`. */
  settings: WebhookInput;
  secretLast4: string;
  /** Unix milliseconds. */
  previousSecretUntil: number | null;
  /** Its own headers, masked. */
  headers: Record<string, string>;
  ordered: boolean;
  /** Start of the backfill that is still to be created, Unix milliseconds; null if there is none. */
  backfillFrom: number | null;
  status: (typeof ENDPOINT_STATUSES)[number];
  pausedReason: PausedReason | null;
  pausedAt: number | null;
  consecutiveFailures: number;
  /** The last state that its owner was notified of. */
  alarm: 'none' | 'failing' | 'paused';
  version: number;
  createdAt: number;
}
