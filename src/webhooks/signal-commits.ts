import type { RoutedEvent } from '../model/event.ts';
import type { Taking } from '../store/delivery-store.ts';
import type { RemainderStore } from '../store/event-store.ts';
import { searchedLength } from '../store/search-cost.ts';
import type { CommittedSignal, NewSignal, SignalStore } from '../store/signal-store.ts';
import { MOST_DELIVERIES_A_COMMIT } from './fan-out.ts';

/**
 * Maximum number of signals and of characters of their texts in one commit: 25 posts for a thousand profiles took 1.3 s,
 * and one post of twenty thousand characters for a thousand profiles 17 s, as each signal's text is indexed. On PostgreSQL, each
 * signal takes some 3 ms.
 */
const MOST_SIGNALS_A_COMMIT = 25;
const MOST_INDEXED_A_COMMIT = 100_000;

/** What limits a commit of signals. */
interface CommitTerms {
  most?: number;
  /** The number of characters that take as long to index as the words that a signal adds and removes. */
  indexedOf?(signal: NewSignal, place: number): number;
}

/** Returns a function that tells whether the next signal fits into the commit of the previous one. */
function createFitting({ most = MOST_SIGNALS_A_COMMIT, indexedOf = searchedLength }: CommitTerms) {
  let filled = 1;
  let place = 0;
  return (signal: NewSignal): boolean => {
    const share = Math.max(
      1 / most,
      indexedOf(signal, place++) / MOST_INDEXED_A_COMMIT,
      deliveryCount(signal) / MOST_DELIVERIES_A_COMMIT,
    );
    filled += share;
    const fits = filled <= 1 + ROUNDING;
    if (!fits) filled = share;
    return fits;
  };
}

/**
 * A signal whose events are created right before it is stored: each may have ten thousand deliveries, and a post a thousand signals. `route`
 * must be called in the order of the signals, and once, because it uses up IDs.
 */
export interface PlannedSignal extends Omit<NewSignal, 'events'> {
  route(): Promise<RoutedEvent[]>;
}

/**
 * Routes signals and divides them into commits, during which other changes wait. There is at least one signal in each; only the events of
 * one are in memory.
 */
export async function* routedInCommits(
  planned: Iterable<PlannedSignal>,
  terms: CommitTerms = {},
): AsyncGenerator<NewSignal[]> {
  let commit: NewSignal[] = [];
  const fits = createFitting(terms);
  for (const { route, ...signal } of planned) {
    const routed = { ...signal, events: await route() };
    if (!fits(routed) && commit.length > 0) {
      yield commit;
      commit = [];
    }
    commit.push(routed);
  }
  if (commit.length > 0) yield commit;
}

/** A sum of 250 shares of 1/250 may exceed 1. */
const ROUNDING = 1e-9;

/** The number of deliveries that a signal causes in its commit. An event with further parts fills one, however few its own commit contains. */
function deliveryCount({ events }: NewSignal): number {
  let count = 0;
  for (const { deliveries, batched, remainders } of events)
    count += remainders === undefined ? deliveries.length + batched.length : MOST_DELIVERIES_A_COMMIT;
  return count;
}

/** Slots that the dispatcher reserves for deliveries while they are being stored. */
export interface SlotReservation {
  /** Included in their commit. */
  readonly taking: Taking;
  /**
   * Call once, after the commit: sends the deliveries that it assigned to this process, and releases the
   * slots of the others.
   */
  settle(taken: ReadonlySet<string>): void;
}

/** Reserves slots for the deliveries that can be sent immediately; null if there are none. */
export type Reserve = (events: readonly RoutedEvent[]) => SlotReservation | null;

/** The replacement in processes without a dispatcher. */
export const reserveNothing: Reserve = () => null;

const NONE: ReadonlySet<string> = new Set();

/**
 * Stores signals with their events and deliveries. Deliveries that can be sent immediately belong to this
 * process from the commit on, and are sent from memory: claiming them would take another commit, and read
 * back what was just written. All others wait for a claim.
 */
export async function storeSignals(
  { store, reserve }: { store: SignalStore & Pick<RemainderStore, 'storeRemainders'>; reserve: Reserve },
  signals: NewSignal[],
): Promise<CommittedSignal[]> {
  const events = signals.flatMap((signal) => signal.events);
  const reservation = reserve(events);
  if (reservation === null) return await store.commitSignals(signals);
  let taken = NONE;
  try {
    const stored = await store.commitSignalsInHand(signals, reservation.taking);
    taken = new Set(stored.taken);
    return stored.committed;
  } finally {
    reservation.settle(taken);
    await store.storeRemainders(events);
  }
}
