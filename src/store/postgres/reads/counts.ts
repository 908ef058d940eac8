import type { FiguresStore, Waiting } from '../../figures.ts';
import type { Connection } from '../connection.ts';
import { WAITING } from '../sql/claims.ts';
import { row, rows } from '../sql/prepared.ts';

interface Counts {
  deadLetters: number;
  endpointsPaused: number;
  mailWaiting: number;
  sourcesLate: number;
  sourcesFailing: number;
}

/** Counts over all tenants. */
export function countReads(db: Connection) {
  // What waits for deleted endpoints is discarded, and will be marked so.
  const selectWaiting = rows<[], { state: 'pending' | 'retrying' | 'held'; count: number; oldest: number }>(
    db,
    `SELECT CASE WHEN e.status = 'paused' THEN 'held' ELSE d.status END AS state,
            sum(d.count)::bigint AS count, min(d.oldest) AS oldest
     FROM (SELECT endpoint_id, status, count(*) AS count, min(next_attempt_at) AS oldest
           FROM deliveries WHERE ${WAITING} GROUP BY endpoint_id, status) d
       JOIN webhook_endpoints e ON e.id = d.endpoint_id AND e.deleted_at IS NULL
     GROUP BY 1`,
  );
  // One that is being read is not due before its lease ends.
  const selectCounts = row<[number], Counts>(
    db,
    `SELECT
       (SELECT count(*) FROM deliveries WHERE status = 'dead') AS "deadLetters",
       (SELECT count(*) FROM webhook_endpoints WHERE status = 'paused' AND deleted_at IS NULL) AS "endpointsPaused",
       (SELECT count(*) FROM mail_outbox WHERE next_try_at IS NOT NULL) AS "mailWaiting",
       (SELECT count(*) FROM sources
        WHERE status = 'active' AND greatest(next_poll_at, lease_until) < ?) AS "sourcesLate",
       (SELECT count(*) FROM sources WHERE status = 'active' AND failures > 0) AS "sourcesFailing"`,
  );

  return {
    async countAll(lateBefore) {
      const [found, counts] = await Promise.all([selectWaiting(), selectCounts(lateBefore)]);
      const waiting = { pending: nothing(), retrying: nothing(), held: nothing() };
      for (const { state, count, oldest } of found) waiting[state] = { count, oldestDueAt: oldest };
      return { waiting, ...(counts as Counts) };
    },
  } satisfies Partial<FiguresStore>;
}

function nothing(): Waiting {
  return { count: 0, oldestDueAt: null };
}
