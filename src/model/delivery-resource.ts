import { z } from 'zod';
import { DELIVERY_STATUSES } from './delivery.ts';
import { EVENT_TYPES, type EventType, eventTypeSchema } from './event.ts';
import { listFilters, queryTime } from './filters.ts';

const time = z.iso.datetime();

export const deliveryStatusSchema = z
  .enum(DELIVERY_STATUSES)
  .describe(
    '`held`: its endpoint is paused; `dead`: in the dead-letter queue; `rejected`: over 256 KB, never sent',
  );

/** A delivery on the wire, as lists show it. */
export const deliverySchema = z
  .strictObject({
    id: z.string().describe('Also its `webhook-id`, over all retries and replays'),
    webhook_id: z.string(),
    event_id: z.string(),
    event: eventTypeSchema,
    subject_id: z.string().describe('What the event is about: a signal, lead or campaign'),
    status: deliveryStatusSchema,
    attempt_count: z.int().describe('Over its whole life, replays included'),
    next_attempt_at: time.nullable().describe('null: none is planned'),
    created_at: time,
    expires_at: time.nullable().describe('When a dead letter leaves the queue, or left it'),
    last_attempt: z
      .strictObject({
        started_at: time,
        duration_ms: z.number(),
        response_status: z.int().nullable().describe('null: no complete answer came'),
        error_code: z.string().nullable().describe('null: it succeeded'),
      })
      .nullable(),
  })
  .meta({ id: 'Delivery' });
export type DeliveryResource = z.infer<typeof deliverySchema>;

const headersSchema = z.record(z.string(), z.union([z.string(), z.array(z.string())]));

/** What was sent in an attempt. */
export const sentRequestSchema = z.strictObject({
  headers: headersSchema.describe('Empty where nothing could be sent'),
  body: z
    .string()
    .nullable()
    .describe('The exact bytes; null where nothing was sent, or they are not kept any more'),
});

/** What came back, null where no complete status and headers came. */
export const receivedResponseSchema = z
  .strictObject({
    status: z.int(),
    headers: headersSchema,
    body: z.string().describe('Its first 16 KB'),
  })
  .nullable();

export const attemptErrorSchema = z
  .strictObject({ code: z.string(), message: z.string() })
  .nullable()
  .describe('null: it succeeded');

export const attemptTimingsSchema = z
  .strictObject({ connected_ms: z.number().nullable(), headers_ms: z.number().nullable() })
  .describe(
    'From the start to the connection and to the end of the headers; null where it did not get there',
  );

/** One HTTP request of a delivery. */
const attemptSchema = z
  .strictObject({
    id: z.string(),
    attempt: z.int().describe('`X-Service-Attempt`'),
    started_at: time,
    duration_ms: z.number(),
    request: sentRequestSchema,
    response: receivedResponseSchema,
    error: attemptErrorSchema,
    timings: attemptTimingsSchema,
  })
  .meta({ id: 'DeliveryAttempt' });
export type AttemptResource = z.infer<typeof attemptSchema>;

/** One delivery with its body and attempts. */
export const deliveryDetailSchema = deliverySchema
  .extend({
    body: z
      .string()
      .nullable()
      .describe('Without its `signature` member; null where it is not kept any more'),
    attempts: z.array(attemptSchema).describe('Oldest first; each is kept for 30 days'),
  })
  .meta({ id: 'DeliveryDetail' });
export type DeliveryDetail = z.infer<typeof deliveryDetailSchema>;

const EVENT_ID = /^evt_[0-9a-z]{1,60}$/;

const idFilter = z.string().min(1).max(64).nullable().default(null);

/** The filters of lists of deliveries, to all endpoints: for one, set `endpointId` in the result. */
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
