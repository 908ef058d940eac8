import { effectivePlan, planLimits } from '../accounts/plans.ts';
import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { MAX_BODY_BYTES } from '../model/delivery.ts';
import type { EventRow, EventType, NewDelivery, RoutedEvent, SkipReason } from '../model/event.ts';
import type { McpEventArguments } from '../model/mcp.ts';
import { isPresetShape } from '../model/payload-shape.ts';
import type { Signal } from '../model/signal.ts';
import type { AccountStore } from '../store/account-store.ts';
import type { Taking } from '../store/delivery-store.ts';
import type { EndpointStore, Receiver, SubscriptionStore } from '../store/endpoint-store.ts';
import type { LeadStore } from '../store/lead-store.ts';
import type { CommittedSignal, NewSignal, SignalStore } from '../store/signal-store.ts';
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

/** What receivers are read from. */
type ReceiverStore = EndpointStore &
  Pick<AccountStore, 'getTenant'> &
  Pick<SubscriptionStore, 'listEndedSubscriptions'>;

/** Who gets none, whatever their filters say. */
export interface FanOutLimits {
  /** The endpoint that the event is about. */
  notTo?: string | null;
  /** Those that were sent the same in another event's message. */
  toldAlready?: ReadonlySet<string> | undefined;
}

/**
 * Who gets an event: a delivery for each endpoint that wants it, a reason for each that does not. Bodies are made at
 * event time and never again, except of what is sent in one message with others (`digests.ts`). A paused endpoint gets its delivery too, which is held.
 */
