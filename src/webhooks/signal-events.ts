import type { NewId } from '../lib/ids.ts';
import type { EventRow, RoutedEvent } from '../model/event.ts';
import { isPresetShape } from '../model/payload-shape.ts';
import type { Signal } from '../model/signal.ts';
import type { Receiver } from '../store/endpoint-store.ts';
import { fanOut } from './fan-out.ts';
import { createPayloads } from './format.ts';
import { eventEnvelope, newHotData } from './payload.ts';

/** `signal.detected` always, `signal.new_hot` beside it for a hot one, with what each of the `receivers` gets of them. */
export function signalEvents(
  signal: Signal,
  at: { tenantId: string; now: number; newId: NewId; receivers: readonly Receiver[]; trace?: string | null },
): RoutedEvent[] {
  const event = (type: EventRow['type'], data: string): EventRow => ({
    id: at.newId('evt'),
    tenantId: at.tenantId,
    type,
    subjectId: signal.signal_id,
    data,
    createdAt: at.now,
    trace: at.trace ?? null,
  });
  const detected = event('signal.detected', JSON.stringify({ signal_id: signal.signal_id }));
  const payloadOf = createPayloads(signal);
  const bodyOf = ({ shape }: Receiver) => payloadOf(shape);
  const routed = [fanOut(detected, bodyOf, at.receivers, at.newId, signal)];
  if (signal.classification === 'hot') {
    const hot = event('signal.new_hot', newHotData(signal));
    const envelope = { body: eventEnvelope(hot) };
    const hotBodyOf = ({ shape }: Receiver) => (isPresetShape(shape) ? payloadOf(shape) : envelope);
    routed.push(fanOut(hot, hotBodyOf, at.receivers, at.newId, signal));
  }
  return routed;
}
