import { effectivePlan, planLimits } from '../accounts/plans.ts';
import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { createYielder } from '../lib/yielding.ts';
import { MAX_BODY_BYTES } from '../model/delivery.ts';
import {
  ALL_OTHERS,
  type EventRow,
  type EventType,
  type NewDelivery,
  type Remainder,
  type RoutedEvent,
  type SkipReason,
} from '../model/event.ts';
import type { McpEventArguments } from '../model/mcp.ts';
import { isPresetShape, shapeOf } from '../model/payload-shape.ts';
import type { Signal } from '../model/signal.ts';
import { type RoomLease, roomOfCommit, signalRoom } from '../signals/signal-room.ts';
import type { AccountStore } from '../store/account-store.ts';
import { bundled, ENDPOINTS_OF_A_REMAINDER, remainderOf } from '../store/changes/event-bundles.ts';
import type { EndpointStore, Receiver, SubscriptionStore } from '../store/endpoint-store.ts';
import type { LeadStore } from '../store/lead-store.ts';
import type { Notice, SignalStory } from './notice.ts';
import {
  createEnvelopes,
  createPayloads,
  eventEnvelope,
  newHotData,
  occurrenceBody,
  type ShapedBody,
} from './payload.ts';
import { SIGNATURE_MEMBER_BYTES } from './signature.ts';

/** The store, as needed to read receivers. */
type ReceiverStore = EndpointStore &
  Pick<AccountStore, 'getTenant'> &
  Pick<SubscriptionStore, 'listEndedSubscriptions'>;

/** Endpoints that receive nothing, whatever their filters, and how the work is divided. */
export interface FanOutTerms {
  /** The endpoint that the event is about. */
  notTo?: string | null;
  /** Endpoints that were sent the same in the message of another event. */
  alreadySent?: ReadonlySet<string> | undefined;
  /** Called between pieces: ten thousand endpoints took 100 ms in one, and a hundred digests for different topics 0.9 s. */
  nextTurn?: (() => Promise<void>) | undefined;
}

/** Endpoints between two looks at the time. */
const ENDPOINTS_A_LOOK = 100;

/**
 * Routes an event: a delivery for each endpoint that wants it, and a reason for each that does not. Bodies
 * are created with the event and never again, except for those of batched messages (`digests.ts`). Deliveries
 * to paused endpoints are created, too, and held.
 */
export async function fanOut(
  event: EventRow,
  bodyOf: (endpoint: Receiver) => ShapedBody,
  endpoints: readonly Receiver[],
  newId: NewId,
  signal: Signal | null,
  { notTo = null, alreadySent, nextTurn }: FanOutTerms = {},
): Promise<RoutedEvent> {
  const routed: RoutedEvent = { event, deliveries: [], batched: [], skipped: [] };
  if (signal?.classification === 'hot') routed.urgent = true;
  let lastBody = '';
  for (const [place, endpoint] of endpoints.entries()) {
    if (place > 0 && place % ENDPOINTS_A_LOOK === 0) await nextTurn?.();
    const reason =
      endpoint.id === notTo
        ? 'about_itself'
        : (skipReason(event, endpoint, signal) ?? (alreadySent?.has(endpoint.id) ? 'same_message' : null));
    if (endpoint.mode === 'mcp') {
      // Subscriptions are not the tenant's own endpoints, so no reasons are recorded for them.
      if (reason === null) routed.deliveries.push(toSubscription(event, endpoint, signal, newId));
      continue;
    }
    if (reason !== null) {
      routed.skipped.push({ endpointId: endpoint.id, reason });
      continue;
    }
    if (signal !== null && isBatched(endpoint)) {
      routed.batched.push(endpoint.id);
      continue;
    }
    const body = bodyOf(endpoint);
    if (body.body !== lastBody) await nextTurn?.(); // it may have been created now
    lastBody = body.body;
    routed.deliveries.push({
      id: newId('dlv'),
      endpointId: endpoint.id,
      ...body,
      status: bodyStatus(body, endpoint),
    });
  }
  routed.skipped = abridged(routed.skipped);
  return await divided(routed, nextTurn);
}

/** Of more skipped endpoints with the same reason, none is listed. */
const MOST_LISTED = 100;

/**
 * Replaces the longest list of endpoints with the same reason: when two thousand endpoints were paused at once, each of their notices
 * listed the others.
 */
function abridged(skipped: RoutedEvent['skipped']): RoutedEvent['skipped'] {
  if (skipped.length <= MOST_LISTED) return skipped;
  const counts = new Map<SkipReason, number>();
  for (const { reason } of skipped) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const [[reason, count] = ['event_type', 0] as const] = [...counts].sort((a, b) => b[1] - a[1]);
  if (count <= MOST_LISTED) return skipped;
  return [...skipped.filter((skip) => skip.reason !== reason), { endpointId: ALL_OTHERS, reason }];
}

