import type { Database } from 'better-sqlite3';
import type { Finding } from './finding.ts';

const WITHOUT_A_PLACE = {
  signals:
    'SELECT id FROM signals s WHERE NOT EXISTS (SELECT 1 FROM signal_positions p WHERE p.seq = s.seq AND p.tenant_id = s.tenant_id)',
  events:
    'SELECT id FROM events EXCEPT SELECT e.id FROM event_positions p JOIN events e ON e.id = p.event_id AND e.tenant_id = p.tenant_id',
};

/** What has no place in the order by commit is never returned to a client that polls; nor is what a lagging counter numbers. */
export function* checkOrder(db: Database): Generator<Finding> {
  for (const [table, sql] of Object.entries(WITHOUT_A_PLACE)) {
    for (const { id } of db.prepare<[], { id: string }>(sql).iterate())
      yield { part: 'order', detail: `${table} ${id}: has no place in the order by commit` };
  }
  const lagging = db.prepare<[], { tenant_id: string }>(
    `SELECT tenant_id FROM stored_rows r
     WHERE position < (SELECT max(position) FROM signal_positions p WHERE p.tenant_id = r.tenant_id)
       OR position < (SELECT max(position) FROM event_positions p WHERE p.tenant_id = r.tenant_id)`,
  );
  for (const { tenant_id } of lagging.iterate())
    yield { part: 'order', detail: `stored_rows ${tenant_id}: its position is below one that was given` };
}
