import type { RoutedEvent } from '../model/event.ts';
import type { Taking } from '../store/delivery-store.ts';
import type { CommittedSignal, NewSignal, SignalStore } from '../store/signal-store.ts';

/** Places that the dispatcher keeps for deliveries while they are being stored. */
export interface Reservation {
  /** Goes into their commit. */
  readonly taking: Taking;
  /** Once, after the commit: sends those that it gave to this process, and gives up the places of the others. */
  settle(taken: ReadonlySet<string>): void;
}

/** Keeps places for those of these deliveries that could be sent at once; null where there are none. */
export type Reserve = (events: readonly RoutedEvent[]) => Reservation | null;

/** Replaces the dispatcher where there is none. */
export const reserveNothing: Reserve = () => null;

const NONE: ReadonlySet<string> = new Set();

/**
 * Stores signals with their events and deliveries. Deliveries that can be sent at once are this process's from the commit
 * on and go out from memory: to claim them would take a commit more, and read back what was just written. All others wait
 * for a claim.
 */
export async function storeSignals(
  { store, reserve }: { store: SignalStore; reserve: Reserve },
  signals: NewSignal[],
): Promise<CommittedSignal[]> {
  const reservation = reserve(signals.flatMap(({ events }) => events));
  if (reservation === null) return await store.commitSignals(signals);
  let taken = NONE;
  try {
    const stored = await store.commitSignalsInHand(signals, reservation.taking);
    taken = new Set(stored.taken);
    return stored.committed;
  } finally {
    reservation.settle(taken);
  }
}
