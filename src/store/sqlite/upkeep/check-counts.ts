import type { Database } from 'better-sqlite3';
import type { Finding } from './finding.ts';

const COUNTED = {
  signals: 'SELECT tenant_id, count(*) AS n FROM signals GROUP BY tenant_id',
  leads: 'SELECT tenant_id, count(*) AS n FROM leads GROUP BY tenant_id',
  campaign_events: `SELECT c.tenant_id, count(*) AS n FROM campaign_events e JOIN campaigns c ON c.id = e.campaign_id
    GROUP BY c.tenant_id`,
};

/** What each tenant has is counted as it is stored, by triggers: plans' ceilings are held against it. */
export function* checkCounts(db: Database): Generator<Finding> {
  for (const [column, sql] of Object.entries(COUNTED)) {
    const wrong = db.prepare<[], { id: string; kept: number | null; n: number }>(
      `SELECT t.id, s.${column} AS kept, ifnull(f.n, 0) AS n FROM tenants t
       LEFT JOIN stored_rows s ON s.tenant_id = t.id LEFT JOIN (${sql}) f ON f.tenant_id = t.id
       WHERE s.${column} IS NOT ifnull(f.n, 0)`,
    );
    for (const { id, kept, n } of wrong.iterate())
      yield {
        part: 'counts',
        detail: `stored_rows ${id}: counts ${kept ?? 'no'} ${column}, and there are ${n}`,
      };
  }
}