/** Leaves the first endpoints in the event's own commit; the others are stored in separate commits. */
async function divided(routed: RoutedEvent, nextTurn: FanOutTerms['nextTurn']): Promise<RoutedEvent> {
  const { deliveries, batched } = routed;
  const first = partLength(deliveries, 0, MOST_DELIVERIES_A_COMMIT);
  if (first === deliveries.length && first + batched.length <= MOST_DELIVERIES_A_COMMIT) return routed;
  const later = deliveries.splice(first);
  const batchedLater = batched.splice(MOST_DELIVERIES_A_COMMIT - deliveries.length);
  const remainders: Remainder[] = [];
  for (let at = 0; at < later.length; ) {
    const length = partLength(later, at, ENDPOINTS_OF_A_REMAINDER);
    remainders.push(remainderOf(later.slice(at, at + length)));
    at += length;
    await nextTurn?.();
  }
  for (let at = 0; at < batchedLater.length; at += ENDPOINTS_OF_A_REMAINDER)
    remainders.push({ bundles: [], batched: batchedLater.slice(at, at + ENDPOINTS_OF_A_REMAINDER) });
  return { ...routed, remainders };
}

/** Maximum length of what the payloads of a part do not share: 33 tails of 246 KB, in one part, took 0.7 s. */
const MOST_CHARACTERS_A_PART = 512 * 1024;

/** How many deliveries from a place on are in one part: at least one. */
function partLength(deliveries: readonly NewDelivery[], from: number, most: number): number {
  let characters = 0;
  let lastBody = '';
  let length = 0;
  for (; length < most && from + length < deliveries.length; length++) {
    const { body = '', tail } = deliveries[from + length] ?? {};
    characters += (body === lastBody ? 0 : body.length) + (tail?.text.length ?? 0);
    lastBody = body;
    if (characters > MOST_CHARACTERS_A_PART && length > 0) break;
  }
  return length;
}

function toSubscription(
  event: EventRow,
  endpoint: Receiver,
  signal: Signal | null,
  newId: NewId,
): NewDelivery {
  const body = { body: occurrenceBody(event, endpoint.settings.label, signal) };
  return { id: newId('dlv'), endpointId: endpoint.id, ...body, status: bodyStatus(body, endpoint) };
}

/**
 * Whether signals are batched into one message. Without a preset, such as after a change of plan, they are
 * not.
 */
function isBatched({ settings, shape }: Receiver): boolean {
  return settings.batching !== 'instant' && isPresetShape(shape);
}

/**
 * The first of an endpoint's filters that excludes an event; null if none does. Empty filter lists match
 * everything.
 */
export function skipReason(
  event: EventRow,
  endpoint: Pick<Receiver, 'settings'>,
  signal: Signal | null,
): SkipReason | null {
  const wanted = endpoint.settings;
  if (!wanted.event_types.includes(event.type)) return 'event_type';
  if (signal === null) return null;
  if (!lets(wanted.signal_types, signal.signal_type)) return 'signal_type';
  if (!lets(wanted.classifications, signal.classification)) return 'classification';
  if (!lets(wanted.icp_profile_ids, signal.icp_profile_id)) return 'icp_profile';
  return signal.icp_score < wanted.min_score ? 'min_score' : null;
}

function lets<T>(list: readonly T[], value: T): boolean {
  return list.length === 0 || list.includes(value);
}

/**
 * The initial status of a delivery. The size limit includes the signature member (specification, section 8).
 */
export function bodyStatus(
  { body, tail }: ShapedBody,
  { mode }: Pick<Receiver, 'mode'>,
): NewDelivery['status'] {
  const fitting = mode === 'pull' ? 'delivered' : 'pending';
  const added = SIGNATURE_MEMBER_BYTES + (tail?.bytes ?? 0);
  // A UTF-16 unit takes at most 3 bytes in UTF-8, so most bodies need not be counted.
  if (body.length * 3 + added <= MAX_BODY_BYTES) return fitting;
  return Buffer.byteLength(body) + added > MAX_BODY_BYTES ? 'rejected' : fitting;
}

/** Context for creating the events of a signal. */
interface EventOrigin extends Pick<FanOutTerms, 'alreadySent' | 'nextTurn'> {
  tenantId: string;
  now: number;
  newId: NewId;
  receivers: readonly Receiver[];
  trace?: string | null;
  /** Facts for messages in addition to the payload; computed only if one is delivered. */
  story?: () => SignalStory;
}

