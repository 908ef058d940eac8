import type { Database } from 'better-sqlite3';
import { addAll } from '../../../lib/lists.ts';
import type { Campaign, CampaignQuery } from '../../../model/campaign.ts';
import type { CampaignStore } from '../../campaign-store.ts';
import type { Part } from '../../store.ts';
import { Table } from '../table.ts';
import { createLeadAliases } from './lead-aliases.ts';
import { pageOf } from './pages.ts';

export const CAMPAIGNS = new Table<Campaign>('campaigns', {
  id: 'plain',
  tenantId: 'plain',
  name: 'plain',
  status: 'plain',
  settings: 'json',
  startedAt: 'plain',
  completedAt: 'plain',
  statusChangedAt: 'plain',
  createdAt: 'plain',
  updatedAt: 'plain',
  version: 'plain',
});

/** Campaigns themselves; what happened in them is in `campaign-events.ts`. */
export function campaignReads(db: Database) {
  const selectOne = CAMPAIGNS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  const leads = createLeadAliases(db);

  return {
    getCampaign: (tenantId, id) => selectOne.get(id, tenantId),
    listCampaigns(tenantId, query) {
      const { sql, values } = buildCampaignListSql(tenantId, query);
      return pageOf(CAMPAIGNS.rows(db, sql).all(...values), query.limit, {
        toRow: (campaign) => campaign,
        position: ({ createdAt, id }) => [createdAt, id],
      });
    },
    completePeople: (tenantId, people) => people.map((person) => leads.complete(tenantId, person)),
  } satisfies Part<CampaignStore>;
}

/** The statement of a page and its values. Several statuses are picked out of a walk by time, so that nothing is sorted. */
export function buildCampaignListSql(tenantId: string, { statuses, after, limit }: CampaignQuery) {
  const conditions = ['tenant_id = ?'];
  const values: (string | number)[] = [tenantId];
  if (statuses.length > 0) {
    const column = statuses.length === 1 ? 'status' : '+status';
    conditions.push(`${column} IN (${statuses.map(() => '?').join(', ')})`);
    addAll(values, statuses);
  }
  if (after !== null) {
    conditions.push('(created_at, id) < (?, ?)');
    addAll(values, after);
  }
  const sql = `SELECT ${CAMPAIGNS.list} FROM campaigns WHERE ${conditions.join(' AND ')} ORDER BY created_at DESC, id DESC LIMIT ?`;
  return { sql, values: [...values, limit + 1] };
}
