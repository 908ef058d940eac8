import type { NewId } from '../lib/ids.ts';
import { MAX_BODY_BYTES } from '../model/delivery.ts';
import type { EventRow, NewDelivery, RoutedEvent, SkipReason } from '../model/event.ts';
import { isPresetShape } from '../model/payload-shape.ts';
import type { Signal } from '../model/signal.ts';
import type { Receiver } from '../store/endpoint-store.ts';
import type { ShapedBody } from './format.ts';
import { occurrenceBody } from './mcp-body.ts';
import { SIGNATURE_MEMBER_BYTES } from './signature.ts';

/** Who gets none, whatever their filters say. */
export interface FanOutLimits {
  /** The endpoint that the event is about. */
  notTo?: string | null;
  /** Those that were sent the same in another event's message. */
  toldAlready?: ReadonlySet<string> | undefined;
}

/**
 * Who gets an event: a delivery for each endpoint that wants it, a reason for each that does not. Bodies are made at
 * event time and never again, except of what is sent in one message with others (`batches.ts`). A paused endpoint gets its delivery too, which is held.
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
