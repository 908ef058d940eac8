import { DAY_MS } from '../lib/clock.ts';
import type { DeliveryNext, DeliveryStatus } from '../model/delivery.ts';

/** What decides whether a delivery can be sent again. */
export interface Replayable {
  /** As stored. */
  status: DeliveryStatus;
  hasBody: boolean;
  endpointDeleted: boolean;
  /** Its endpoint is read, not called. */
  isPull: boolean;
}

/** Why a delivery is not sent again, or null where it is. */
export function replayRefusal({
  status,
  hasBody,
  endpointDeleted,
  isPull,
}: Replayable): 'no_endpoint' | 'pull' | 'rejected' | 'waiting' | 'no_body' | null {
  if (endpointDeleted) return 'no_endpoint';
  if (isPull) return 'pull';
  if (status === 'rejected') return 'rejected';
  if (status === 'pending' || status === 'retrying') return 'waiting';
  return hasBody ? null : 'no_body';
}

/** How long a dead letter is kept (specification, section 8). */
export const DEAD_LETTER_MS = 7 * DAY_MS;

/** Where a delivery ends that is not tried any more: among the dead letters, where its endpoint keeps them, or nowhere. */
export function endUndelivered(
  keepsDeadLetters: boolean,
  keptUntil: number,
): Extract<DeliveryNext, { status: 'dead' | 'discarded' }> {
  return keepsDeadLetters ? { status: 'dead', expiresAt: keptUntil } : { status: 'discarded' };
}
