import type { Database } from 'better-sqlite3';
import type { Campaign, CampaignQuery, CampaignSettings, CampaignStatus } from '../../../model/campaign.ts';
import type { CampaignPage } from '../../campaign-store.ts';

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
export function createCampaignSql(db: Database) {
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO campaigns
       (id, tenant_id, name, status, settings, started_at, completed_at, status_changed_at, created_at, updated_at, version)
     VALUES
       (:id, :tenantId, :name, :status, :settings, :startedAt, :completedAt, :statusChangedAt, :createdAt, :updatedAt,
        :version)`,
  );
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE campaigns SET
       name = :name, status = :status, settings = :settings, started_at = :startedAt, completed_at = :completedAt,
       status_changed_at = :statusChangedAt, updated_at = :updatedAt, version = :version
     WHERE id = :id AND tenant_id = :tenantId AND version = :expectedVersion`,
  );
  const selectOne = db.prepare<[string, string], CampaignRow>(
    'SELECT * FROM campaigns WHERE id = ? AND tenant_id = ?',
  );

  return {
    insert: (campaign: Campaign): void => void insert.run(toColumns(campaign)),
    update: (campaign: Campaign, expectedVersion: number): boolean =>
      update.run({ ...toColumns(campaign), expectedVersion }).changes === 1,
    get(tenantId: string, id: string): Campaign | null {
      const row = selectOne.get(id, tenantId);
      return row === undefined ? null : toCampaign(row);
    },
    list(tenantId: string, query: CampaignQuery): CampaignPage {
      const { sql, values } = buildCampaignListSql(tenantId, query);
      const found = db.prepare<unknown[], CampaignRow>(sql).all(...values);
      const rows = found.slice(0, query.limit).map(toCampaign);
      const last = found.length > query.limit ? rows.at(-1) : undefined;
      return { rows, last: last === undefined ? null : [last.createdAt, last.id] };
    },
  };
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

function toColumns(campaign: Campaign): Record<string, unknown> {
  return { ...campaign, settings: JSON.stringify(campaign.settings) };
}
