import type { Database } from 'better-sqlite3';
import type { AttemptRecord, Outcome } from '../../../model/delivery.ts';
import { WAITING } from '../reads/shown-state.ts';
import { createEndpointHealth } from './endpoint-health.ts';
import { createReplyEraser } from './event-erasure.ts';
import { createDeadNotices } from './notices.ts';

/** An attempt as the table holds it. */
export interface StoredAttempt extends Pick<AttemptRecord, 'id' | 'attempt' | 'startedAt' | 'durationMs'> {
  /** The rest as JSON. */
  detail: string;
}

/** An outcome with its attempt as the table holds it, so that what crosses to the writer is flat and small. */
export interface StoredOutcome extends Omit<Outcome, 'attempt'> {
  attempt: StoredAttempt;
}

/** The most common outcome, flat: delivery, attempt, its number, start, duration and detail. */
export type DeliveredTuple = [string, string, number, number, number, string];

/** What attempts came to. A second outcome of the same attempt finds it counted already: then only the attempt is kept. */
export function outcomeChanges(db: Database) {
  const insertAttempt = db.prepare<[string, string, number, number, number, string]>(
    'INSERT INTO attempts (id, delivery_id, attempt, started_at, duration_ms, detail) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const finish = db.prepare<[string, number | null, number | null, number, string, number]>(
    `UPDATE deliveries SET status = ?, next_attempt_at = ?, expires_at = ?, attempt_count = ?
     WHERE id = ? AND attempt_count = ? AND ${WAITING}`,
  );
  const finishDelivered = db.prepare<[number, string, number]>(
    `UPDATE deliveries SET status = 'delivered', next_attempt_at = NULL, attempt_count = ?
     WHERE id = ? AND attempt_count = ? AND ${WAITING}`,
  );
  // A failed probe takes no retry from its delivery: the attempts of its cycle stay as many.
  const spare = db.prepare<[string]>('UPDATE deliveries SET cycle_start = cycle_start + 1 WHERE id = ?');
  const selectBody = db
    .prepare<[string], number>('SELECT 1 FROM deliveries WHERE id = ? AND body_id IS NOT NULL')
    .pluck();
  const emptyReplies = createReplyEraser(db);
  const settleHealth = createEndpointHealth(db);
  const addDeadNotice = createDeadNotices(db);

  /** What the attempt brought back, where the delivery was erased while it was under way: its body is gone then. */
  function forgetReplyOfErased(deliveryId: string): void {
    if (selectBody.get(deliveryId) === undefined) emptyReplies(deliveryId);
  }

  return {
    /** An attempt that succeeded, of a delivery that probed nothing, to an endpoint without failures to forget. */
    recordDelivered(...[deliveryId, id, attempt, startedAt, durationMs, detail]: DeliveredTuple): boolean {
      insertAttempt.run(id, deliveryId, attempt, startedAt, durationMs, detail);
      const applied = finishDelivered.run(attempt, deliveryId, attempt - 1).changes === 1;
      if (!applied) forgetReplyOfErased(deliveryId);
      return applied;
    },
    recordAttempt({ attempt, next, ...outcome }: StoredOutcome): boolean {
      const { deliveryId, probe } = outcome;
      const { id, attempt: number, startedAt, durationMs, detail } = attempt;
      insertAttempt.run(id, deliveryId, number, startedAt, durationMs, detail);
      const dueAt = next.status === 'retrying' ? next.at : null;
      const expiresAt = next.status === 'dead' ? next.expiresAt : null;
      if (finish.run(next.status, dueAt, expiresAt, number, deliveryId, number - 1).changes === 0) {
        forgetReplyOfErased(deliveryId);
        return false;
      }
      if (probe && next.status === 'retrying') spare.run(deliveryId);
      if (next.status === 'dead') addDeadNotice(deliveryId, next.expiresAt);
      settleHealth(outcome);
      return true;
    },
  };
}
