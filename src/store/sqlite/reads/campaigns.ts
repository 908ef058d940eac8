import type { Database } from 'better-sqlite3';
import type { Campaign, CampaignEventType, CampaignQuery, ReplyClass } from '../../../model/campaign.ts';
import type { CampaignEventRow, CampaignStore } from '../../campaign-store.ts';
import { pageOf } from '../../pages.ts';
import { type Part, Table } from '../table.ts';
import { createLeadAliases } from './leads.ts';

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

/** Campaigns. */
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

/** The statement of a page and its values: the keys of as many campaigns of each status, and the rows of the newest of all these. */
export function buildCampaignListSql(tenantId: string, { statuses, after, limit }: CampaignQuery) {
  const ofStatus = statuses.length === 0 ? '' : 'AND status = ?';
  const isAfter = after === null ? '' : 'AND (created_at, id) < (?, ?)';
  const keys = `SELECT * FROM (SELECT id AS found, created_at AS at FROM campaigns
    WHERE tenant_id = ? ${ofStatus} ${isAfter} ORDER BY created_at DESC, id DESC LIMIT ?)`;
  const lists = statuses.length === 0 ? [[]] : [...new Set(statuses)].map((status) => [status]);
  const sql = `SELECT ${CAMPAIGNS.list}
    FROM (${lists.map(() => keys).join(' UNION ALL ')} ORDER BY at DESC, found DESC LIMIT ?)
      CROSS JOIN campaigns c ON c.id = found AND +c.tenant_id = ?`;
  const values = lists.flatMap((status) => [tenantId, ...status, ...(after ?? []), limit + 1]);
  return { sql, values: [...values, limit + 1, tenantId] };
}

type RawRow = [
  occurredAt: number,
  key: string,
  type: string,
  recipient: number,
  step: number | null,
  replyClass: string | null,
  auto: number,
];

function toEventRow([occurredAt, key, type, recipient, step, replyClass, auto]: RawRow): CampaignEventRow {
  return {
    occurredAt,
    key,
    type: type as CampaignEventType,
    recipient,
    step,
    replyClass: replyClass as ReplyClass | null,
    auto: auto === 1,
  };
}

/** Campaign events, with recipient numbers. */
export function campaignEventReads(db: Database) {
  // Two statements, because each is one step in the index; min and max in one statement read every row.
  const selectFirst = db
    .prepare<[string], number | null>('SELECT min(occurred_at) FROM campaign_events WHERE campaign_id = ?')
    .pluck();
  const selectLast = db
    .prepare<[string], number | null>('SELECT max(occurred_at) FROM campaign_events WHERE campaign_id = ?')
    .pluck();
  const selectWindow = db.prepare<[string, number, string, number, number], RawRow>(WINDOW_SQL).raw();

  return {
    getCampaignSpan(campaignId) {
      const first = selectFirst.get(campaignId) ?? null;
      const last = selectLast.get(campaignId) ?? null;
      return first === null || last === null ? null : { first, last };
    },
    listCampaignEvents(campaignId, { from, to, after, limit }) {
      const { occurredAt, key } = after ?? { occurredAt: from, key: '' };
      return selectWindow.all(campaignId, occurredAt, key, to, limit).map(toEventRow);
    },
  } satisfies Part<CampaignStore>;
}

/** A scan of the table itself. Keys are never empty, so an empty one sorts before all others of the same time. */
export const WINDOW_SQL = `SELECT occurred_at, event_key, type, recipient, step, reply_class, auto FROM campaign_events
  WHERE campaign_id = ? AND (occurred_at, event_key) > (?, ?) AND occurred_at < ?
  ORDER BY occurred_at, event_key LIMIT ?`;
