import { effectivePlan, planLimits } from '../accounts/plans.ts';
import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { EventRow, RoutedEvent } from '../model/event.ts';
import type { Signal } from '../model/signal.ts';
import type { Endpoint } from '../model/webhook.ts';
import type { Store } from '../store/store.ts';
import { fanOut } from './fan-out.ts';
import { createPayloads } from './format.ts';
import { eventEnvelope, newHotData } from './payload.ts';

/** The tenant's endpoints as they count now: a plan without formats of its own sends the standard payload. */
export async function listReceivers(
  { store, clock }: { store: Store; clock: Clock },
  tenantId: string,
): Promise<Endpoint[]> {
  const [endpoints, tenant] = await Promise.all([store.listEndpoints(tenantId), store.getTenant(tenantId)]);
  if (endpoints.every(({ settings }) => settings.payload_format === null)) return endpoints;
  const plan = tenant === null ? 'starter' : effectivePlan(tenant, clock.now());
  if (planLimits(plan).customPayload) return endpoints;
  return endpoints.map((endpoint) => ({
    ...endpoint,
    settings: { ...endpoint.settings, payload_format: null },
  }));
}

/** `signal.detected` always, `signal.new_hot` beside it for a hot one, with what each of the `receivers` gets of them. */
export function signalEvents(
  signal: Signal,
  at: { tenantId: string; now: number; newId: NewId; receivers: readonly Endpoint[] },
): RoutedEvent[] {
  const event = (type: EventRow['type'], data: string): EventRow => ({
    id: at.newId('evt'),
    tenantId: at.tenantId,
    type,
    subjectId: signal.signal_id,
    data,
    createdAt: at.now,
  });
  const detected = event('signal.detected', JSON.stringify({ signal_id: signal.signal_id }));
  const payloadOf = createPayloads(signal);
  const bodyOf = ({ settings }: Endpoint) => payloadOf(settings.payload_format);
  const routed = [fanOut(detected, bodyOf, at.receivers, at.newId, signal)];
  if (signal.classification === 'hot') {
    const hot = event('signal.new_hot', newHotData(signal));
    const body = eventEnvelope(hot);
    routed.push(fanOut(hot, () => body, at.receivers, at.newId, signal));
  }
  return routed;
}
