import type { RoutedEvent } from '../model/event.ts';
import type { EventRemainder } from './event-store.ts';
import type { AnyChange } from './script.ts';
import type { CommittedSignal, NewSignal } from './signal-store.ts';
import type { Store } from './store.ts';
import { changeIn } from './weights.ts';

type Storing = {
  [K in keyof Store]?: Store[K] extends (...args: infer A) => Promise<infer R>
    ? (args: A, result: R) => readonly RoutedEvent[]
    : never;
};

/** The changes that store events, each with how its arguments and result show which. */
const STORING: Storing = {
  commitSignals: ([signals], committed) => ofSignals(signals, committed),
  commitSignalsInHand: ([signals], { committed }) => ofSignals(signals, committed),
  addRunSignals: ([, signals], committed) => (committed ? ofSignals(signals, committed) : []),
  finishSourceRun: ([{ signals }], committed) => (committed ? ofSignals(signals, committed) : []),
  editSignals: ([edits], edited) =>
    edits.flatMap(({ signal }, i) => (edited[i]?.isHotNow ? signal.events : [])),
  commitLead: ([{ events, newSignals }], done) =>
    done ? [...events, ...newSignals.flatMap((signal) => signal.events)] : [],
  createCampaign: ([, events]) => events,
  updateCampaign: ([, , events], done) => (done ? events : []),
  recordCampaignEvents: ([, recorded], results) =>
    recorded.flatMap(({ events }, i) => (results[i] === 'created' ? events : [])),
  commitNotices: ([{ events }], done) => (done ? events : []),
  commitDigest: ([{ event }], done) => (done && event !== null ? [event] : []),
};

function ofSignals(
  signals: readonly NewSignal[],
  committed: readonly CommittedSignal[],
): readonly RoutedEvent[] {
  return signals.flatMap(({ events }, i) => (committed[i]?.status === 'created' ? events : []));
}

/** Whether a change stores events; most are outcomes, which store none. */
export function storesEvents(call: AnyChange): boolean {
  return changeIn(call)[0] in STORING;
}

/** The events that a change has stored. */
export function storedEvents(call: AnyChange, result: unknown): readonly RoutedEvent[] {
  const [name, args] = changeIn(call);
  const eventsOf = STORING[name as keyof Store] as
    | ((args: readonly unknown[], result: unknown) => readonly RoutedEvent[])
    | undefined;
  return eventsOf === undefined ? [] : eventsOf(args, result);
}

/** The remainders of events, in their order. */
export function remaindersOf(events: readonly RoutedEvent[]): EventRemainder[] {
  return events.flatMap(({ event: { id: eventId, tenantId }, remainders = [] }) =>
    remainders.map((_, part) => ({ tenantId, eventId, part })),
  );
}
