import { toIso } from '../lib/clock.ts';
import type { BodyBytes } from '../model/delivery.ts';
import type { BodyTail, EventRow } from '../model/event.ts';
import type { McpEventName } from '../model/mcp.ts';
import { flatKey } from '../model/payload-format.ts';
import {
  isPresetShape,
  type PayloadFormat,
  type PayloadShape,
  type PresetFormat,
  type PresetShape,
  presetShape,
  shapeOf,
} from '../model/payload-shape.ts';
import type { Signal } from '../model/signal.ts';
import type { Receiver } from '../store/endpoint-store.ts';
import { eventNotice, type Notice, type SignalStory, signalNotice } from './notice.ts';
import { presetBody } from './presets.ts';

/** The body of `signal.detected` without its `signature` member: the payload of the specification, section 2. */
export function signalPayload(signal: Signal): string {
  const { icp_profile_id: _profile, external_id: _external, lead_id: _lead, ...payload } = signal;
  return JSON.stringify(payload);
}

/** `data` of `signal.new_hot` (specification, section 6), plus the `signal_id` that receivers deduplicate on. */
export function newHotData(signal: Signal): string {
  return JSON.stringify({
    platform: signal.platform.name,
    score: signal.classification,
    lead_name: signal.prospect.name,
    signal_text: signal.excerpt,
    signal_id: signal.signal_id,
  });
}

/** The envelope of every other event, without its `signature` member. */
export function eventEnvelope(event: EventRow): string {
  const head = { event: event.type, tenant_id: event.tenantId };
  const tail = { id: event.id, timestamp: toIso(event.createdAt) };
  return `${JSON.stringify(head).slice(0, -1)},"data":${event.data},${JSON.stringify(tail).slice(1)}`;
}

/** A body without its `signature` member, and its tail. */
export interface ShapedBody {
  body: string;
  tail?: BodyTail;
}

/** The body of `signal.detected` in a format; null is the standard payload. */
export function shapedPayload(
  signal: Signal,
  shape: PayloadShape | null,
  story: SignalStory | null = null,
): ShapedBody {
  if (shape === null) return { body: signalPayload(signal) };
  if (shape.preset !== null) return presetPayload(shape, signalNotice(signal, story));
  const kept = shape.fields.flatMap((field): [string, unknown][] => {
    const value: unknown = signal[field];
    if (!shape.flatten || typeof value !== 'object' || value === null) return [[field, value]];
    return Object.entries(value).map(([member, inner]) => [flatKey(field, member), inner]);
  });
  return withTail(JSON.stringify(Object.fromEntries(kept)), shape);
}

/** The body of any event as a message for a service. */
export function presetPayload(shape: PresetShape, notice: Notice): ShapedBody {
  return withTail(presetBody(shape.preset, notice), shape);
}

/** A JSON object without its closing brace, which is the end of the tail. */
function withTail(body: string, { tail }: PayloadShape): ShapedBody {
  return tail === null ? { body } : { body: body === '{}' ? '{' : `${body.slice(0, -1)},`, tail };
}

/** Like {@link shapedPayload}, as one text. */
export function formattedPayload(signal: Signal, format: PayloadFormat | null): string {
  return wholeBody(shapedPayload(signal, format === null ? null : shapeOf(format)));
}

/** Like {@link presetPayload}, as one text. */
export function presetMessage(format: PresetFormat, notice: Notice): string {
  return wholeBody(presetPayload(presetShape(format), notice));
}

function wholeBody({ body, tail }: ShapedBody): string {
  return body + (tail?.text ?? '');
}

/**
 * Creates the bodies of a signal, and its story once for all formats: it takes milliseconds if the post is long. Formats that differ only in
 * their tails share a body: ten thousand endpoints, each with a member of its own, took 150 MB.
 */
export function createPayloads(
  signal: Signal,
  story: (() => SignalStory) | undefined = undefined,
): (shape: PayloadShape | null) => ShapedBody {
  const made = createBodies();
  let cachedStory: SignalStory | undefined;
  const storyOf = () => {
    cachedStory ??= story?.();
    return cachedStory ?? null;
  };
  return (shape) => made(shape, () => shapedPayload(signal, shape, shape?.preset ? storyOf() : null));
}

/** Returns the body of each shape, created once for all that differ only in their tails. */
function createBodies(): (shape: PayloadShape | null, create: () => ShapedBody) => ShapedBody {
  const made = new Map<string, string>();
  return (shape, create) => {
    const key = shape?.key ?? '';
    const body = made.get(key) ?? create().body;
    made.set(key, body);
    return shape?.tail ? { body, tail: shape.tail } : { body };
  };
}

/** Creates the bodies of an event as an envelope or as a service's message, each once. */
export function createEnvelopes(
  event: EventRow,
  notice?: Notice,
): (receiver: Pick<Receiver, 'shape'>) => ShapedBody {
  const made = createBodies();
  return ({ shape }) =>
    isPresetShape(shape)
      ? made(shape, () => presetPayload(shape, notice ?? eventNotice(event)))
      : made(null, () => ({ body: eventEnvelope(event) }));
}

/**
 * The beginning of every body. The signer reads the event's ID from it, which is the `webhook-id` for every
 * subscription.
 */
const BEGINNING = '{"eventId":"';
/** Longer than any of our IDs. */
const MAX_ID_BYTES = 64;

/** An occurrence of an event in the format for MCP clients (SEP-3415), for both webhooks and polling. */
export interface Occurrence {
  eventId: string;
  name: McpEventName;
  timestamp: string;
  data: unknown;
  cursor: string | null;
}

/** The body of a delivery to a subscription. It is sent unchanged, without a `signature` member. */
export function occurrenceBody(event: EventRow, name: string, signal: Signal | null): string {
  const head = JSON.stringify({ eventId: event.id, name, timestamp: toIso(event.createdAt) });
  return `${head.slice(0, -1)},"data":${occurrenceData(event, signal)},"cursor":null}`;
}

/** `data` as JSON text. */
export function occurrenceData(event: Pick<EventRow, 'type' | 'data'>, signal: Signal | null): string {
  return event.type === 'signal.detected' && signal !== null ? signalPayload(signal) : event.data;
}

/** The ID of the event in such a body; null for other bodies. */
export function eventIdIn({ bytes, start }: BodyBytes): string | null {
  const from = start + BEGINNING.length;
  if (bytes.toString('latin1', start, from) !== BEGINNING) return null;
  const id = bytes.toString('latin1', from, from + MAX_ID_BYTES);
  const end = id.indexOf('"');
  return end === -1 ? null : id.slice(0, end);
}
