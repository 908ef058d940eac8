import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { feedSql } from '../../../src/store/sqlite/reads/events.ts';

test.each([
  ['few', 'deliveries_by_event (event_id=?)'],
  ['many', 'deliveries_of_endpoint (endpoint_id=? AND created_at=?)'],
] as const)('a range of a feed with %s endpoints is two scans in commit order', (endpoints, index) => {
  const db = openDatabase(':memory:');
  migrate(db);
  const values = { tenantId: 't', endpointId: 'w', after: 0, until: 1, limit: 1 };
  const steps = db
    .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${feedSql(endpoints)}`)
    .all(values)
    .map((step) => step.detail)
    .join('; ');
  db.close();
  expect(steps).toContain('SEARCH p USING PRIMARY KEY (tenant_id=? AND position>? AND position<?)');
  expect(steps).toContain(`SEARCH d USING INDEX ${index}`);
  expect(steps).toContain('SEARCH l USING PRIMARY KEY (tenant_id=? AND position>? AND position<?)');
  expect(steps).not.toContain('SCAN');
});
