import type { DeliveryStatus } from '../../../src/model/delivery.ts';
import type { WebhookInput } from '../../../src/model/webhook.ts';

/**
 * The expected state of deliveries and endpoints: the rules of docs/decisions and of both state machines, implemented
 * a second time, as simply as possible, with in-memory maps.
 */
export const MINUTE = 60_000;
export const DAY = 86_400_000;
export const LEASE_MS = 60_000;
const WEEK = 7 * DAY;
/** The number of consecutive failures after which the owner gets the first mail. */
const WARN_AT = 10;
const PAUSE_AT = 20;
const RETRY_SECONDS = [1, 5, 30, 180, 1_080];

export interface ExpectedDelivery {
  id: string;
  endpointId: string;
  body: string;
  createdAt: number;
  /** As stored: whether it is held or its endpoint deleted depends on the endpoint. */
  state: Exclude<DeliveryStatus, 'held'>;
  dueAt: number | null;
  /** The counted attempts, those before the last replay, and those in the log. */
  attempts: number;
  before: number;
  logged: number;
  expiresAt: number | null;
  hasBody: boolean;
}

export interface ExpectedEndpoint {
  id: string;
  deleted: boolean;
  paused: 'failures' | 'gone' | 'manual' | null;
  pausedAt: number | null;
  failures: number;
  /** The time of the next probe, and the number of probes since the pause. */
  probeAt: number | null;
  probes: number;
  settings: WebhookInput;
  lease: { token: string; until: number } | null;
  /** The mails its owner should have received. */
  mails: number;
}

/** A request that a process has in flight, or had in flight when it died. */
export interface Flight {
  token: string;
  endpointId: string;
  deliveryId: string;
  attempt: number;
  attemptsInCycle: number;
  settings: WebhookInput;
  probe: boolean;
  until: number;
}

/** How a request can end. */
export type Ending = 'success' | 'failure' | 'gone' | 'blocked' | 'internal';

export interface Expected {
  now: number;
  endpoints: Map<string, ExpectedEndpoint>;
  deliveries: Map<string, ExpectedDelivery>;
  flights: Flight[];
  /** Tokens of live processes, newest last, and the number of processes so far. */
  tokens: string[];
  tokensEver: number;
  made: number;
}

export const isWaiting = ({ state }: ExpectedDelivery) => state === 'pending' || state === 'retrying';

/** The displayed status of a delivery. */
export function shown(delivery: ExpectedDelivery, endpoint: ExpectedEndpoint): DeliveryStatus {
  if (!isWaiting(delivery)) return delivery.state;
  if (endpoint.deleted) return 'discarded';
  return endpoint.paused === null ? delivery.state : 'held';
}

/** Waiting deliveries of an endpoint, longest due first. */
export function waitingFor(expected: Expected, endpointId: string): ExpectedDelivery[] {
  return [...expected.deliveries.values()]
    .filter((one) => one.endpointId === endpointId && isWaiting(one))
    .sort((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0) || (a.id < b.id ? -1 : 1));
}

export const heldBy = (expected: Expected, token: string, endpointId: string): Flight[] =>
  expected.flights.filter((flight) => flight.token === token && flight.endpointId === endpointId);

/** Whether another process's lease is still valid. */
export function isLeasedElsewhere(expected: Expected, endpoint: ExpectedEndpoint, token: string): boolean {
  return endpoint.lease !== null && endpoint.lease.token !== token && endpoint.lease.until > expected.now;
}

/** Sends the request. */
export function take(expected: Expected, delivery: ExpectedDelivery, token: string, probe: boolean): Flight {
  const endpoint = endpointOf(expected, delivery.endpointId);
  const until = expected.now + LEASE_MS;
  const flight: Flight = {
    ...{ token, until, probe, endpointId: endpoint.id, deliveryId: delivery.id },
    attempt: delivery.attempts + 1,
    attemptsInCycle: delivery.attempts - delivery.before,
    settings: endpoint.settings,
  };
  expected.flights.push(flight);
  endpoint.lease = { token, until };
  return flight;
}

/** Ends the request; returns whether its outcome counts. */
export function land(expected: Expected, flight: Flight, ending: Ending): boolean {
  expected.flights.splice(expected.flights.indexOf(flight), 1);
  const delivery = deliveryOf(expected, flight.deliveryId);
  delivery.logged++;
  if (!isWaiting(delivery) || delivery.attempts !== flight.attempt - 1) return false;
  delivery.attempts = flight.attempt;
  moveOn(expected, { delivery, flight, ending });
  if (flight.probe) probed(expected, endpointOf(expected, flight.endpointId), ending);
  countFailures(expected, endpointOf(expected, flight.endpointId), ending);
  return true;
}

interface Landing {
  delivery: ExpectedDelivery;
  flight: Flight;
  ending: Ending;
}

function moveOn({ now }: Expected, { delivery, flight, ending }: Landing): void {
  const { settings, attemptsInCycle, probe } = flight;
  delivery.dueAt = null;
  if (ending === 'success') delivery.state = 'delivered';
  else if (ending !== 'internal' && (probe || attemptsInCycle < settings.max_retries)) {
    delivery.state = 'retrying';
    const fixed = settings.retry_interval_seconds;
    const plain = RETRY_SECONDS[attemptsInCycle] ?? 3_600;
    const seconds = fixed === null ? plain : Math.min(fixed * 2 ** attemptsInCycle, 3_600);
    delivery.dueAt = now + seconds * 1_000;
    if (probe) delivery.before++; // it uses up no retry
  } else exhaust(delivery, settings.dead_letter, now);
}

