import { DAY_MS } from '../lib/clock.ts';
import { parseUrl } from '../lib/text.ts';
import { createYielder } from '../lib/yielding.ts';
import type { AttemptErrorCode, DeliveryStatus } from '../model/delivery.ts';
import type { AttemptResource } from '../model/delivery-resource.ts';
import { EVENT_TYPES, type EventType } from '../model/event.ts';
import type { OutcomeReason } from '../model/event-resource.ts';
import type { ListedEndpoint, PausedReason } from '../model/webhook.ts';
import { type AttemptSummary, summaryOf } from '../rules/deliveries.ts';
import { endpointResource } from '../webhooks/endpoints.ts';
import type { DashboardDeps } from './deps.ts';

/** The name of each event, and when it is sent. */
export const EVENT_WORDS: Record<EventType, { label: string; when: string }> = {
  'signal.detected': {
    label: 'New signal',
    when: 'For every signal that passes the filters below, hot or not.',
  },
  'signal.new_hot': {
    label: 'New hot signal',
    when: 'For hot signals only. A chat message is sent once, even with both.',
  },
  'lead.created': { label: 'New lead', when: 'When a person is added to the pipeline.' },
  'lead.enriched': { label: 'Lead enriched', when: 'When a lead is added, or more is learned about it.' },
  'pipeline.stage_changed': { label: 'Stage changed', when: 'When a lead moves in the pipeline.' },
  'campaign.status_changed': {
    label: 'Campaign status changed',
    when: 'When a campaign starts, pauses or ends.',
  },
  'digest.ready': { label: 'Digest', when: 'Daily or weekly, with the best new signals.' },
  'reply.classified': { label: 'Campaign reply', when: 'When a reply to a campaign is classified.' },
  'deal.changed': { label: 'Deal changed', when: 'When the value or status of a deal changes.' },
  'endpoint.failing': {
    label: 'Webhook failing',
    when: 'After 10 and 15 failures in a row of another webhook.',
  },
  'endpoint.paused': { label: 'Webhook paused', when: 'When another webhook is paused.' },
  'endpoint.recovered': { label: 'Webhook recovered', when: 'When another webhook is working again.' },
  'delivery.dead': {
    label: 'Delivery failed',
    when: 'When a delivery to another webhook runs out of retries.',
  },
};

/** "New hot signal" for `signal.new_hot`; "Test delivery" for a delivery without an event. */
export function eventLabel(type: string): string {
  const known = EVENT_TYPES.find((name) => name === type);
  return known === undefined ? 'Test delivery' : EVENT_WORDS[known].label;
}

/** Why an attempt failed, and what to do about it. */
export const ERROR_WORDS: Record<AttemptErrorCode, string> = {
  http_status: 'Check the response and your endpoint’s logs.',
  redirect:
    'The endpoint redirects, and redirects are not followed. Set the Target URL to the final address.',
  timeout: 'Respond with 200 first and do the work afterwards, or allow a longer timeout.',
  connection_refused:
    'Nothing is listening on that address and port. Check that the endpoint is running and the port is right.',
  connection_reset:
    'The endpoint closed the connection before responding. Look for a crash or a proxy in between.',
  dns: 'The host name of the Target URL does not resolve. Check its spelling and its DNS records.',
  tls: 'No secure connection could be established. The certificate must be valid for the host, and the endpoint must support TLS 1.3.',
  blocked_target: 'The host resolves to an address that is not public, so nothing was sent.',
  invalid_response: 'The response was not valid HTTP. Check whether another service uses that port.',
  network: 'The network connection failed. The delivery will be retried.',
  internal: 'Something failed on our side. The delivery will be retried.',
};

/** Why an endpoint received, did not receive or will not receive an event. */
export const REASON_WORDS: Record<OutcomeReason, string> = {
  first_attempt_due: 'waiting for its first attempt',
  batch_due: 'waiting to be sent with others in one message',
  attempt_failed: 'the last attempt failed; another is scheduled',
  endpoint_paused: 'held while the webhook is paused',
  retries_exhausted: 'ran out of retries',
  dead_letter_expired: 'expired after 7 days as a dead letter',
  body_too_large: 'larger than 256 KB, so it was never sent',
  endpoint_deleted: 'the webhook was deleted',
  event_type: 'not subscribed to this event',
  signal_type: 'filtered out by signal type',
  classification: 'filtered out by class',
  icp_profile: 'filtered out by profile',
  min_score: 'below its minimum score',
  about_itself: 'the event is about this webhook',
  same_message: 'already sent as a new signal',
  endpoint_created_later: 'happened before this webhook was created',
  log_removed: 'no longer logged; logs are kept for 30 days',
};

