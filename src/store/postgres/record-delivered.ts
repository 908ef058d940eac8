import { HOUR_MS } from '../../lib/clock.ts';
import { speedOf } from '../../rules/deliveries.ts';
import type { DeliveredTuple } from '../changes/deliveries.ts';
import type { AnyChange } from '../script.ts';
import type { Connection } from './connection.ts';
import { WAITING } from './sql/claims.ts';
import { deliveriesSql } from './sql/deliveries.ts';
import { eventsSql } from './sql/events.ts';
import { rows } from './sql/prepared.ts';

/**
 * Separates texts sent as one: JSON from a program contains no line break. In an array, each would have to be
 * escaped.
 */
const BETWEEN = '\n';

/** The outcomes that one statement records: consecutive successes of different deliveries. */
export function outcomesFrom(batch: readonly AnyChange[], start: number): DeliveredTuple[] {
  const outcomes: DeliveredTuple[] = [];
  const deliveries = new Set<string>();
  for (let index = start; index < batch.length; index++) {
    const [name, args] = batch[index] as AnyChange;
    if (name !== 'recordDelivered') break;
    const outcome = args as unknown as DeliveredTuple;
    const [deliveryId, , , , , detail] = outcome;
    if (deliveries.has(deliveryId) || detail.includes(BETWEEN)) break;
    deliveries.add(deliveryId);
    outcomes.push(outcome);
  }
  return outcomes;
}

/** The change `recordDelivered` for many deliveries in one statement; returns which outcomes counted. */
export function createDeliveredRecorder(
  db: Connection,
): (outcomes: readonly DeliveredTuple[]) => Promise<boolean[]> {
  const record = rows<[Record<string, unknown>], { id: string }>(
    db,
    `WITH outcomes AS MATERIALIZED (
       SELECT * FROM unnest(:deliveries::text[], :endpoints::text[], :ids::text[], :attempts::bigint[], :starts::bigint[],
         :durations::double precision[], :hours::bigint[], :speeds::bigint[], string_to_array(:details, E'\\n'))
         t (delivery_id, endpoint_id, id, attempt, started_at, duration_ms, hour, speed, detail)
     ), logged AS (
       INSERT INTO attempts (id, delivery_id, attempt, started_at, duration_ms, detail)
       SELECT id, delivery_id, attempt, started_at, duration_ms, detail FROM outcomes
     ), done AS (
       UPDATE deliveries d SET status = 'delivered', next_attempt_at = NULL, attempt_count = t.attempt
       FROM outcomes t WHERE d.id = t.delivery_id AND d.attempt_count = t.attempt - 1 AND d.${WAITING}
       RETURNING d.id, t.endpoint_id, t.hour, t.speed
     ), counted AS (
       INSERT INTO endpoint_hours (endpoint_id, hour, speed, count)
       SELECT endpoint_id, hour, speed, count(*) FROM done GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
       ON CONFLICT (endpoint_id, hour, speed) DO UPDATE SET count = endpoint_hours.count + excluded.count
     )
     SELECT id FROM done`,
  );

  const { selectBody } = deliveriesSql(db);
  const { emptyReplies } = eventsSql(db);

  /** If an attempt did not count because its delivery was erased in the meantime, its response is not stored. */
  async function forgetReplyOfErased(deliveryId: string): Promise<void> {
    if ((await selectBody(deliveryId)) === undefined) await emptyReplies(deliveryId);
  }

  return async (outcomes) => {
    const done = await record({
      deliveries: outcomes.map(([deliveryId]) => deliveryId),
      endpoints: outcomes.map(([, , , , , , endpointId]) => endpointId),
      ids: outcomes.map(([, id]) => id),
      attempts: arrayOf(outcomes.map(([, , attempt]) => attempt)),
      starts: arrayOf(outcomes.map(([, , , startedAt]) => startedAt)),
      durations: arrayOf(outcomes.map(([, , , , durationMs]) => durationMs)),
      hours: arrayOf(outcomes.map(([, , , startedAt]) => Math.floor(startedAt / HOUR_MS))),
      speeds: arrayOf(outcomes.map(([, , , , durationMs]) => speedOf(durationMs))),
      details: outcomes.map(([, , , , , detail]) => detail).join(BETWEEN),
    });
    const counted = new Set(done.map(({ id }) => id));
    const applied = outcomes.map(([deliveryId]) => counted.has(deliveryId));
    for (const [i, [deliveryId]] of outcomes.entries())
      if (!applied[i]) await forgetReplyOfErased(deliveryId);
    return applied;
  };
}

/** Numbers in PostgreSQL's array format. */
function arrayOf(numbers: readonly number[]): string {
  return `{${numbers.join(',')}}`;
}
