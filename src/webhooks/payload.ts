import { toIso } from '../lib/clock.ts';
import type { EventRow } from '../model/event.ts';
import type { Signal } from '../model/signal.ts';

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
