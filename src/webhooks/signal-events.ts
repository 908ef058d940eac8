import { effectivePlan, planLimits } from '../accounts/plans.ts';
import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { EventRow, RoutedEvent } from '../model/event.ts';
import type { Signal } from '../model/signal.ts';
import type { Receiver } from '../store/endpoint-store.ts';
import type { Store } from '../store/store.ts';
import { fanOut } from './fan-out.ts';
import { createPayloads } from './format.ts';
import { eventEnvelope, newHotData } from './payload.ts';

/** The tenant's endpoints as they count now: a format that the plan does not include gives way to the standard payload. */
export async function listReceivers(
  { store, clock }: { store: Store; clock: Clock },
  tenantId: string,
): Promise<Receiver[]> {
  const receivers = await store.listReceivers(tenantId);
  if (receivers.every(({ shape }) => shape === null)) return receivers;
  const tenant = await store.getTenant(tenantId);
  const plan = tenant === null ? 'starter' : effectivePlan(tenant, clock.now());
  const limit = planLimits(plan).payloadFormatBytes;
  return receivers.map((receiver) => {
    const isIncluded = receiver.shape === null || receiver.shape.formatBytes <= limit;
    return isIncluded ? receiver : { ...receiver, shape: null };
  });
}

/** `signal.detected` always, `signal.new_hot` beside it for a hot one, with what each of the `receivers` gets of them. */
export function signalEvents(
  signal: Signal,
  at: { tenantId: string; now: number; newId: NewId; receivers: readonly Receiver[] },
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
  const bodyOf = ({ shape }: Receiver) => payloadOf(shape);
  const routed = [fanOut(detected, bodyOf, at.receivers, at.newId, signal)];
  if (signal.classification === 'hot') {
    const hot = event('signal.new_hot', newHotData(signal));
    const body = { body: eventEnvelope(hot) };
    routed.push(fanOut(hot, () => body, at.receivers, at.newId, signal));
  }
  return routed;
}
