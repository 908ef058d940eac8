import { z } from 'zod';
import { queryTime } from '../http/query.ts';
import type { DeliveryStatus } from '../model/delivery.ts';
import { deliveryStatusSchema } from '../model/delivery-resource.ts';
import { EVENT_TYPES, type EventType } from '../model/event.ts';
import type { Place } from '../model/page.ts';
import type { DeliveryQuery } from '../store/delivery-log-store.ts';

const EVENT_ID = /^evt_[0-9a-z]{1,60}$/;

const idFilter = z.string().min(1).max(64).nullable().default(null);

/** Filters of every list of deliveries, but for the status. */
export const deliveryFilters = {
  event: z
    .string()
    .max(64)
    .refine(
      (text) => isEventType(text) || EVENT_ID.test(text),
      `must be the id of an event or one of ${EVENT_TYPES.join(', ')}`,
    )
    .nullable()
    .default(null)
    .describe('Type of the event, or the id of one'),
  event_id: idFilter.describe('Only deliveries of this event'),
  subject_id: idFilter.describe('Only of events about this signal, lead, campaign or delivery'),
  from: queryTime.describe('Made from this time on'),
  to: queryTime.describe('Made before this time'),
};

/** Query of the delivery logs. */
export const deliveryQuery = { status: deliveryStatusSchema.nullable().default(null), ...deliveryFilters };

interface AskedDeliveries {
  status: DeliveryStatus | null;
  event: string | null;
  event_id: string | null;
  subject_id: string | null;
  from: number | null;
  to: number | null;
}

/** What is asked of the store, but for the place; of all endpoints where `endpointId` is null. */
export function toDeliveryFilters(
  { status, event, event_id, subject_id: subjectId, from, to }: AskedDeliveries,
  endpointId: string | null,
): Omit<DeliveryQuery, keyof Place> {
  return {
    status,
    from,
    to,
    endpointId,
    eventType: event !== null && isEventType(event) ? event : null,
    eventId: event_id ?? (event !== null && !isEventType(event) ? event : null),
    subjectId,
  };
}

function isEventType(text: string): text is EventType {
  return EVENT_TYPES.some((type) => type === text);
}
