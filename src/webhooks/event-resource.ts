import { DAY_MS, toIso } from '../lib/clock.ts';
import type { DeliveryStatus } from '../model/delivery.ts';
import type { EventOutcome, EventResource, OutcomeReason } from '../model/event-resource.ts';
import type { Endpoint } from '../model/webhook.ts';
import type { RecordedEvent } from '../store/event-store.ts';

/** How long it is known what became of a delivery. */
const LOG_KEPT_MS = 30 * DAY_MS;

const REASONS: Record<DeliveryStatus, OutcomeReason | null> = {
  pending: 'first_attempt_due',
  retrying: 'attempt_failed',
  held: 'endpoint_paused',
  delivered: null,
  dead: 'retries_exhausted',
  discarded: 'retries_exhausted',
  rejected: 'body_too_large',
  expired: 'dead_letter_expired',
};

/** Outcomes of one page: about a megabyte. A tenant may have thousands of endpoints. */
const MOST_OUTCOMES = 10_000;

/** How many events a page has, each with an outcome for every endpoint. */
export function eventsAPage(limit: number, endpoints: number): number {
  return Math.max(1, Math.min(limit, Math.floor(MOST_OUTCOMES / Math.max(1, endpoints))));
}

/** An event as it is shown, with one outcome for each of `endpoints`, and for deleted ones that got something of it. */
export function eventResource(
  event: RecordedEvent,
  endpoints: readonly Endpoint[],
  now: number,
): EventResource {
  const outcomes = [
    ...event.deliveries.map(deliveryOutcome),
    ...event.batched.map(batchedOutcome),
    ...event.skips.map(skipOutcome),
  ];
  const known = new Set(outcomes.map((outcome) => outcome.endpoint_id));
  const reason = event.createdAt < now - LOG_KEPT_MS ? 'log_removed' : 'endpoint_created_later';
  const others = endpoints
    .filter(({ id }) => !known.has(id))
    .map(({ id }) => skipOutcome({ endpointId: id, reason }));
  return {
    id: event.id,
    type: event.type,
    timestamp: toIso(event.createdAt),
    subject_id: event.subjectId,
    data: JSON.parse(event.data),
    deliveries: [...outcomes, ...others].sort((a, b) => (a.endpoint_id < b.endpoint_id ? -1 : 1)),
  };
}

function deliveryOutcome({ id, endpointId, status, endpointDeleted }: RecordedEvent['deliveries'][number]) {
  const reason = status === 'discarded' && endpointDeleted ? 'endpoint_deleted' : REASONS[status];
  return { endpoint_id: endpointId, delivery_id: id, status, reason } satisfies EventOutcome;
}

function batchedOutcome(endpointId: string): EventOutcome {
  return { endpoint_id: endpointId, delivery_id: null, status: 'pending', reason: 'batch_due' };
}

function skipOutcome({ endpointId, reason }: { endpointId: string; reason: OutcomeReason }): EventOutcome {
  return { endpoint_id: endpointId, delivery_id: null, status: 'skipped', reason };
}
