import { toIso } from '../lib/clock.ts';
import type { BodyBytes } from '../model/delivery.ts';
import type { EventRow } from '../model/event.ts';
import type { McpEventName } from '../model/mcp.ts';
import type { Signal } from '../model/signal.ts';
import { signalPayload } from './payload.ts';

/** How every body begins: what signs it finds the event's id there, which is its `webhook-id` for every subscription. */
const BEGINNING = '{"eventId":"';
/** Longer than any id of ours. */
const MAX_ID_BYTES = 64;

/** An occurrence of an event as MCP clients get it (SEP-3415), whether they are called or ask. */
export interface Occurrence {
  eventId: string;
  name: McpEventName;
  timestamp: string;
  data: unknown;
  cursor: string | null;
}

/** The body of a delivery to a subscription. It is sent as it is, without a `signature` member. */
export function occurrenceBody(event: EventRow, name: string, signal: Signal | null): string {
  const head = JSON.stringify({ eventId: event.id, name, timestamp: toIso(event.createdAt) });
  return `${head.slice(0, -1)},"data":${occurrenceData(event, signal)},"cursor":null}`;
}

/** `data` as JSON text. */
export function occurrenceData(event: Pick<EventRow, 'type' | 'data'>, signal: Signal | null): string {
  return event.type === 'signal.detected' && signal !== null ? signalPayload(signal) : event.data;
}

/** The id of the event that a body tells of, or null where it is the body of something else. */
export function eventIdIn({ bytes, start }: BodyBytes): string | null {
  const from = start + BEGINNING.length;
  if (bytes.toString('latin1', start, from) !== BEGINNING) return null;
  const id = bytes.toString('latin1', from, from + MAX_ID_BYTES);
  const end = id.indexOf('"');
  return end === -1 ? null : id.slice(0, end);
}
