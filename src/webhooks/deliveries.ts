import { effectivePlan } from '../accounts/plans.ts';
import { type Clock, DAY_MS, toIso } from '../lib/clock.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { createYielder } from '../lib/yielding.ts';
import { MOST_OUTCOMES } from '../model/constants.ts';
import { type AttemptLog, type AttemptRecord, type DeliveryStatus, toBodyBytes } from '../model/delivery.ts';
import type { AttemptResource, DeliveryDetail, DeliveryResource } from '../model/delivery-resource.ts';
import { DomainError } from '../model/errors.ts';
import { ALL_OTHERS, type EventType } from '../model/event.ts';
import {
  type EventOutcome,
  type EventResource,
  FEED_MS,
  type OutcomeReason,
} from '../model/event-resource.ts';
import type { PageRequest, Position } from '../model/filters.ts';
import type { Tenant } from '../model/tenant.ts';
import type { Endpoint, ListedEndpoint } from '../model/webhook.ts';
import type {
  DeliveryLogStore,
  LastAttempt,
  ListedDelivery,
  ReplayableStatus,
  ReplayResult,
} from '../store/delivery-log-store.ts';
import type { DeliveryLog } from '../store/delivery-store.ts';
import type { EndpointStore } from '../store/endpoint-store.ts';
import type { FeedPage, FeedRow, FeedStore, RecordedEvent } from '../store/event-store.ts';
import { tooManyEndpoints } from './endpoints.ts';
import { signerOf, withSignature } from './signature.ts';

/** Converts a delivery to its representation in lists. */
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

/** Converts a delivery to its representation with the body and all stored attempts. */
export function deliveryDetail(log: DeliveryLog): DeliveryDetail {
  const lastAttempt = lastOf(log.attempts);
  return {
    ...deliveryResource({ ...log, lastAttempt }),
    body: log.body,
    attempts: log.attempts.map((attempt) => attemptResource(attempt, log.body)),
  };
}

/**
 * Converts an attempt. The exact bytes that were sent are restored from the delivery's body and the attempt's
 * signature.
 */
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

/** The bytes that an attempt sent; null if nothing was sent, or if the body is no longer stored. */
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

/** How long the outcome of a delivery is known. */
const LOG_KEPT_MS = 30 * DAY_MS;

const UNSENT_REASONS: Record<DeliveryStatus, OutcomeReason | null> = {
  pending: 'first_attempt_due',
  retrying: 'attempt_failed',
  held: 'endpoint_paused',
  delivered: null,
  dead: 'retries_exhausted',
  discarded: 'retries_exhausted',
  rejected: 'body_too_large',
  expired: 'dead_letter_expired',
};

/** Maximum number of outcomes on one page, about a megabyte: a tenant may have thousands of endpoints. */
const OUTCOMES_A_PAGE = 10_000;

/** The number of events on a page, each of which has an outcome for every endpoint, or {@link MOST_OUTCOMES}. */
export function eventsAPage(limit: number, endpoints: number): number {
  return Math.min(limit, Math.floor(OUTCOMES_A_PAGE / Math.max(1, Math.min(endpoints, MOST_OUTCOMES))));
}

/**
 * The oldest endpoints of a tenant: enough for the outcomes of its events, even if some have one of another kind. All 96,000
 * took 2 s.
 */
export async function endpointsOfEvents(
  { store }: { store: Pick<EndpointStore, 'pageEndpoints'> },
  tenantId: string,
): Promise<ListedEndpoint[]> {
  return (await store.pageEndpoints(tenantId, { limit: 2 * MOST_OUTCOMES, after: null })).rows;
}

/**
 * Converts an event, with one outcome for each of `endpoints`, and for deleted endpoints with deliveries of
 * it; at most {@link MOST_OUTCOMES}, those with deliveries first.
 */
export function eventResource(
  event: RecordedEvent,
  endpoints: readonly Pick<Endpoint, 'id' | 'createdAt'>[],
  now: number,
): EventResource {
  const recorded = [
    ...event.deliveries.map(deliveryOutcome),
    ...event.batched.map(batchedOutcome),
    ...event.skips.filter(({ endpointId }) => endpointId !== ALL_OTHERS).map(skipOutcome),
  ];
  const outcomes = recorded.slice(0, MOST_OUTCOMES);
  const known = new Set(recorded.map((outcome) => outcome.endpoint_id));
  const rest = event.skips.find(({ endpointId }) => endpointId === ALL_OTHERS)?.reason;
  const reasonFor = (createdAt: number): OutcomeReason => {
    if (event.createdAt < now - LOG_KEPT_MS) return 'log_removed';
    return rest !== undefined && createdAt <= event.createdAt ? rest : 'endpoint_created_later';
  };
  const others = endpoints
    .filter(({ id }) => !known.has(id))
    .slice(0, MOST_OUTCOMES - outcomes.length)
    .map(({ id, createdAt }) => skipOutcome({ endpointId: id, reason: reasonFor(createdAt) }));
  return {
    id: event.id,
    type: event.type,
    timestamp: toIso(event.createdAt),
    subject_id: event.subjectId,
    data: JSON.parse(event.data),
    deliveries: [...outcomes, ...others].sort((a, b) => (a.endpoint_id < b.endpoint_id ? -1 : 1)),
  };
}

function deliveryOutcome({ id, endpointId, status, endpointDeleted }: RecordedEvent['deliveries'][number]) {
  const reason = status === 'discarded' && endpointDeleted ? 'endpoint_deleted' : UNSENT_REASONS[status];
  return { endpoint_id: endpointId, delivery_id: id, status, reason } satisfies EventOutcome;
}

