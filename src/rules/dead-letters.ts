import { DAY_MS } from '../lib/clock.ts';
import type { DeliveryNext } from '../model/delivery.ts';

/** How long a dead letter is kept (specification, section 8). */
export const DEAD_LETTER_MS = 7 * DAY_MS;

/** Where a delivery ends that is not tried any more: among the dead letters, where its endpoint keeps them, or nowhere. */
export function endUndelivered(
  keepsDeadLetters: boolean,
  keptUntil: number,
): Extract<DeliveryNext, { status: 'dead' | 'discarded' }> {
  return keepsDeadLetters ? { status: 'dead', expiresAt: keptUntil } : { status: 'discarded' };
}
