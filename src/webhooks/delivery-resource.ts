import { toIso } from '../lib/clock.ts';
import type { AttemptLog, AttemptRecord } from '../model/delivery.ts';
import type { AttemptResource, DeliveryDetail, DeliveryResource } from '../model/delivery-resource.ts';
import type { LastAttempt, ListedDelivery } from '../store/delivery-log-store.ts';
import type { DeliveryLog } from '../store/delivery-store.ts';
import { withSignature } from './signature.ts';

/** A delivery as lists show it. */
export function deliveryResource(delivery: ListedDelivery): DeliveryResource {
  const { lastAttempt } = delivery;
  return {
    id: delivery.id,
    webhook_id: delivery.endpointId,
    event_id: delivery.eventId,
    event: delivery.eventType,
    subject_id: delivery.subjectId,
    status: delivery.status,
    attempt_count: delivery.attemptCount,
    next_attempt_at: isoOrNull(delivery.nextAttemptAt),
    created_at: toIso(delivery.createdAt),
    expires_at: isoOrNull(delivery.expiresAt),
    last_attempt: lastAttempt && {
      started_at: toIso(lastAttempt.startedAt),
      duration_ms: lastAttempt.durationMs,
      response_status: lastAttempt.responseStatus,
      error_code: lastAttempt.errorCode,
    },
  };
}

/** A delivery with its body and every attempt that is kept. */
export function deliveryDetail(log: DeliveryLog): DeliveryDetail {
  const lastAttempt = lastOf(log.attempts);
  return {
    ...deliveryResource({ ...log, lastAttempt }),
    body: log.body,
    attempts: log.attempts.map((attempt) => attemptResource(attempt, log.body)),
  };
}

/** An attempt with the exact bytes that were sent, put together of the delivery's body and the attempt's signature. */
function attemptResource(attempt: AttemptLog, body: string | null): AttemptResource {
  return {
    id: attempt.id,
    attempt: attempt.attempt,
    started_at: toIso(attempt.startedAt),
    duration_ms: attempt.durationMs,
    request: { headers: attempt.requestHeaders, body: sentBody(attempt, body) },
    response: attempt.response,
    error: attempt.error,
    timings: timingsOf(attempt),
  };
}

/** The bytes of an attempt; null where nothing was sent, or the body is not kept any more. */
export function sentBody({ sent }: Pick<AttemptRecord, 'sent'>, body: string | null): string | null {
  return sent === null || body === null ? null : withSignature(body, sent.bodySignature);
}

export function timingsOf({ timings }: Pick<AttemptRecord, 'timings'>): AttemptResource['timings'] {
  return { connected_ms: timings.connectedMs ?? null, headers_ms: timings.headersMs ?? null };
}

function lastOf(attempts: readonly AttemptLog[]): LastAttempt | null {
  const last = attempts.at(-1);
  if (last === undefined) return null;
  const { startedAt, durationMs, response, error } = last;
  return { startedAt, durationMs, responseStatus: response?.status ?? null, errorCode: error?.code ?? null };
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : toIso(ms);
}
