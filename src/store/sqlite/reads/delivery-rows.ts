import type { DeliveryStatus } from '../../../model/delivery.ts';
import type { EventType } from '../../../model/event.ts';
import type { DeliverySummary } from '../../delivery-log-store.ts';

/** What `SHOWN_COLUMNS` give. */
export interface ShownRow {
  id: string;
  endpoint_id: string;
  event_id: string;
  event_type: string;
  subject_id: string;
  status: string;
  attempt_count: number;
  next_attempt_at: number | null;
  created_at: number;
  expires_at: number | null;
}

export function toSummary(row: ShownRow): DeliverySummary {
  return {
    id: row.id,
    endpointId: row.endpoint_id,
    eventId: row.event_id,
    eventType: row.event_type as EventType,
    subjectId: row.subject_id,
    status: row.status as DeliveryStatus,
    attemptCount: row.attempt_count,
    nextAttemptAt: row.next_attempt_at,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}
