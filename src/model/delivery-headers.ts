import type { SentRequest } from './delivery.ts';

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
