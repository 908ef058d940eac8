import { expect, onTestFinished, test } from 'vitest';
import type { CampaignStatus } from '../../../src/model/campaign.ts';
import type { CompanyQuery } from '../../../src/model/company.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { buildCampaignListSql, WINDOW_SQL } from '../../../src/store/sqlite/reads/campaigns.ts';
import {
  buildCompanyWalkSql,
  buildDomainsSql,
  TOP_SIGNALS_SQL,
} from '../../../src/store/sqlite/reads/companies.ts';

/** SQLite's plan for a statement, as SQLite describes it. */
function planOf({ sql, values }: { sql: string; values: readonly unknown[] }): string {
  const db = openDatabase(':memory:');
  onTestFinished(() => void db.close());
  migrate(db);
  const steps = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
  return steps.map((step) => step.detail).join('; ');
}

test.each<[string, CampaignStatus[], string]>([
  ['no filter', [], 'campaigns_by_time'],
  ['one status', ['active'], 'campaigns_by_status'],
])('a page of campaigns for %s is an index scan, never a sort', (_, statuses, index) => {
  for (const after of [null, [1, 'cam_1']]) {
    const plan = planOf(buildCampaignListSql('ten_a', { statuses, limit: 25, after }));
    expect(plan).toContain(`SEARCH campaigns USING COVERING INDEX ${index} (tenant_id=?`);
    expect(plan).not.toContain('TEMP B-TREE');
  }
});

test('a page of campaigns for several statuses takes the newest of a page of each', () => {
  for (const after of [null, [1, 'cam_1']]) {
    const statuses: CampaignStatus[] = ['active', 'draft', 'paused', 'active'];
    const plan = planOf(buildCampaignListSql('ten_a', { statuses, limit: 25, after }));
    const range = after === null ? '' : ' AND (created_at,id)<(?,?)';
    const search = `SEARCH campaigns USING COVERING INDEX campaigns_by_status (tenant_id=? AND status=?${range});`;
    expect(plan.split(search)).toHaveLength(4);
    expect(plan).not.toContain('campaigns_by_time');
  }
});

test.each<[string, Partial<CompanyQuery>, string]>([
  ['no filter', {}, 'companies_by_time'],
  ['one industry', { industries: ['a'] }, 'companies_by_industry'],
  ['several industries', { industries: ['a', 'b'] }, 'companies_by_time'],
  ['a part of a name', { search: 'a' }, 'companies_by_time'],
  ['the order by activity', { sort: '-last_signal_at' }, 'companies_by_activity'],
  ['an industry by activity', { sort: '-last_signal_at', industries: ['a'] }, 'companies_by_activity'],
])('a page of companies for %s is an index scan, never a sort', (_, query, index) => {
  const all = { domains: [], industries: [], search: null, sort: '-created_at', limit: 25 } as const;
  for (const after of [null, [1, 'cmp_1']]) {
    const { part, edge } = buildCompanyWalkSql('ten_a', { ...all, ...query, after } as CompanyQuery, 100);
    // Which texts match, is decided by the index alone, unless that is the one of an industry.
    const covering = index === 'companies_by_industry' ? '' : 'COVERING ';
    expect(planOf(part)).toContain(`USING ${covering}INDEX ${index}`);
    expect(planOf(edge)).toContain(`USING COVERING INDEX ${index}`);
    expect(planOf(part) + planOf(edge)).not.toContain('TEMP B-TREE');
  }
});

test('looks up companies at given domains instead of scanning', () => {
  const query = { domains: ['a.com', 'b.com'], industries: [], search: null, limit: 25, after: null };
  const plan = planOf(buildDomainsSql('ten_a', { ...query, sort: '-created_at' }));
  expect(plan).toContain('companies_by_domain (tenant_id=? AND domain=?)');
});

test("reads a window of a campaign's events in one scan of the table", () => {
  const plan = planOf({ sql: WINDOW_SQL, values: ['cam_1', 0, '', 9, 100] });
  expect(plan).toContain('USING PRIMARY KEY (campaign_id=? AND (occurred_at,event_key)>(?,?)');
  expect(plan).not.toContain('TEMP B-TREE');
});

test("ranks a company's best signals from the index alone", () => {
  const plan = planOf({
    sql: TOP_SIGNALS_SQL,
    values: [{ tenantId: 'ten_a', domain: 'acme.com', from: 0, to: 1, limit: 5 }],
  });
  expect(plan).toContain('USING COVERING INDEX signals_by_domain');
});