function batchedOutcome(endpointId: string): EventOutcome {
  return { endpoint_id: endpointId, delivery_id: null, status: 'pending', reason: 'batch_due' };
}

function skipOutcome({ endpointId, reason }: { endpointId: string; reason: OutcomeReason }): EventOutcome {
  return { endpoint_id: endpointId, delivery_id: null, status: 'skipped', reason };
}

/** Deliveries examined in one commit, which takes the store's writer about 10 ms. */
const REPLAYED_AT_ONCE = 500;

interface ReplayDeps {
  store: DeliveryLogStore;
  clock: Clock;
}

/** The deliveries to replay: those created from `from` on and before `to`, with a final `status`. */
export interface ReplayOrder {
  endpointId: string;
  status: ReplayableStatus;
  from: number | null;
  to: number | null;
  /** Empty: any type. */
  eventTypes?: readonly EventType[];
}

/**
 * Replays one delivery, with the same ID. @throws DomainError `NOT_FOUND`, `CONFLICT` if it cannot be
 * replayed
 */
export async function replayDelivery(deps: ReplayDeps, tenantId: string, id: string): Promise<void> {
  const result = await deps.store.replayDelivery(tenantId, id, deps.clock.now());
  if (result.outcome !== 'replayed') throw refusal(result.outcome, id);
}

/**
 * Replays all deliveries of an order, in several commits, and starts sending before the last one. Returns
 * their number.
 */
export async function replayAll(deps: ReplayDeps, tenantId: string, order: ReplayOrder): Promise<number> {
  const { eventTypes = [] } = order;
  if (eventTypes.length === 0) return await replayRange(deps, tenantId, order, {});
  let count = 0;
  for (const eventType of new Set(eventTypes)) {
    count += await replayRange(deps, tenantId, order, { eventType });
  }
  return count;
}

/** Replays those of an endpoint's deliveries that can be replayed; returns their number. */
export async function replayListed(
  deps: ReplayDeps,
  tenantId: string,
  { endpointId, ids }: Pick<ReplayOrder, 'endpointId'> & { ids: string[] },
): Promise<number> {
  return await deps.store.replayList({ tenantId, endpointId, ids, now: deps.clock.now() });
}

async function replayRange(
  deps: ReplayDeps,
  tenantId: string,
  order: ReplayOrder,
  only: { eventType?: EventType },
): Promise<number> {
  const now = deps.clock.now();
  let count = 0;
  let after: Position | null = null;
  do {
    const part = await deps.store.replayRange({
      ...{ tenantId, endpointId: order.endpointId, status: order.status, from: order.from, ...only },
      ...{ to: order.to ?? now + 1, after, limit: REPLAYED_AT_ONCE, now },
    });
    count += part.replayed;
    after = part.next;
  } while (after !== null);
  return count;
}

const REFUSALS = {
  waiting: 'has not finished yet: an attempt is scheduled, or it is held',
  rejected: 'is larger than 256 KB and is never sent',
  no_body: 'can no longer be sent: its payload is no longer stored',
  pull: 'belongs to an endpoint that is read from its feed',
  no_endpoint: 'belongs to an endpoint that was deleted',
} as const;

function refusal(outcome: Exclude<ReplayResult['outcome'], 'replayed'>, id: string): DomainError {
  if (outcome === 'absent') return new DomainError('NOT_FOUND', `There is no delivery "${id}".`);
  return new DomainError('CONFLICT', `The delivery "${id}" ${REFUSALS[outcome]}.`);
}

interface FeedDeps {
  store: FeedStore;
  clock: Clock;
  secretBox: SecretBox;
}

/**
 * Maximum number of empty ranges to skip before an empty page is returned, for tenants with many events and
 * few for this endpoint.
 */
const MOST_STRETCHES = 20;

/** Reads a page of an endpoint's feed. @throws DomainError `INVALID_CURSOR` */
export async function readFeed(
  { store, clock }: Pick<FeedDeps, 'store' | 'clock'>,
  { id, tenantId }: Endpoint,
  place: PageRequest,
): Promise<FeedPage> {
  const since = clock.now() - FEED_MS;
  const nextTurn = createYielder(clock);
  let page = await store.readFeed(tenantId, { endpointId: id, since, ...place });
  const { truncated } = page;
  for (let stretch = 1; stretch < MOST_STRETCHES && page.count === 0 && page.hasMore; stretch++) {
    await nextTurn();
    page = await store.readFeed(tenantId, { endpointId: id, since, ...place, after: page.next });
  }
  return { ...page, truncated };
}

/** @throws DomainError `PLAN_REQUIRED` if the endpoint is paused because of the plan's limit */
export function refuseBeyondPlan(
  { clock }: Pick<FeedDeps, 'clock'>,
  tenant: Tenant,
  endpoint: Endpoint,
): void {
  if (endpoint.pausedReason === 'plan') throw tooManyEndpoints(effectivePlan(tenant, clock.now()));
}

/** The events of a feed as comma-separated JSON. Each payload is the text that would be posted now. */
export function feedJson(
  { secretBox, clock }: FeedDeps,
  endpoint: Endpoint,
  rows: readonly FeedRow[],
): string {
  if (rows.length === 0) return '';
  const signer = signerOf(secretBox, endpoint);
  const nowSeconds = Math.floor(clock.now() / 1_000);
  return rows
    .map(({ id, eventType, happenedAt, body }) => {
      const payload = signer.seal({ id, ...toBodyBytes(body) }, nowSeconds).body.toString('utf8');
      const head = JSON.stringify({ id, type: eventType, timestamp: toIso(happenedAt) });
      return `${head.slice(0, -1)},"payload":${payload}}`;
    })
    .join(',');
}
