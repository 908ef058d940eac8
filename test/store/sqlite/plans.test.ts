import { describe, expect, test } from 'vitest';
import type { SignalQuery } from '../../../src/model/signal.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { buildListSql } from '../../../src/store/sqlite/tables/signal-list.ts';

const ANY: SignalQuery = {
  platforms: [],
  icps: [],
  from: null,
  to: null,
  signalTypes: [],
  classifications: [],
  minScore: null,
  companyDomains: [],
  sort: '-timestamp',
  limit: 25,
  after: null,
  explain: false,
};

/** SQLite's plan for a page, in its words. */
function planOf(query: Partial<SignalQuery>, profileIds: string[] | null = null): string {
  const db = openDatabase(':memory:');
  migrate(db);
  const { sql, values } = buildListSql('ten_a', profileIds, { ...ANY, ...query });
  const steps = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
  db.close();
  return steps.map((step) => step.detail).join('; ');
}

const POSITION: Record<SignalQuery['sort'], (string | number)[]> = {
  '-timestamp': [1, 'sig_1'],
  timestamp: [1, 'sig_1'],
  '-icp_score': [1, 1, 'sig_1'],
};

describe('a page of signals is a walk along an index, never a sort', () => {
  test.each<[string, Partial<SignalQuery>, string[] | null, string]>([
    ['no filter', {}, null, 'signals_by_time'],
    ['a time window', { from: 1, to: 9 }, null, 'signals_by_time'],
    ['a platform', { platforms: ['x'] }, null, 'signals_by_platform'],
    ['several platforms', { platforms: ['x', 'y'] }, null, 'signals_by_time'],
    ['a profile', {}, ['icp_1'], 'signals_by_profile'],
    ['a classification', { classifications: ['hot'] }, null, 'signals_by_classification'],
    ['a type', { signalTypes: ['review'] }, null, 'signals_by_type'],
    ['a domain', { companyDomains: ['acme.com'] }, null, 'signals_by_domain'],
    ['a least score', { minScore: 70 }, null, 'signals_by_time'],
  ])('for %s', (_, query, profileIds, index) => {
    for (const sort of ['-timestamp', 'timestamp'] as const) {
      for (const after of [null, POSITION[sort]]) {
        const plan = planOf({ ...query, sort, after }, profileIds);
        expect(plan).toContain(`USING INDEX ${index}`);
        expect(plan).not.toContain('TEMP B-TREE');
      }
    }
  });

  test('for the order by score, with any filter but the domain', () => {
    const query: Partial<SignalQuery> = {
      platforms: ['x'],
      classifications: ['hot'],
      signalTypes: ['review'],
      minScore: 5,
    };
    for (const after of [null, POSITION['-icp_score']]) {
      const plan = planOf({ ...query, sort: '-icp_score', after }, ['icp_1']);
      expect(plan).toContain('USING INDEX signals_by_score');
      expect(plan).not.toContain('TEMP B-TREE');
    }
  });
});
