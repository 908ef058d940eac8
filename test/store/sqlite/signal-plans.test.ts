import { describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { createProfileResolver, profileReads } from '../../../src/store/sqlite/reads/profiles.ts';
import { pageSql, type RowSource, type Shape } from '../../../src/store/sqlite/reads/signal-list.ts';

const VALUES = {
  tenantId: 'ten_a',
  match: '"ten_a~crm"',
  above: 0n,
  below: 1n,
  now: 0,
  assignee: 'ida@acme.example',
  minScore: 0,
  limit: 25,
  score: 0n,
  after: 0n,
};

/** The step that combines the rows into one. */
const GATHERING = /^(CO-ROUTINE|SCAN) \(subquery-\d+\)$/;

/** SQLite's plan for the rows of a page, as SQLite describes it. */
function planOf(shape: Shape, source: RowSource): string {
  const db = openDatabase(':memory:');
  migrate(db);
  const sql = `EXPLAIN QUERY PLAN ${pageSql(shape, source, true)}`;
  const steps = db.prepare<unknown[], { detail: string }>(sql).all(VALUES);
  db.close();
  return steps
    .map((step) => step.detail)
    .filter((detail) => !GATHERING.test(detail))
    .join('; ');
}

describe('a page of signals is an index scan, never a sort', () => {
  test.each(['newestFirst', 'oldestFirst'] as const)('%s, unfiltered', (shape) => {
    expect(planOf(shape, 'tenant')).toBe(
      'SEARCH s USING INDEX signals_by_time (tenant_id=? AND rowid>? AND rowid<?)',
    );
  });

  test.each([
    ['ofScore', 'score=? AND rowid>? AND rowid<?'],
    ['belowScore', 'score>? AND score<?'],
  ] as const)('best first, unfiltered: %s', (shape, bounds) => {
    expect(planOf(shape, 'tenant')).toBe(`SEARCH s USING INDEX signals_by_score (tenant_id=? AND ${bounds})`);
  });

  test.each(['newestFirst', 'oldestFirst'] as const)('%s, with any filter or words', (shape) => {
    const [walk, row, ...rest] = planOf(shape, 'terms').split('; ');
    expect(walk).toMatch(/^SCAN signal_search VIRTUAL TABLE INDEX/);
    expect(row).toBe('SEARCH s USING INTEGER PRIMARY KEY (rowid=?)');
    expect(rest).toEqual([]);
  });
});

test.each(['tenant', 'terms'] as const)(
  'best first within a window or a few hits sorts only their numbers (%s)',
  (source) => {
    const plan = planOf('sorted', source);
    expect(plan).toContain(
      source === 'tenant'
        ? 'SEARCH s USING COVERING INDEX signals_by_time (tenant_id=? AND rowid>? AND rowid<?)'
        : 'SCAN signal_search VIRTUAL TABLE INDEX',
    );
    expect(plan).toContain('SEARCH s USING INTEGER PRIMARY KEY (rowid=?)');
  },
);

test.each(['tenant open', 'terms open'] as const)('skips handled signals by their number (%s)', (source) => {
  const plan = planOf('newestFirst', source);
  expect(plan).toContain('SEARCH x USING INTEGER PRIMARY KEY (rowid=?)');
  expect(plan).not.toContain('TEMP B-TREE');
});

test.each([
  ['triage done', 'signal_triage_done'],
  ['triage snoozed', 'signal_triage_snoozed'],
  ['triage open assigned', 'signal_triage_by_assignee'],
] as const)('%s scans only the few of its kind', (source, index) => {
  const plan = planOf('newestFirst', source);
  expect(plan).toMatch(new RegExp(`SEARCH x USING (?:COVERING )?INDEX ${index} \\(tenant_id=\\?`));
  expect(plan).not.toContain('TEMP B-TREE');
});

test.each(['terms triage done', 'terms triage snoozed', 'terms triage open assigned'] as const)(
  '%s scans the index once, and looks up how each signal found was triaged',
  (source) => {
    for (const shape of ['newestFirst', 'sorted'] as const) {
      const [found, triage, ...rest] = planOf(shape, source)
        .split('; ')
        .filter((step) => /signal_search|\bx\b/.test(step));
      expect(found).toMatch(/^SCAN signal_search VIRTUAL TABLE INDEX/);
      expect(triage).toBe('SEARCH x USING INTEGER PRIMARY KEY (rowid=?)');
      expect(rest).toEqual([]);
    }
  },
);

test('of the deleted profiles with a name, a filter includes the latest twenty', () => {
  const db = openDatabase(':memory:');
  onTestFinished(() => void db.close());
  migrate(db);
  db.exec(`
    INSERT INTO tenants (id, name, plan, created_at) VALUES ('ten_a', 'A', 'trial', 0), ('ten_b', 'B', 'trial', 0);
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
    INSERT INTO icp_profiles (id, tenant_id, name, name_key, settings, active, created_at, deleted_at)
    SELECT 'icp_' || (1000 + i), 'ten_a', 'Mine', 'mine', '{}', 1, i, iif(i < 150, i, NULL) FROM n`);
  const resolve = createProfileResolver(db);
  const found = resolve('ten_a', ['MINE', 'icp_1001', 'icp_1150', 'other']);
  expect(found).toHaveLength(21);
  expect(found).toEqual(expect.arrayContaining(['icp_1001', 'icp_1131', 'icp_1150']));
  expect(resolve('ten_b', ['mine', 'icp_1001'])).toEqual([]);
});

test('a profile lists its newest two thousand decisions, oldest first', () => {
  const db = openDatabase(':memory:');
  onTestFinished(() => void db.close());
  migrate(db);
  db.exec(`
    INSERT INTO tenants (id, name, plan, created_at) VALUES ('ten_a', 'A', 'trial', 0);
    INSERT INTO icp_profiles (id, tenant_id, name, name_key, settings, active, created_at)
    VALUES ('icp_a', 'ten_a', 'Mine', 'mine', '{}', 1, 0);
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2005)
    INSERT INTO suggestion_decisions (profile_id, suggestion, tenant_id, decision, decided_at)
    SELECT 'icp_a', 'sug_' || (5000 - i), 'ten_a', i, i FROM n`);
  const listed = profileReads(db).listSuggestionDecisions('ten_a', 'icp_a').map(Number);
  expect(listed).toEqual(Array.from({ length: 2_000 }, (_, n) => n + 6));
});
