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
/** The events an endpoint can subscribe to. `signal.detected` delivers the signal payload, all others the envelope. */
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
  /** The trace of what caused it, as `joinTrace` writes it; null or left out: nothing was traced. */
  trace?: string | null;
}

/** Why an endpoint was not sent an event. */
export type SkipReason =
  | 'event_type'
  | 'signal_type'
  | 'classification'
  | 'icp_profile'
  | 'min_score'
  | 'about_itself'
  | 'same_message';

/** One event and what every endpoint of the tenant gets of it. */
export interface RoutedEvent {
  event: EventRow;
  deliveries: NewDelivery[];
  /** Its deliveries go before others of their endpoints; left out: they take their turn. */
  urgent?: boolean;
  /** Endpoints that get it later, in one message with others. */
  batched: string[];
  skipped: { endpointId: string; reason: SkipReason }[];
}

/** What a payload format adds at the end of each body, up to and with the closing brace. */
export interface BodyTail {
  /** Tells tails apart. */
  hash: string;
  text: string;
  /** Of `text` in UTF-8. */
  bytes: number;
}

/** Who has something new to be sent; `rejected`: it is too large, and will not be. */
export interface NewWork {
  endpointId: string;
  tenantId: string;
  rejected?: true;
}

/**
 * A delivery to be made with its event. `body`, with its `tail` where it has one, is the JSON object without its closing
 * `signature` member. Deliveries whose bytes are the same share a stored body, and bodies a stored tail.
 */
export interface NewDelivery {
  id: string;
  endpointId: string;
  body: string;
  tail?: BodyTail;
  /**
   * `rejected` where the body would exceed the size limit: it is logged and never sent. `delivered` for an endpoint that is
   * read: its feed has it from the commit on.
   */
  status: 'pending' | 'rejected' | 'delivered';
}

/** What happened to an endpoint or to one of its deliveries, not yet an event. */
export interface EndpointNotice {
  id: number;
  tenantId: string;
  type: OperationalType;
  endpointId: string;
  /** Members of the event's data besides the endpoint. */
  facts: Record<string, unknown>;
}
