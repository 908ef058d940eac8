import type { AttemptRecord } from '../../../model/delivery.ts';
import type { StoredAttempt } from '../../changes/deliveries.ts';
import type { Changes } from '../../changes.ts';
import type { DeliveryStore } from '../../delivery-store.ts';
import type { AttemptDetail } from '../reads/attempts.ts';
import type { Promised } from './promised.ts';

/** Outcomes as they cross to the writer: flat, as an object costs more to pass than its row to store. */
export function outcomeFace({
  recordDelivered,
  recordAttempt,
}: Pick<Promised<Changes>, 'recordDelivered' | 'recordAttempt'>): Pick<DeliveryStore, 'recordOutcome'> {
  return {
    recordOutcome(outcome) {
      const attempt = toStored(outcome.attempt);
      const { deliveryId, streak, next, probe } = outcome;
      if (next.status !== 'delivered' || streak !== 'keep' || probe) {
        return recordAttempt({ ...outcome, attempt });
      }
      const { id, attempt: number, startedAt, durationMs, detail } = attempt;
      return recordDelivered(deliveryId, id, number, startedAt, durationMs, detail);
    },
  };
}

/** Made before the transaction, which should hold its lock for SQL only. */
function toStored({ id, attempt, startedAt, durationMs, ...rest }: AttemptRecord): StoredAttempt {
  const { sent, response, error, timings } = rest;
  const detail = { sent, response, error, timings } satisfies AttemptDetail;
  return { id, attempt, startedAt, durationMs, detail: JSON.stringify(detail) };
}
