import { addAll } from '../../../lib/lists.ts';
import type { CampaignEventRow, CampaignStore } from '../../campaign-store.ts';
import { pageOf } from '../../pages.ts';
import type { Connection } from '../connection.ts';
import { row, rows } from '../sql/prepared.ts';
import { CAMPAIGNS } from '../tables.ts';

/** Campaigns themselves. */
export function campaignReads(db: Connection) {
  const selectOne = CAMPAIGNS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');

  return {
    getCampaign: (tenantId, id) => selectOne.get(id, tenantId),
    async listCampaigns(tenantId, { statuses, after, limit }) {
      const conditions = ['tenant_id = ?'];
      const terms: unknown[] = [tenantId];
      if (statuses.length > 0) {
        conditions.push('status = ANY (?)');
        terms.push(statuses);
      }
      if (after !== null) {
        conditions.push('(created_at, id) < (?, ?)');
        addAll(terms, after);
      }
      const found = await CAMPAIGNS.select<unknown[]>(
        db,
        `WHERE ${conditions.join(' AND ')} ORDER BY created_at DESC, id DESC LIMIT ?`,
      ).all(...terms, limit + 1);
      return pageOf(found, limit, {
        toRow: (campaign) => campaign,
        position: ({ createdAt, id }) => [createdAt, id],
      });
    },
  } satisfies Partial<CampaignStore>;
}

/** What happened in campaigns, as numbers of recipients. */
export function campaignEventReads(db: Connection) {
  const selectSpan = row<[string], { first: number | null; last: number | null }>(
    db,
    'SELECT min(occurred_at) AS first, max(occurred_at) AS last FROM campaign_events WHERE campaign_id = ?',
  );
  // Keys are never empty, so that an empty one stands before all of its moment.
  const selectWindow = rows<[string, number, string, number, number], CampaignEventRow>(
    db,
    `SELECT occurred_at AS "occurredAt", event_key AS key, type, recipient, step, reply_class AS "replyClass", auto
     FROM campaign_events WHERE campaign_id = ? AND (occurred_at, event_key) > (?, ?) AND occurred_at < ?
     ORDER BY occurred_at, event_key LIMIT ?`,
  );

  return {
    async getCampaignSpan(campaignId) {
      const { first = null, last = null } = (await selectSpan(campaignId)) ?? {};
      return first === null || last === null ? null : { first, last };
    },
    listCampaignEvents(campaignId, { from, to, after, limit }) {
      const { occurredAt, key } = after ?? { occurredAt: from, key: '' };
      return selectWindow(campaignId, occurredAt, key, to, limit);
    },
  } satisfies Partial<CampaignStore>;
}
