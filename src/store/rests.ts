import type { RoutedEvent } from '../model/event.ts';
import type { Changes } from './changes.ts';
import type { EventRest } from './event-store.ts';
import type { AnyChange } from './script.ts';
import type { NewSignal } from './signal-store.ts';
import { changeIn } from './weights.ts';

type Events = {
  [K in keyof Changes]?: (...args: Parameters<Changes[K]>) => readonly RoutedEvent[];
};

/** The events that changes store; those of `commitSignalsHeld` have their deliveries sent first (`storeSignals`). */
const EVENTS: Events = {
  commitSignals: (signals) => ofSignals(signals),
  addRunSignals: (_, signals) => ofSignals(signals),
  finishSourceRun: ({ signals }) => ofSignals(signals),
  editSignals: (edits) => edits.flatMap(({ signal }) => signal.events),
  commitLead: ({ events, newSignals }) => [...events, ...ofSignals(newSignals)],
  createCampaign: (_, events) => events,
  updateCampaign: (_, __, events) => events,
  recordCampaignEvents: (_, recorded) => recorded.flatMap(({ events }) => events),
  commitNotices: ({ events }) => events,
  commitDigest: ({ event }) => (event === null ? [] : [event]),
};

function ofSignals(signals: readonly NewSignal[]): RoutedEvent[] {
  return signals.flatMap(({ events }) => events);
}

/** The rests of the events that a change stores, in their order. Most changes store no events. */
export function restsOf(call: AnyChange): EventRest[] {
  const [name, args] = changeIn(call);
  const eventsOf = EVENTS[name as keyof Events] as
    | ((...args: readonly unknown[]) => RoutedEvent[])
    | undefined;
  return eventsOf === undefined ? [] : restsOfEvents(eventsOf(...args));
}

/** The rests of events, in their order. */
export function restsOfEvents(events: readonly RoutedEvent[]): EventRest[] {
  return events.flatMap(({ event: { id: eventId, tenantId }, rests = [] }) =>
    rests.map((_, part) => ({ tenantId, eventId, part })),
  );
}
