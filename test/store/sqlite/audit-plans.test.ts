import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { type AuditShape, auditPageSql } from '../../../src/store/sqlite/reads/accounts.ts';

test.each<[AuditShape, string]>([
  ['any', 'audit_by_time (tenant_id=? AND at>? AND at<?)'],
  ['actor', 'audit_by_actor (tenant_id=? AND actor=? AND at>? AND at<?)'],
  ['action', 'audit_by_action (tenant_id=? AND action=? AND at>? AND at<?)'],
  ['both', 'audit_by_both (tenant_id=? AND actor=? AND action=? AND at>? AND at<?)'],
])('a page of the audit list by %s is an index scan, never a sort', (shape, index) => {
  const db = openDatabase(':memory:');
  migrate(db);
  const values = {
    tenantId: 't',
    actor: 'a',
    action: 'x',
    from: 0,
    to: 1,
    beforeAt: 1,
    beforePosition: 1,
    limit: 1,
  };
  const steps = db
    .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${auditPageSql(shape)}`)
    .all(values)
    .map((step) => step.detail);
  db.close();
  expect(steps).toEqual([`SEARCH audit USING INDEX ${index}`]);
});
