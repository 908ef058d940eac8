import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { FEED_SQL } from '../../../src/store/sqlite/reads/events.ts';

test('a range of a feed is two scans in commit order that read no delivery of another event', () => {
  const db = openDatabase(':memory:');
  migrate(db);
  const values = { tenantId: 't', endpointId: 'w', after: 0, until: 1, limit: 1 };
  const steps = db
    .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${FEED_SQL}`)
    .all(values)
    .map((step) => step.detail)
    .join('; ');
  db.close();
  expect(steps).toContain('SEARCH p USING PRIMARY KEY (tenant_id=? AND position>? AND position<?)');
  expect(steps).toContain('SEARCH d USING INDEX deliveries_by_event (event_id=?)');
  expect(steps).toContain('SEARCH l USING PRIMARY KEY (tenant_id=? AND position>? AND position<?)');
  expect(steps).not.toContain('SCAN');
});