export function fanOut(
  event: EventRow,
  bodyOf: (endpoint: Receiver) => ShapedBody,
  endpoints: readonly Receiver[],
  newId: NewId,
  signal: Signal | null,
  { notTo = null, toldAlready }: FanOutLimits = {},
): RoutedEvent {
  const routed: RoutedEvent = { event, deliveries: [], batched: [], skipped: [] };
  if (signal?.classification === 'hot') routed.urgent = true;
  for (const endpoint of endpoints) {
    const reason =
      endpoint.id === notTo
        ? 'about_itself'
        : (skipReason(event, endpoint, signal) ?? (toldAlready?.has(endpoint.id) ? 'same_message' : null));
    if (endpoint.mode === 'mcp') {
      // What it does not get is no reason in anybody's list: subscriptions are no endpoints of the tenant's own.
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
    routed.deliveries.push({
      id: newId('dlv'),
      endpointId: endpoint.id,
      ...body,
      status: bodyStatus(body, endpoint),
    });
  }
  return routed;
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

/** Whether its signals wait to be sent in one message; without its preset, as after a change of plan, they do not. */
function isBatched({ settings, shape }: Receiver): boolean {
  return settings.batching !== 'instant' && isPresetShape(shape);
}

/** The first of an endpoint's filters that keeps an event from it, or null. Empty filter lists let everything through. */
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

/** How a delivery begins. The limit is on what would be sent, so the signature member counts (specification, section 8). */
export function bodyStatus(
  { body, tail }: ShapedBody,
  { mode }: Pick<Receiver, 'mode'>,
): NewDelivery['status'] {
  const fitting = mode === 'pull' ? 'delivered' : 'pending';
  const added = SIGNATURE_MEMBER_BYTES + (tail?.bytes ?? 0);
  // UTF-8 takes at most 3 bytes for a UTF-16 unit: most bodies need no count.
  if (body.length * 3 + added <= MAX_BODY_BYTES) return fitting;
  return Buffer.byteLength(body) + added > MAX_BODY_BYTES ? 'rejected' : fitting;
}

/** What events of a signal are made with. */
interface EventOrigin {
  tenantId: string;
  now: number;
  newId: NewId;
  receivers: readonly Receiver[];
  trace?: string | null;
  /** Endpoints whose message of `signal.detected` says it all. */
  toldAlready?: ReadonlySet<string>;
  /** What messages say about it in addition to its payload; created only if one is delivered. */
  story?: () => SignalStory;
}

/** `signal.detected` always, `signal.new_hot` beside it for a hot one, with what each of the `receivers` gets of them. */
export function signalEvents(signal: Signal, at: EventOrigin): RoutedEvent[] {
  const data = JSON.stringify({ signal_id: signal.signal_id });
  const detected = eventOf(signal, at, 'signal.detected', data);
  const payloadOf = createPayloads(signal, at.story);
  const bodyOf = ({ shape }: Receiver) => payloadOf(shape);
  return [
    fanOut(detected, bodyOf, at.receivers, at.newId, signal),
    ...newHotEvents(signal, withoutDoubles(at), payloadOf),
  ];
}

/** `signal.new_hot` if the signal is hot. */
export function newHotEvents(
  signal: Signal,
  at: EventOrigin,
  payloadOf = createPayloads(signal, at.story),
): RoutedEvent[] {
  if (signal.classification !== 'hot') return [];
  const hot = eventOf(signal, at, 'signal.new_hot', newHotData(signal));
  const envelope = { body: eventEnvelope(hot) };
  const bodyOf = ({ shape }: Receiver) => (isPresetShape(shape) ? payloadOf(shape) : envelope);
  return [fanOut(hot, bodyOf, at.receivers, at.newId, signal, { toldAlready: at.toldAlready })];
}

/** A message of a service says the same for both events: who gets the first gets no second. */
function withoutDoubles(at: EventOrigin): EventOrigin {
  const isDouble = ({ shape, settings }: Receiver) =>
    isPresetShape(shape) && settings.event_types.includes('signal.detected');
  if (!at.receivers.some(isDouble)) return at;
  return { ...at, toldAlready: new Set(at.receivers.filter(isDouble).map(({ id }) => id)) };
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

/** Something that changed and whom it is about; `data` holds `previous` and `current` where a state changed. */
export interface StateChange {
  type: Exclude<EventType, 'signal.detected' | 'signal.new_hot'>;
  subjectId: string;
  data: Record<string, unknown>;
  /** The endpoint that it is about, and that is not sent it. */
  notTo?: string;
  /** What messages say of it; left out: what its data comes to. */
  notice?: Notice;
  /** The signals that it is about, by which MCP clients filter events; read only where one does. */
  signals?(): Promise<readonly SignalFacts[]> | readonly SignalFacts[];
}

/** What of a signal subscriptions are filtered by. */
export type SignalFacts = Pick<Signal, 'icp_profile_id' | 'icp_score'>;

export interface RouteDeps {
  store: ReceiverStore;
  clock: Clock;
  newId: NewId;
  /** What is being traced as the change is made, as `joinTrace` writes it; null or left out: nothing. */
  trace?: string | null;
}

/** The events of a change with their deliveries, to be committed together with the change itself. */
export async function routeChanges(
  { store, clock, newId, trace = null }: RouteDeps,
  tenantId: string,
  changes: readonly StateChange[],
): Promise<RoutedEvent[]> {
  if (changes.length === 0) return [];
  const receivers = await listReceivers({ store, clock }, tenantId);
  const createdAt = clock.now();
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
    routed.push(fanOut(event, createEnvelopes(event, notice), fitting, newId, null, { notTo }));
  }
  return routed;
}

/** All but the subscriptions of MCP clients whose arguments fit none of the signals that a change is about. */
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

/** Whether one of the signals is of the profile, where one is named, and has the score. */
export function fits(
  signals: readonly SignalFacts[],
  { icp_profile_id: profile, min_score: least = 0 }: McpEventArguments,
): boolean {
  return signals.some(
    ({ icp_profile_id, icp_score }) =>
      (profile === undefined || icp_profile_id === profile) && icp_score >= least,
  );
}

/** More signals than a lead has whose best ones say too little of it. */
const SIGNALS_LOOKED_AT = 100;

/** The signals of a stored lead that it is judged by. */
export async function signalsOfLead(
  store: Pick<LeadStore, 'listSignalsOfLead'>,
  leadId: string,
): Promise<SignalFacts[]> {
  return (await store.listSignalsOfLead(leadId, SIGNALS_LOOKED_AT)).map((wire) => JSON.parse(wire));
}

/**
 * The tenant's endpoints as they count now: without those of subscriptions that are over, and a format that the plan does not
 * include gives way to the standard payload.
 */
export async function listReceivers(
  deps: { store: ReceiverStore; clock: Clock },
  tenantId: string,
): Promise<Receiver[]> {
  const { store, clock } = deps;
  const receivers = await withoutEnded(deps, tenantId, await store.listReceivers(tenantId));
  if (receivers.every(({ shape }) => shape === null)) return receivers;
  const tenant = await store.getTenant(tenantId);
  const plan = tenant === null ? 'starter' : effectivePlan(tenant, clock.now());
  const limit = planLimits(plan).payloadFormatBytes;
  return receivers.map((receiver) => {
    const isIncluded = receiver.shape === null || receiver.shape.formatBytes <= limit;
    return isIncluded ? receiver : { ...receiver, shape: null };
  });
}

/** Housekeeping ends them some seconds later, in which nothing more is to go to them. */
async function withoutEnded(
  { store, clock }: { store: ReceiverStore; clock: Clock },
  tenantId: string,
  receivers: Receiver[],
): Promise<Receiver[]> {
  if (receivers.every(({ mode }) => mode !== 'mcp')) return receivers;
  const ended = await store.listEndedSubscriptions(tenantId, clock.now());
  return ended.length === 0 ? receivers : receivers.filter(({ id }) => !ended.includes(id));
}

/** Places that the dispatcher keeps for deliveries while they are being stored. */
export interface SlotReservation {
  /** Goes into their commit. */
  readonly taking: Taking;
  /** Once, after the commit: sends those that it gave to this process, and gives up the places of the others. */
  settle(taken: ReadonlySet<string>): void;
}

/** Keeps places for those of these deliveries that could be sent at once; null where there are none. */
export type Reserve = (events: readonly RoutedEvent[]) => SlotReservation | null;

/** Replaces the dispatcher where there is none. */
export const reserveNothing: Reserve = () => null;

const NONE: ReadonlySet<string> = new Set();

/**
 * Stores signals with their events and deliveries. Deliveries that can be sent at once are this process's from the commit
 * on and go out from memory: to claim them would take a commit more, and read back what was just written. All others wait
 * for a claim.
 */
export async function storeSignals(
  { store, reserve }: { store: SignalStore; reserve: Reserve },
  signals: NewSignal[],
): Promise<CommittedSignal[]> {
  const reservation = reserve(signals.flatMap(({ events }) => events));
  if (reservation === null) return await store.commitSignals(signals);
  let taken = NONE;
  try {
    const stored = await store.commitSignalsInHand(signals, reservation.taking);
    taken = new Set(stored.taken);
    return stored.committed;
  } finally {
    reservation.settle(taken);
  }
}
