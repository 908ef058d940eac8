import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import {
  DUE_SOURCES_SQL,
  NEXT_SOURCE_SQL,
  SOURCE_PAGE_SQL,
} from '../../../src/store/sqlite/reads/sources.ts';

/** SQLite's plan for a statement, as SQLite describes it. */
function planOf(sql: string, values: readonly unknown[]): string {
  const db = openDatabase(':memory:');
  onTestFinished(() => void db.close());
  migrate(db);
  const steps = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
  return steps.map((step) => step.detail).join('; ');
}

test.each<[string, string, unknown[], string]>([
  ['when the next is due', NEXT_SOURCE_SQL, [1], 'sources_due'],
  [
    'due sources',
    DUE_SOURCES_SQL,
    [{ now: 1, limit: 500, dueAt: -1, tenantId: '', host: '', id: '' }],
    'sources_due',
  ],
  [
    'a page of sources',
    SOURCE_PAGE_SQL,
    [{ tenantId: 'ten_a', createdAt: 1, id: 'src_1', limit: 26 }],
    'sources_by_time',
  ],
])('finds %s by an index scan, never by a sort', (_, sql, values, index) => {
  const plan = planOf(sql, values);
  expect(plan).toMatch(new RegExp(`USING (COVERING )?INDEX ${index}`));
  expect(plan).not.toMatch(/TEMP B-TREE|SCAN sources$/);
});

test('the position is the last column of a source: all behind it would be found only by reading its megabyte', () => {
  const db = openDatabase(':memory:');
  onTestFinished(() => void db.close());
  migrate(db);
  const columns = db.pragma('table_info(sources)') as { name: string }[];
  expect(columns.at(-1)?.name).toBe('position');
});
