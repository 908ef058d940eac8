import { z } from 'zod';
import type { OperationalType } from './constants.ts';

export const EVENT_TYPES = [
  'signal.detected',
  'signal.new_hot',
  'lead.created',
  'lead.enriched',
  'pipeline.stage_changed',
  'campaign.status_changed',
  'digest.ready',
  'reply.classified',
  'deal.changed',
  'endpoint.failing',
  'endpoint.paused',
  'endpoint.recovered',
  'delivery.dead',
] as const;
/**
 * The events an endpoint can subscribe to. `signal.detected` delivers the signal payload, all others the
 * envelope.
 */
export const eventTypeSchema = z.enum(EVENT_TYPES);
export type EventType = z.infer<typeof eventTypeSchema>;

/** Something that happened, stored whether or not it is delivered to an endpoint. `data` is JSON text. */
export interface EventRow {
  id: string;
  tenantId: string;
  type: EventType;
  subjectId: string;
  data: string;
  createdAt: number;
  /** The trace of its cause, as `joinTrace` formats it; null or omitted if it was not traced. */
  trace?: string | null;
}

/** Why an event was not sent to an endpoint. */
export type SkipReason =
  | 'event_type'
  | 'signal_type'
  | 'classification'
  | 'icp_profile'
  | 'min_score'
  | 'about_itself'
  | 'same_message';

/** In place of an endpoint's ID: every endpoint that existed at the time of the event and has no other outcome. */
export const ALL_OTHERS = '*';

/** An event and its outcome for every endpoint of the tenant. */
export interface RoutedEvent {
  event: EventRow;
  deliveries: NewDelivery[];
  /** Further endpoints, if there are very many: each part is stored in a separate, later commit. */
  remainders?: Remainder[];
  /** Whether its deliveries are sent before others of their endpoints; if omitted, they wait their turn. */
  urgent?: boolean;
  /** Endpoints that will receive it later, in one message with others. */
  batched: string[];
  /** `endpointId` may be {@link ALL_OTHERS}, once. */
  skipped: { endpointId: string; reason: SkipReason }[];
}

/** The end of each body that a payload format adds, including the closing brace. */
export interface BodyTail {
  /** Identifies the tail. */
  hash: string;
  text: string;
  /** Length of `text` in UTF-8. */
  bytes: number;
}

/** An endpoint with new work; `rejected` if the payload is too large and will not be sent. */
export interface NewWork {
  endpointId: string;
  tenantId: string;
  rejected?: true;
}

/**
 * A delivery to store with its event. `body`, with its `tail` if it has one, is the JSON object without its
 * closing `signature` member. Deliveries with equal bytes share a stored body, and bodies share stored tails.
 */
export interface NewDelivery {
  id: string;
  endpointId: string;
  body: string;
  tail?: BodyTail;
  /**
   * `rejected` if the body would exceed the size limit: it is logged and never sent. `delivered` for pull
   * endpoints: the delivery is in the feed from the commit on.
   */
  status: 'pending' | 'rejected' | 'delivered';
}

/** Deliveries of one event with the same status and bytes. */
export interface DeliveryBundle extends Pick<NewDelivery, 'body' | 'tail' | 'status'> {
  /** JSON array of alternating delivery and endpoint ids. */
  deliveries: string;
}

/** A part of an event that is stored later. */
export interface Remainder {
  bundles: DeliveryBundle[];
  /** Further bundles as JSON in UTF-8, if their bodies are large: shared memory is passed to the writer thread without a copy. */
  sealed?: SharedArrayBuffer;
  /** As in {@link RoutedEvent}. */
  batched: string[];
}

/** A change of an endpoint or of one of its deliveries that has not become an event yet. */
export interface EndpointNotice {
  id: number;
  tenantId: string;
  type: OperationalType;
  endpointId: string;
  /** Members of the event's data, other than those of the endpoint. */
  facts: Record<string, unknown>;
}
