import type { EventType } from './event.ts';

/**
 * A stored body: a JSON object without its closing `signature` member, as the bytes from `start` to `end` of
 * `bytes`. The bodies of one claim share a buffer outside the garbage collector's heap, because they wait
 * longer than most objects that it moves.
 */
export interface BodyBytes {
  bytes: Buffer;
  start: number;
  end: number;
}

/** Encodes a body that is given as text. */
export function toBodyBytes(body: string): BodyBytes {
  const bytes = Buffer.from(body, 'utf8');
  return { bytes, start: 0, end: bytes.length };
}

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

/** Event types of deliveries; a test delivery has no event. */
export type SentEventType = EventType | 'webhook.test';

/** A delivery claimed for one attempt, with its body. */
export interface ClaimedDelivery extends BodyBytes {
  id: string;
  /** Number of this attempt since the delivery was created, from 1; sent as `X-Service-Attempt`. */
  attempt: number;
  /** Number of earlier attempts since the delivery last became pending; decides whether a retry is left. */
  attemptsInCycle: number;
  /** Type of its event; sent as `X-Event-Type`. */
  eventType: SentEventType;
  /** The trace of the event's cause, as `joinTrace` formats it; omitted if it was not traced. */
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

/**
 * The result of one HTTP request, stored for 30 days. Times are Unix milliseconds, durations milliseconds.
 */
export interface AttemptRecord {
  id: string;
  attempt: number;
  startedAt: number;
  durationMs: number;
  /** Null if nothing was sent. */
  sent: SentRequest | null;
  /** Null if no complete status line and headers were received. */
  response: { status: number; headers: Record<string, string | string[]>; body: string } | null;
  error: { code: AttemptErrorCode; message: string } | null;
  /** Milliseconds from the start of the attempt to the end of each completed phase. */
  timings: { connectedMs?: number; headersMs?: number };
}

/** The record of a request: together with the delivery's body, it restores the exact bytes and headers. */
export interface SentRequest {
  host: string;
  contentLength: number;
  /**
   * The `signature` member of the body, in hex; empty if the request had neither it nor
   * `X-Service-Signature`.
   */
  bodySignature: string;
  /** `X-Service-Signature`, in hex. */
  serviceSignature: string;
  /** `webhook-signature`, including its version. */
  standardSignature: string;
  /** `X-Event-Type`; omitted in attempts older than this header. */
  eventType?: SentEventType;
  /** `webhook-id`, if it is not the ID of the delivery. */
  webhookId?: string;
  /** The endpoint's own headers, masked; omitted if it has none. */
  own?: Record<string, string>;
  /**
   * The request was sent twice, because the connection was closed on the first: both count towards the rate
   * limit.
   */
  repeated?: true;
  /** The attempt's own `traceparent`, if it was traced (W3C Trace Context). */
  traceparent?: string;
  /** The `tracestate` of upstream systems, which is passed on. */
  tracestate?: string;
}

/** An attempt for display, with the headers of its request restored. */
export interface AttemptLog extends AttemptRecord {
  requestHeaders: Record<string, string>;
}

/** The next state of a delivery after an attempt. */
export type DeliveryNext =
  | { status: 'delivered' }
  | { status: 'retrying'; at: number }
  | { status: 'dead'; expiresAt: number }
  | { status: 'discarded' };

/**
 * An attempt with all its consequences, committed together. The attempt number is the fencing token: a second
 * outcome of the same attempt has no effect.
 */
export interface Outcome {
  deliveryId: string;
  endpointId: string;
  attempt: AttemptRecord;
  /** Time of the decision, Unix milliseconds. */
  at: number;
  next: DeliveryNext;
  /** The effect on the endpoint's count of consecutive failures; the 20th failure pauses it. */
  streak: 'reset' | 'add' | 'keep';
  /** Whether the receiver is gone for good (410), which pauses the endpoint. */
  gone: boolean;
  /**
   * Whether this is a probe of a paused endpoint: success resumes the endpoint; failure schedules the next
   * probe and uses up no retry.
   */
  probe: boolean;
}

const USER_AGENT = 'Signalpost-Webhooks/1';

/** What distinguishes the headers of an attempt, besides its signatures. */
export interface AttemptKey {
  deliveryId: string;
  attempt: number;
  /** Unix milliseconds; the header contains whole seconds. */
  startedAt: number;
}

type Signatures = Pick<
  SentRequest,
  'serviceSignature' | 'webhookId' | 'standardSignature' | 'eventType' | 'traceparent' | 'tracestate'
>;

/**
 * The headers that we set on a request, alternating names and values. The connection adds `Host` and
 * `Content-Length`.
 */
export function deliveryHeaderList(
  { deliveryId, attempt, startedAt }: AttemptKey,
  { serviceSignature, standardSignature, webhookId, eventType, traceparent, tracestate }: Signatures,
): string[] {
  const headers = [
    'content-type',
    'application/json',
    'user-agent',
    USER_AGENT,
    'x-service-attempt',
    String(attempt),
    'webhook-id',
    webhookId ?? deliveryId,
    'webhook-timestamp',
    String(timestampSeconds(startedAt)),
    'webhook-signature',
    standardSignature,
  ];
  if (serviceSignature !== '') headers.push('x-service-signature', serviceSignature);
  if (eventType !== undefined) headers.push('x-event-type', eventType);
  if (traceparent !== undefined) headers.push('traceparent', traceparent);
  if (tracestate !== undefined) headers.push('tracestate', tracestate);
  return headers;
}

/** Like {@link deliveryHeaderList}, by name. */
export function deliveryHeaders(key: AttemptKey, signatures: Signatures): Record<string, string> {
  const list = deliveryHeaderList(key, signatures);
  const headers: Record<string, string> = {};
  for (let i = 0; i < list.length; i += 2) headers[list[i] ?? ''] = list[i + 1] ?? '';
  return headers;
}

/**
 * Restores all headers of a sent request from its record. Of the endpoint's own headers, only the last
 * characters are stored.
 */
export function sentHeaders(key: AttemptKey, sent: SentRequest): Record<string, string> {
  const ours = deliveryHeaders(key, sent);
  return { host: sent.host, ...sent.own, ...ours, 'content-length': String(sent.contentLength) };
}

/** The `webhook-timestamp` of an attempt: whole Unix seconds (standardwebhooks.com). */
export function timestampSeconds(startedAt: number): number {
  return Math.floor(startedAt / 1_000);
}