export const STATUS_WORDS: Record<DeliveryStatus, string> = {
  pending: 'Waiting for its first attempt.',
  retrying: 'The last attempt failed. Another is scheduled.',
  held: 'Held while the webhook is paused.',
  delivered: 'Accepted by the endpoint.',
  dead: 'Ran out of retries. It can be replayed until it expires.',
  discarded: 'Discarded: it ran out of retries, or its webhook was deleted.',
  rejected: 'Larger than 256 KB, so it was never sent.',
  expired: 'Expired after 7 days as a dead letter.',
};

export const PAUSE_WORDS: Record<PausedReason, string> = {
  failures: 'Paused after 20 failed attempts in a row. Fix the endpoint, send a test delivery, then resume.',
  gone: 'Paused because the endpoint responded with 410 Gone. Set a new Target URL, then resume.',
  manual: 'Paused manually. Deliveries are held for up to 7 days.',
  plan: 'Paused because your plan has fewer webhooks. Pause another one or change the plan, then resume.',
};

/** How long each phase of an attempt took. An attempt over a kept-alive connection has no connect time. */
export function timingWords(
  {
    timings: { connected_ms: connected, headers_ms: head },
    duration_ms: all,
  }: Pick<AttemptResource, 'timings' | 'duration_ms'>,
  duration: (ms: number) => string,
): string {
  const kept = head === null ? 'Not connected' : 'Reused connection';
  return [
    connected === null ? kept : `Connected in ${duration(connected)}`,
    head === null ? 'no response' : `response after ${duration(head)}`,
    `${duration(all)} in total`,
  ].join(' · ');
}

export const DAYS_SHOWN = 30;

/** Shown in place of the URL for an endpoint that has none. */
const FEED = 'Pull feed';

/** An endpoint as screens show it, always with a name. */
export function shownEndpoint(endpoint: ListedEndpoint) {
  const { url, ...resource } = endpointResource(endpoint);
  return { ...resource, url: url ?? FEED };
}

/** The name of an endpoint on screens: its label, or the host of its URL. */
export function endpointName({ label, url }: { label: string; url: string }): string {
  return label || hostOf(url);
}

/** Names of endpoints by ID, each made when it is asked for: a tenant may have thousands. The name of a deleted endpoint is its ID. */
export function endpointNames(endpoints: readonly ListedEndpoint[]): (id: string) => string {
  const byId = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));
  return (id) => {
    const endpoint = byId.get(id);
    return endpoint === undefined ? id : endpointName(shownEndpoint(endpoint));
  };
}

/** Attempts to an endpoint in the last 24 hours and 30 days. */
interface ShownAttempts {
  lately: AttemptSummary;
  month: AttemptSummary;
}

/**
 * Attempts to these endpoints, by endpoint ID; endpoints without attempts are omitted. Read one by one: at once, those of a
 * thousand endpoints took 0.3 s.
 */
export async function attemptsOf(
  { store, clock }: Pick<DashboardDeps, 'store' | 'clock'>,
  tenantId: string,
  endpointIds: readonly string[],
): Promise<Map<string, ShownAttempts>> {
  const now = clock.now();
  const nextTurn = createYielder(clock);
  const found = new Map<string, ShownAttempts>();
  for (const endpointId of endpointIds) {
    await nextTurn();
    const [lately, month] = await Promise.all([
      store.tallyAttempts(tenantId, { endpointId, since: now - DAY_MS }),
      store.tallyAttempts(tenantId, { endpointId, since: firstDay(now) }),
    ]);
    if (month.length > 0) found.set(endpointId, { lately: summaryOf(lately), month: summaryOf(month) });
  }
  return found;
}

/** The first of the thirty days shown, including today; UTC. */
export function firstDay(now: number): number {
  return (Math.floor(now / DAY_MS) - (DAYS_SHOWN - 1)) * DAY_MS;
}

/** "99.4%, p95 about 120 ms"; a share below 100% is never rounded up to it. Empty if there were no attempts. */
export function attemptWords({ successRate, p95 }: AttemptSummary): string {
  if (successRate === null) return '';
  const rate = `${Math.floor(successRate * 1_000) / 10}%`;
  if (p95 === null) return rate;
  const rounded = Number(p95.toPrecision(2));
  return `${rate}, p95 about ${rounded < 1_000 ? `${rounded} ms` : `${rounded / 1_000} s`}`;
}

/** The host of an endpoint's URL. */
function hostOf(url: string): string {
  return parseUrl(url)?.host ?? url;
}