/** Creates `signal.detected` and, for a hot signal, `signal.new_hot`, routed to the `receivers`. */
export async function signalEvents(signal: Signal, at: EventOrigin): Promise<RoutedEvent[]> {
  const data = JSON.stringify({ signal_id: signal.signal_id });
  const detected = eventOf(signal, at, 'signal.detected', data);
  const payloadOf = createPayloads(signal, at.story);
  const bodyOf = ({ shape }: Receiver) => payloadOf(shape);
  return [
    await fanOut(detected, bodyOf, at.receivers, at.newId, signal, { nextTurn: at.nextTurn }),
    ...(await newHotEvents(signal, withoutDoubles(at), payloadOf)),
  ];
}

/** `signal.new_hot`, if the signal is hot. */
export async function newHotEvents(
  signal: Signal,
  at: EventOrigin,
  payloadOf = createPayloads(signal, at.story),
): Promise<RoutedEvent[]> {
  if (signal.classification !== 'hot') return [];
  const hot = eventOf(signal, at, 'signal.new_hot', newHotData(signal));
  const envelope = { body: eventEnvelope(hot) };
  const bodyOf = ({ shape }: Receiver) => (isPresetShape(shape) ? payloadOf(shape) : envelope);
  const { alreadySent, nextTurn } = at;
  return [await fanOut(hot, bodyOf, at.receivers, at.newId, signal, { alreadySent, nextTurn })];
}

/** Messages for both events are the same, so endpoints that get the first one do not get the second. */
function withoutDoubles(at: EventOrigin): EventOrigin {
  const isDouble = ({ shape, settings }: Receiver) =>
    isPresetShape(shape) && settings.event_types.includes('signal.detected');
  if (!at.receivers.some(isDouble)) return at;
  return { ...at, alreadySent: new Set(at.receivers.filter(isDouble).map(({ id }) => id)) };
}

function eventOf(signal: Signal, at: EventOrigin, type: EventRow['type'], data: string): EventRow {
  return {
    id: at.newId('evt'),
    tenantId: at.tenantId,
    type,
    subjectId: signal.signal_id,
    data,
    createdAt: at.now,
    trace: at.trace ?? null,
  };
}

/** A change and its subject; `data` has `previous` and `current` if a state changed. */
export interface StateChange {
  type: Exclude<EventType, 'signal.detected' | 'signal.new_hot'>;
  subjectId: string;
  data: Record<string, unknown>;
  /** The endpoint that the change is about, which does not receive it. */
  notTo?: string;
  /** The text of messages; omitted: derived from the data. */
  notice?: Notice;
  /** The signals that the change is about, by which MCP clients filter events; called only if one does. */
  signals?(): Promise<readonly SignalFacts[]> | readonly SignalFacts[];
}

/** The facts of a signal that subscriptions filter by. */
export type SignalFacts = Pick<Signal, 'icp_profile_id' | 'icp_score'>;

export interface RouteDeps {
  store: ReceiverStore;
  clock: Clock;
  newId: NewId;
  /** The trace of the change, as `joinTrace` formats it; null or omitted if it is not traced. */
  trace?: string | null;
}

const NONE_IN_HAND: ReadonlySet<string> = new Set();

/** Creates and routes the events of changes, to be committed together with the changes. */
export async function routeChanges(
  { store, clock, newId, trace = null }: RouteDeps,
  tenantId: string,
  changes: readonly StateChange[],
): Promise<RoutedEvent[]> {
  if (changes.length === 0) return [];
  const receivers = await listReceivers({ store, clock }, tenantId);
  const createdAt = clock.now();
  const nextTurn = createYielder(clock);
  const routed: RoutedEvent[] = [];
  for (const change of changes) {
    const { type, subjectId, data, notTo = null, notice } = change;
    const event = {
      id: newId('evt'),
      tenantId,
      type,
      subjectId,
      data: JSON.stringify(data),
      createdAt,
      trace,
    };
    const fitting = await fittingReceivers(receivers, change);
    const terms = { notTo, nextTurn };
    const whole = await fanOut(event, createEnvelopes(event, notice), fitting, newId, null, terms);
    routed.push(bundled(whole, NONE_IN_HAND));
    await nextTurn();
  }
  return routed;
}

/**
 * Routes changes and commits them with their events. Each event may have ten thousand deliveries, so only some changes are in memory at once:
 * with 150 requests of each of four accounts, a heap of 1 GB was full. `room` is that of the caller, if its work has one.
 * @throws DomainError `UNAVAILABLE` if too many changes of the tenant wait already, unless this one `waits`
 */
