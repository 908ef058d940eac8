import type { Database } from 'better-sqlite3';
import type { Campaign, CampaignQuery, CampaignSettings, CampaignStatus } from '../../../model/campaign.ts';
import type { CampaignStore } from '../../campaign-store.ts';
import type { Part } from '../../store.ts';
import { createLeadAliases } from './lead-aliases.ts';
import { pageOf } from './pages.ts';

interface CampaignRow {
  id: string;
  tenant_id: string;
  name: string;
  status: string;
  settings: string;
  started_at: number | null;
  completed_at: number | null;
  status_changed_at: number;
  created_at: number;
  updated_at: number;
  version: number;
}

function toCampaign(row: CampaignRow): Campaign {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    status: row.status as CampaignStatus,
    settings: JSON.parse(row.settings) as CampaignSettings,
    startedAt: row.started_at,
    completedAt: row.completed_at,
    statusChangedAt: row.status_changed_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: row.version,
  };
}

/** Campaigns themselves; what happened in them is in `campaign-events.ts`. */
export function campaignReads(db: Database) {
  const selectOne = db.prepare<[string, string], CampaignRow>(
    'SELECT * FROM campaigns WHERE id = ? AND tenant_id = ?',
  );
  const leads = createLeadAliases(db);

  return {
    getCampaign(tenantId, id) {
      const row = selectOne.get(id, tenantId);
      return row === undefined ? null : toCampaign(row);
    },
    listCampaigns(tenantId, query) {
      const { sql, values } = buildCampaignListSql(tenantId, query);
      const found = db.prepare<unknown[], CampaignRow>(sql).all(...values);
      return pageOf(found, query.limit, {
        toRow: toCampaign,
        position: (row) => [row.created_at, row.id],
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
    values.push(...statuses);
  }
  if (after !== null) {
    conditions.push('(created_at, id) < (?, ?)');
    values.push(...after);
  }
  const sql = `SELECT * FROM campaigns WHERE ${conditions.join(' AND ')} ORDER BY created_at DESC, id DESC LIMIT ?`;
  return { sql, values: [...values, limit + 1] };
}