function exhaust(delivery: ExpectedDelivery, deadLetter: boolean, now: number): void {
  delivery.dueAt = null;
  delivery.state = deadLetter ? 'dead' : 'discarded';
  delivery.expiresAt = deadLetter ? now + WEEK : null;
}

function probed({ now }: Expected, endpoint: ExpectedEndpoint, ending: Ending): void {
  if (ending === 'gone' && endpoint.paused === 'failures') {
    endpoint.paused = 'gone';
    endpoint.probeAt = null;
  }
  if (endpoint.probeAt === null || endpoint.paused === null) return; // paused manually in the meantime
  if (ending === 'success') activate(endpoint);
  else {
    endpoint.probes++;
    endpoint.probeAt = now + Math.min(5 * 2 ** endpoint.probes, 60) * MINUTE;
  }
}

function countFailures({ now }: Expected, endpoint: ExpectedEndpoint, ending: Ending): void {
  if (ending === 'success') endpoint.failures = 0;
  if (ending !== 'failure' && ending !== 'gone') return;
  endpoint.failures++;
  if (endpoint.paused !== null || endpoint.deleted) return;
  if (ending !== 'gone' && endpoint.failures < PAUSE_AT) {
    if (endpoint.failures === WARN_AT) endpoint.mails++;
    return;
  }
  endpoint.paused = ending === 'gone' ? 'gone' : 'failures';
  endpoint.pausedAt = now;
  endpoint.mails++;
  endpoint.probes = 0;
  endpoint.probeAt =
    endpoint.paused === 'failures' && endpoint.settings.auto_resume ? now + 5 * MINUTE : null;
}

export function pauseByHand({ now }: Expected, endpoint: ExpectedEndpoint): void {
  if (endpoint.paused === null) endpoint.pausedAt = now;
  endpoint.paused = 'manual';
  endpoint.probeAt = null;
}

export function resumeByHand(expected: Expected, endpoint: ExpectedEndpoint): void {
  for (const one of waitingFor(expected, endpoint.id)) one.dueAt = Math.min(one.dueAt ?? 0, expected.now);
  activate(endpoint);
}

function activate(endpoint: ExpectedEndpoint): void {
  Object.assign(endpoint, { paused: null, pausedAt: null, probeAt: null, probes: 0, failures: 0 });
}

export function change({ now }: Expected, endpoint: ExpectedEndpoint, settings: WebhookInput): void {
  endpoint.settings = settings;
  if (endpoint.paused !== 'failures') return;
  endpoint.probeAt = settings.auto_resume ? (endpoint.probeAt ?? now + 5 * MINUTE) : null;
}

export function remove(expected: Expected, endpoint: ExpectedEndpoint): void {
  for (const one of waitingFor(expected, endpoint.id)) exhaust(one, false, expected.now);
  endpoint.deleted = true;
}

/** Why a delivery cannot be replayed, or that it is replayed. */
export function replay(expected: Expected, delivery: ExpectedDelivery): string {
  if (endpointOf(expected, delivery.endpointId).deleted) return 'no_endpoint';
  if (delivery.state === 'rejected') return 'rejected';
  if (isWaiting(delivery)) return 'waiting';
  if (!delivery.hasBody) return 'no_body';
  delivery.state = 'pending';
  delivery.dueAt = expected.now;
  delivery.before = delivery.attempts;
  delivery.expiresAt = null;
  return 'replayed';
}

/** Applies the retention of a week. */
export function expire(expected: Expected): void {
  const { now } = expected;
  for (const delivery of expected.deliveries.values()) {
    const endpoint = endpointOf(expected, delivery.endpointId);
    const heldSince = Math.max(endpoint.pausedAt ?? now, delivery.dueAt ?? now);
    const isHeld = isWaiting(delivery) && endpoint.paused !== null && !endpoint.deleted;
    if (isHeld && heldSince <= now - WEEK) exhaust(delivery, endpoint.settings.dead_letter, now);
    if (delivery.state === 'dead' && (delivery.expiresAt ?? now) <= now) {
      delivery.state = 'expired';
      delivery.hasBody = false;
    }
  }
}

/** Applies a change of the machine's clock. */
export function stepClock(expected: Expected, deltaMs: number): void {
  expected.now += deltaMs;
  for (const one of expected.deliveries.values()) {
    if (one.state === 'retrying') one.dueAt = (one.dueAt ?? 0) + deltaMs;
    if (one.state === 'pending') one.dueAt = Math.min(one.dueAt ?? 0, expected.now);
  }
  for (const one of expected.endpoints.values()) if (one.probeAt !== null) one.probeAt += deltaMs;
}

export function endpointOf(expected: Expected, id: string): ExpectedEndpoint {
  const endpoint = expected.endpoints.get(id);
  if (endpoint === undefined) throw new Error(`no endpoint ${id}`);
  return endpoint;
}

export function deliveryOf(expected: Expected, id: string): ExpectedDelivery {
  const delivery = expected.deliveries.get(id);
  if (delivery === undefined) throw new Error(`no delivery ${id}`);
  return delivery;
}
