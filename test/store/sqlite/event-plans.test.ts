import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { eventPageSql, type TypeShape } from '../../../src/store/sqlite/reads/events.ts';

test.each<[TypeShape, string]>([
  ['any', 'events_by_time (tenant_id=? AND '],
  ['one', 'events_by_type (tenant_id=? AND type=? AND '],
])('a page of events of %s type is an index scan, never a sort', (shape, index) => {
  const db = openDatabase(':memory:');
  migrate(db);
  const values = { tenantId: 't', type: 'x', types: '[]', from: 0, to: 1, createdAt: 1, id: 'e', limit: 1 };
  const steps = db
    .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${eventPageSql(shape)}`)
    .all(values)
    .map((step) => step.detail);
  db.close();
  expect(steps[0]).toContain(`SEARCH events USING INDEX ${index}`);
  expect(steps.join('; ')).not.toContain('TEMP B-TREE');
});