export async function commitRouted<T>(
  deps: RouteDeps,
  tenantId: string,
  { changes, room, waits = false }: { changes: readonly StateChange[]; room?: RoomLease; waits?: boolean },
  commit: (events: RoutedEvent[]) => Promise<T>,
): Promise<T> {
  if (changes.length === 0) return commit([]);
  const lease = room ?? signalRoom.lease(tenantId, { waits });
  try {
    await lease.take(0, roomOfCommit(await deps.store.listReceivers(tenantId)));
    return await commit(await routeChanges(deps, tenantId, changes));
  } finally {
    if (room === undefined) lease.end();
  }
}

/** Removes subscriptions of MCP clients whose arguments match none of the signals that a change is about. */
async function fittingReceivers(
  receivers: readonly Receiver[],
  { type, signals = () => [] }: StateChange,
): Promise<readonly Receiver[]> {
  const isFiltered = ({ mode, settings }: Receiver) =>
    mode === 'mcp' &&
    settings.event_types.includes(type) &&
    (settings.min_score > 0 || settings.icp_profile_ids.length > 0);
  if (!receivers.some(isFiltered)) return receivers;
  const facts = await signals();
  return receivers.filter((receiver) => {
    const { icp_profile_ids, min_score } = receiver.settings;
    return !isFiltered(receiver) || fits(facts, { icp_profile_id: icp_profile_ids[0], min_score });
  });
}

/** Whether one of the signals matches the profile, if given, and the minimum score. */
export function fits(
  signals: readonly SignalFacts[],
  { icp_profile_id: profile, min_score: least = 0 }: McpEventArguments,
): boolean {
  return signals.some(
    ({ icp_profile_id, icp_score }) =>
      (profile === undefined || icp_profile_id === profile) && icp_score >= least,
  );
}

/** Maximum number of a lead's signals to check: the best ones alone could miss a match. */
const SIGNALS_LOOKED_AT = 100;

/** The signals by which a stored lead is matched. */
export async function signalsOfLead(
  store: Pick<LeadStore, 'listScoresOfLead'>,
  leadId: string,
): Promise<SignalFacts[]> {
  const scores = await store.listScoresOfLead(leadId, SIGNALS_LOOKED_AT);
  return scores.map(({ profileId, score }) => ({ icp_profile_id: profileId, icp_score: score }));
}

/**
 * The tenant's current endpoints, without those of ended subscriptions. Formats that the plan does not
 * include are replaced by the standard payload.
 */
export async function listReceivers(
  deps: { store: ReceiverStore; clock: Clock },
  tenantId: string,
): Promise<readonly Receiver[]> {
  return asIncluded(
    deps,
    tenantId,
    await withoutEnded(deps, tenantId, await deps.store.listReceivers(tenantId)),
  );
}

/** One of the tenant's own endpoints, as {@link listReceivers} has it. */
export async function findReceiver(
  deps: { store: ReceiverStore; clock: Clock },
  tenantId: string,
  id: string,
): Promise<Receiver | undefined> {
  const endpoint = await deps.store.getEndpoint(tenantId, id);
  if (endpoint === null) return undefined;
  const { mode, settings } = endpoint;
  const shape = settings.payload_format === null ? null : shapeOf(settings.payload_format);
  return (await asIncluded(deps, tenantId, [{ id, mode, settings, shape }]))[0];
}

async function asIncluded(
  { store, clock }: { store: ReceiverStore; clock: Clock },
  tenantId: string,
  receivers: readonly Receiver[],
): Promise<readonly Receiver[]> {
  if (receivers.every(({ shape }) => shape === null)) return receivers;
  const tenant = await store.getTenant(tenantId);
  const plan = tenant === null ? 'starter' : effectivePlan(tenant, clock.now());
  const limit = planLimits(plan).payloadFormatBytes;
  return receivers.map((receiver) => {
    const isIncluded = receiver.shape === null || receiver.shape.formatBytes <= limit;
    return isIncluded ? receiver : { ...receiver, shape: null };
  });
}

/** Housekeeping ends subscriptions a few seconds late; nothing is sent to them in the meantime. */
async function withoutEnded(
  { store, clock }: { store: ReceiverStore; clock: Clock },
  tenantId: string,
  receivers: readonly Receiver[],
): Promise<readonly Receiver[]> {
  if (receivers.every(({ mode }) => mode !== 'mcp')) return receivers;
  const ended = await store.listEndedSubscriptions(tenantId, clock.now());
  return ended.length === 0 ? receivers : receivers.filter(({ id }) => !ended.includes(id));
}

/**
 * Maximum number of deliveries in one commit of signals, and of those that are stored together with an event: 25 posts to
 * two thousand endpoints in one commit took 8 s of processor time, in one piece. To as many endpoints, 250 take the writer about
 * 10 ms.
 */
export const MOST_DELIVERIES_A_COMMIT = 250;
