import { z } from 'zod';
import { DELIVERY_STATUSES } from './delivery.ts';
import { eventTypeSchema } from './event.ts';
import { listFilters, listOf, queryTime } from './filters.ts';

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
        '`about_itself`: the event is about this endpoint; `log_removed`: the delivery is no longer stored.',
    ),
});
export type EventOutcome = z.output<typeof outcomeSchema>;

/** An event as every API shows it, with its outcome for each endpoint of the tenant. */
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
    deliveries: z.array(outcomeSchema).describe('Outcome of the event for each endpoint.'),
  })
  .meta({ id: 'Event', description: 'Something that happened, and its delivery to each endpoint.' });
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
