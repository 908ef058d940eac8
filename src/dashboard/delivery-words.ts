import type { AttemptErrorCode, DeliveryStatus } from '../model/delivery.ts';
import type { AttemptResource } from '../model/delivery-resource.ts';
import type { OutcomeReason } from '../model/event-resource.ts';
import type { PausedReason } from '../model/webhook.ts';

/** What happened in an attempt that failed, and what to do about it. */
export const ERROR_WORDS: Record<AttemptErrorCode, string> = {
  http_status: 'Look at its reply and its own log.',
  redirect:
    'The receiver redirects elsewhere, which is never followed. Set the Target URL to the final address.',
  timeout: 'Answer with 200 first and do the work afterwards, or allow a longer timeout.',
  connection_refused:
    'Nothing listens at that address and port. Is the receiver running, and the port right?',
  connection_reset:
    'The receiver closed the connection before it answered. Look for a crash or a proxy in between.',
  dns: 'The host name of the Target URL has no address. Check its spelling and the DNS entry.',
  tls: 'No secure connection came about. The certificate must be valid for the host, and TLS 1.3 be spoken.',
  blocked_target: 'The host leads to an address that is not public, so nothing was sent.',
  invalid_response: 'What came back is no HTTP. Does something else listen on that port?',
  network: 'The network between us failed. It is tried again.',
  internal: 'Something failed on our side. It is tried again.',
};

/** Why an endpoint has, has not or will not get an event. */
export const REASON_WORDS: Record<OutcomeReason, string> = {
  first_attempt_due: 'waits for its first attempt',
  batch_due: 'waits to be sent in one message with others',
  attempt_failed: 'the last attempt failed; another is planned',
  endpoint_paused: 'held, as the webhook is paused',
  retries_exhausted: 'all retries were used up',
  dead_letter_expired: 'was a dead letter for 7 days and is gone',
  body_too_large: 'larger than 256 KB, so it was never sent',
  endpoint_deleted: 'the webhook was deleted',
  event_type: 'not subscribed to this event',
  signal_type: 'its filter leaves out this signal type',
  classification: 'its filter leaves out this class',
  icp_profile: 'its filter leaves out this profile',
  min_score: 'the score is below its least score',
  about_itself: 'the event is about this webhook',
  same_message: 'one message for each signal: it was sent as a new signal',
  endpoint_created_later: 'the webhook was made later',
  log_removed: 'too long ago; the log is kept for 30 days',
};

export const STATUS_WORDS: Record<DeliveryStatus, string> = {
  pending: 'waits for its first attempt',
  retrying: 'failed, and is tried again',
  held: 'is held while the webhook is paused',
  delivered: 'was taken by the receiver',
  dead: 'used up its retries; it can be replayed while it is kept',
  discarded: 'used up its retries and was discarded, or its webhook was deleted',
  rejected: 'was larger than 256 KB and never sent',
  expired: 'was kept as a dead letter for 7 days, and is gone',
};

export const PAUSE_WORDS: Record<PausedReason, string> = {
  failures: 'Paused after 20 failed attempts in a row. Mend the receiver, send a test delivery, then resume.',
  gone: 'Paused because the receiver answered 410 Gone. Set a new Target URL, then resume.',
  manual: 'Paused by hand. What is due is held for up to 7 days.',
  plan: 'Paused because your plan has fewer webhooks. Pause another one or change the plan, then resume.',
};

/** How long the parts of an attempt took. A connection that was kept alive is not dialled: it has no time of its own. */
export function timingWords(
  {
    timings: { connected_ms: connected, headers_ms: head },
    duration_ms: all,
  }: Pick<AttemptResource, 'timings' | 'duration_ms'>,
  duration: (ms: number) => string,
): string {
  const kept = head === null ? 'No new connection' : 'On a connection that stood already';
  return [
    connected === null ? kept : `Connected after ${duration(connected)}`,
    head === null ? 'no reply' : `reply after ${duration(head)}`,
    `${duration(all)} in all`,
  ].join(' · ');
}
