import { z } from 'zod';
import { MOST_ATTEMPTS } from './constants.ts';
import { DELIVERY_STATUSES } from './delivery.ts';
import { EVENT_TYPES, type EventType, eventTypeSchema } from './event.ts';
import { listFilters, queryTime } from './filters.ts';

const time = z.iso.datetime();

export const deliveryStatusSchema = z
  .enum(DELIVERY_STATUSES)
  .describe(
    'Status of the delivery. `pending` and `retrying`: an attempt is due; `held`: the endpoint is paused; `dead`: in the dead-letter ' +
      'queue; `discarded`: dropped; `rejected`: the payload exceeds 256 KB; `expired`: no longer in the dead-letter queue.',
  );

/** A delivery as returned in lists. */
export const deliverySchema = z
  .strictObject({
    id: z
      .string()
      .describe('Unique identifier of the delivery, and its `webhook-id` in all retries and replays.'),
    webhook_id: z.string().describe('ID of the endpoint.'),
    event_id: z.string().describe('ID of the event.'),
    event: eventTypeSchema.describe('Type of the event.'),
    subject_id: z
      .string()
      .describe('ID of the signal, lead, campaign, endpoint or delivery the event is about.'),
    status: deliveryStatusSchema,
    attempt_count: z.int().describe('Number of attempts, including replays.'),
    next_attempt_at: time.nullable().describe('When the next attempt is due; `null` if none is.'),
    created_at: time.describe('When the delivery was created.'),
    expires_at: time
      .nullable()
      .describe('When the delivery leaves or left the dead-letter queue; `null` if it never was in it.'),
    last_attempt: z
      .strictObject({
        started_at: time.describe('When the attempt started.'),
        duration_ms: z.number().describe('Duration of the attempt, in milliseconds.'),
        response_status: z
          .int()
          .nullable()
          .describe('HTTP status of the response; `null` if no complete response was received.'),
        error_code: z.string().nullable().describe('Code of the error; `null` if the attempt succeeded.'),
      })
      .nullable()
      .describe('The last attempt; `null` if there was none.'),
  })
  .meta({ id: 'Delivery', description: 'The delivery of an event to an endpoint.' });
export type DeliveryResource = z.infer<typeof deliverySchema>;

const headersSchema = z.record(z.string(), z.union([z.string(), z.array(z.string())]));

/** The request of an attempt. */
export const sentRequestSchema = z
  .strictObject({
    headers: headersSchema.describe('Headers by lower-case name; empty if nothing was sent.'),
    body: z
      .string()
      .nullable()
      .describe('The exact body; `null` if nothing was sent, or it is no longer stored.'),
  })
  .describe('The request.');

/** The response of an attempt. */
export const receivedResponseSchema = z
  .strictObject({
    status: z.int().describe('HTTP status.'),
    headers: headersSchema.describe('Headers by lower-case name.'),
    body: z.string().describe('First 16 KB of the body.'),
  })
  .nullable()
  .describe('The response; `null` if no complete status line and headers were received.');

export const attemptErrorSchema = z
  .strictObject({
    code: z.string().describe('Machine-readable code of the error, such as `timeout` or `http_status`.'),
    message: z.string().describe('Description of the error.'),
  })
  .nullable()
  .describe('Why the attempt failed; `null` if it succeeded.');

export const attemptTimingsSchema = z
  .strictObject({
    connected_ms: z
      .number()
      .nullable()
      .describe('Time until the connection was established; `null` if it was reused or never established.'),
    headers_ms: z
      .number()
      .nullable()
      .describe('Time until the response headers were received; `null` if they were not.'),
  })
  .describe('Times from the start of the attempt, in milliseconds.');

/** One HTTP request of a delivery. */
const attemptSchema = z
  .strictObject({
    id: z.string().describe('Unique identifier of the attempt.'),
    attempt: z.int().describe('Number of the attempt, from 1; sent as `X-Service-Attempt`.'),
    started_at: time.describe('When the attempt started.'),
    duration_ms: z.number().describe('Duration of the attempt, in milliseconds.'),
    request: sentRequestSchema,
    response: receivedResponseSchema,
    error: attemptErrorSchema,
    timings: attemptTimingsSchema,
  })
  .meta({ id: 'DeliveryAttempt', description: 'One HTTP request of a delivery.' });
export type AttemptResource = z.infer<typeof attemptSchema>;

/** One delivery with its body and attempts. */
export const deliveryDetailSchema = deliverySchema
  .extend({
    body: z
      .string()
      .nullable()
      .describe('The payload without its `signature`; `null` if it is no longer stored.'),
    attempts: z
      .array(attemptSchema)
      .describe(`The newest ${MOST_ATTEMPTS} attempts of the last 30 days, oldest first.`),
  })
  .meta({ id: 'DeliveryDetail', description: 'A delivery with its payload and attempts.' });
export type DeliveryDetail = z.infer<typeof deliveryDetailSchema>;

const EVENT_ID = /^evt_[0-9a-z]{1,60}$/;

const idFilter = z.string().trim().min(1).max(64).nullable().default(null);

/** The filters of delivery lists, for all endpoints; for a single one, set `endpointId` in the result. */
export const deliveryFilters = listFilters(
  {
    status: deliveryStatusSchema.nullable().default(null).describe('Only deliveries with this status.'),
    event: z
      .string()
      .max(64)
      .refine(
        (text) => isEventType(text) || EVENT_ID.test(text),
        `must be an event ID or one of ${EVENT_TYPES.join(', ')}`,
      )
      .nullable()
      .default(null)
      .describe('Only deliveries of this event type, or of the event with this ID.'),
    event_id: idFilter.describe('Only deliveries of the event with this ID.'),
    subject_id: idFilter.describe(
      'Only deliveries of events about the signal, lead, campaign, endpoint or delivery with this ID.',
    ),
    from: queryTime.describe('Only deliveries created at or after this time.'),
    to: queryTime.describe('Only deliveries created before this time.'),
  },
  ({ status, event, event_id, subject_id: subjectId, from, to }) => ({
    status,
    from,
    to,
    endpointId: null as string | null,
    eventType: event !== null && isEventType(event) ? event : null,
    eventId: event_id ?? (event !== null && !isEventType(event) ? event : null),
    subjectId,
  }),
);

function isEventType(text: string): text is EventType {
  return EVENT_TYPES.some((type) => type === text);
}
