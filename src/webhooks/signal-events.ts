import type { NewId } from '../lib/ids.ts';
import type { EventRow, RoutedEvent } from '../model/event.ts';
import { isPresetShape } from '../model/payload-shape.ts';
import type { Signal } from '../model/signal.ts';
import type { Receiver } from '../store/endpoint-store.ts';
import { fanOut } from './fan-out.ts';
import { createPayloads } from './format.ts';
import { eventEnvelope, newHotData } from './payload.ts';
import type { SignalStory } from './presets/signal-notice.ts';

/** What events of a signal are made with. */
interface EventOrigin {
  tenantId: string;
  now: number;
  newId: NewId;
  receivers: readonly Receiver[];
  trace?: string | null;
  /** Endpoints whose message of `signal.detected` says it all. */
  toldAlready?: ReadonlySet<string>;
  /** What messages say of it beside its payload; made where somebody is to get one. */
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

/** `signal.new_hot` where the signal is hot. */
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
