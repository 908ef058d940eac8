import type { EventType } from './event.ts';

/**
 * A stored body: the bytes of a JSON object without its closing `signature` member, from `start` to `end` of `bytes`. Those
 * of one claim lie in one buffer, outside of the garbage collector's heap: they wait longer than most of what it moves.
 */
export interface BodyBytes {
  bytes: Buffer;
  start: number;
  end: number;
}

/** A body given as text. */
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

const USER_AGENT = 'Signalpost-Webhooks/1';

/** What tells an attempt's headers apart, besides its signatures. */
export interface AttemptKey {
  deliveryId: string;
  attempt: number;
  /** Unix milliseconds; the header has whole seconds. */
  startedAt: number;
}

type Signatures = Pick<
  SentRequest,
  'serviceSignature' | 'webhookId' | 'standardSignature' | 'eventType' | 'traceparent' | 'tracestate'
>;

/** The headers we set on a delivery's request, name and value in turn; the connection adds `Host` and `Content-Length`. */
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

/** As {@link deliveryHeaderList}, by name. */
export function deliveryHeaders(key: AttemptKey, signatures: Signatures): Record<string, string> {
  const list = deliveryHeaderList(key, signatures);
  const headers: Record<string, string> = {};
  for (let i = 0; i < list.length; i += 2) headers[list[i] ?? ''] = list[i + 1] ?? '';
  return headers;
}

/** All headers of a request that was sent, made again from what is kept of it: of the endpoint's own only the end. */
export function sentHeaders(key: AttemptKey, sent: SentRequest): Record<string, string> {
  const ours = deliveryHeaders(key, sent);
  return { host: sent.host, ...sent.own, ...ours, 'content-length': String(sent.contentLength) };
}

/** The `webhook-timestamp` of an attempt: whole Unix seconds (standardwebhooks.com). */
export function timestampSeconds(startedAt: number): number {
  return Math.floor(startedAt / 1_000);
}
