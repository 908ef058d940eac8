import type { BodyBytes } from './body-bytes.ts';
import type { EventType } from './event.ts';

/**
 * States of a delivery:
 *   pending   first attempt due            → delivered | retrying | dead | discarded | held
 *   retrying  a later attempt due          → delivered | retrying | dead | discarded | held
 *   held      its endpoint is paused       → pending | retrying | expired | dead | discarded
 *   delivered, dead, discarded, rejected, expired: final (a replay starts again from dead, discarded, expired, delivered)
 */
export const DELIVERY_STATUSES = [
  'pending',
  'retrying',
  'held',
  'delivered',
  'dead',
  'discarded',
  'rejected',
  'expired',
] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** A body over this many bytes is rejected before delivery (specification, section 8). */
export const MAX_BODY_BYTES = 262_144;

/** What a delivery says that it is of: a test is of no event. */
export type SentEventType = EventType | 'webhook.test';

/** A delivery taken for one attempt, with its body. */
export interface ClaimedDelivery extends BodyBytes {
  id: string;
  /** Number of this attempt over the delivery's whole life, from 1; goes out as `X-Service-Attempt`. */
  attempt: number;
  /** Attempts made before this one since the delivery (last) became pending; decides whether a retry is left. */
  attemptsInCycle: number;
  /** Type of its event; goes out as `X-Event-Type`. */
  eventType: SentEventType;
  /** The trace of what caused its event, as `joinTrace` writes it; left out where nothing is traced. */
  trace?: string | null;
}

/** Why an attempt failed. `blocked_target` is a private or forbidden address. */
export type AttemptErrorCode =
  | 'http_status'
  | 'redirect'
  | 'timeout'
  | 'connection_refused'
  | 'connection_reset'
  | 'dns'
  | 'tls'
  | 'blocked_target'
  | 'invalid_response'
  | 'network'
  | 'internal';

/** What one HTTP request came to; kept 30 days. Times are Unix milliseconds, durations milliseconds. */
export interface AttemptRecord {
  id: string;
  attempt: number;
  startedAt: number;
  durationMs: number;
  /** Null where nothing could be sent. */
  sent: SentRequest | null;
  /** Null where no complete reply head came. */
  response: { status: number; headers: Record<string, string | string[]>; body: string } | null;
  error: { code: AttemptErrorCode; message: string } | null;
  /** Milliseconds from the attempt's start to each phase's end, as far as it got. */
  timings: { connectedMs?: number; headersMs?: number };
}

/** What is kept of a request: with the delivery's body it restores the exact bytes and headers sent. */
export interface SentRequest {
  host: string;
  contentLength: number;
  /** The body's `signature` member, hex; empty: it was sent without one, and without `X-Service-Signature`. */
  bodySignature: string;
  /** `X-Service-Signature`, hex. */
  serviceSignature: string;
  /** `webhook-signature`, with its version. */
  standardSignature: string;
  /** `X-Event-Type`; left out in attempts from before it was sent. */
  eventType?: SentEventType;
  /** `webhook-id` where it is not the delivery's. */
  webhookId?: string;
  /** What is shown of the endpoint's own headers; left out where it has none. */
  own?: Record<string, string>;
  /** Sent twice, as the connection was closed at the first: both count for the throttle. */
  repeated?: true;
  /** The attempt's own, where it was traced (W3C Trace Context). */
  traceparent?: string;
  /** What its callers keep in the trace, passed on. */
  tracestate?: string;
}

/** An attempt as it is shown, its request's headers restored. */
export interface AttemptLog extends AttemptRecord {
  requestHeaders: Record<string, string>;
}

/** Where a delivery goes after an attempt. */
export type DeliveryNext =
  | { status: 'delivered' }
  | { status: 'retrying'; at: number }
  | { status: 'dead'; expiresAt: number }
  | { status: 'discarded' };

/**
 * An attempt with all its consequences, committed together. The attempt's number is the fence: a second outcome of the
 * same attempt changes nothing.
 */
export interface Outcome {
  deliveryId: string;
  endpointId: string;
  attempt: AttemptRecord;
  /** When it was decided, Unix milliseconds. */
  at: number;
  next: DeliveryNext;
  /** What it does to the endpoint's count of failures in a row; the 20th pauses it. */
  streak: 'reset' | 'add' | 'keep';
  /** True where the receiver said that it is gone for good (410): the endpoint is paused. */
  gone: boolean;
  /** True for a probe of a paused endpoint: its success resumes it, its failure plans the next and takes no retry. */
  probe: boolean;
}
