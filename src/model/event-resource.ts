import { z } from 'zod';
import { DELIVERY_STATUSES } from './delivery.ts';
import { eventTypeSchema } from './event.ts';
import { listFilters, listOf, queryTime } from './filters.ts';

/** Why an endpoint has, has not or will not get an event. */
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
  'endpoint_created_later',
  'log_removed',
] as const;
export type OutcomeReason = (typeof OUTCOME_REASONS)[number];

const outcomeSchema = z.strictObject({
  endpoint_id: z.string(),
  delivery_id: z.string().nullable().describe('null where none was made, or none yet'),
  status: z
    .enum([...DELIVERY_STATUSES, 'skipped'])
    .describe('The status of the delivery; `skipped` where none was made'),
  reason: z
    .enum(OUTCOME_REASONS)
    .nullable()
    .describe(
      'null where it was delivered. `batch_due`: it waits to be sent in one message with others; `event_type` to `min_score` name the filter of the endpoint that kept the event from it; `about_itself`: it is about this endpoint; `log_removed`: what became of it is not kept any more',
    ),
});
export type EventOutcome = z.output<typeof outcomeSchema>;

/** An event on the wire, with what each endpoint of the tenant got of it. */
export const eventResourceSchema = z
  .strictObject({
    id: z.string(),
    type: eventTypeSchema,
    timestamp: z.iso.datetime(),
    subject_id: z
      .string()
      .describe('Id of the signal, lead, campaign, endpoint or delivery that it is about'),
    data: z
      .record(z.string(), z.unknown())
      .describe('As endpoints get it in `data`; of `signal.detected` the `signal_id`'),
    deliveries: z.array(outcomeSchema),
  })
  .meta({ id: 'Event' });
export type EventResource = z.output<typeof eventResourceSchema>;

/** The filters of lists of events. */
export const eventFilters = listFilters(
  {
    type: listOf(eventTypeSchema).describe('Only events of these types.'),
    from: queryTime.describe('Only events at or after this time.'),
    to: queryTime.describe('Only events before this time.'),
  },
  ({ type: types, from, to }) => ({ types, from, to }),
);
