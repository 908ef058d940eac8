import { addAll } from '../../../lib/lists.ts';
import type { CampaignEventRow, CampaignStore, NamedPerson } from '../../campaign-store.ts';
import { pageOf } from '../../pages.ts';
import type { Connection } from '../connection.ts';
import { row, rows } from '../sql/prepared.ts';
import { CAMPAIGNS } from '../tables.ts';

/** Campaigns. */
export function campaignReads(db: Connection) {
  // Adds the address of a lead, or the lead of an address, if only the other is given.
  const selectPeople = rows<[(string | null)[], (string | null)[], string], NamedPerson>(
    db,
    `SELECT coalesce(p.lead_id, known.lead_id) AS "leadId", coalesce(p.email, substr(own.key, length('email:') + 1)) AS email
     FROM unnest(?::text[], ?::text[]) WITH ORDINALITY p (lead_id, email, place)
       CROSS JOIN (SELECT ?::text AS id) tenant
       LEFT JOIN lead_identities known ON p.lead_id IS NULL AND known.tenant_id = tenant.id AND known.key = 'email:' || p.email
       LEFT JOIN leads l ON p.email IS NULL AND l.id = p.lead_id AND l.tenant_id = tenant.id
       LEFT JOIN LATERAL (SELECT key FROM lead_identities i
                          WHERE i.lead_id = l.id AND i.key >= 'email:' AND i.key < 'email;' ORDER BY key LIMIT 1) own ON true
     ORDER BY p.place`,
  );
  const selectOne = CAMPAIGNS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');

  return {
    getCampaign: (tenantId, id) => selectOne.get(id, tenantId),
    completePeople: (tenantId, people) =>
      selectPeople(
        people.map(({ leadId }) => leadId),
        people.map(({ email }) => email),
        tenantId,
      ),
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

/** Campaign events, with recipient numbers. */
export function campaignEventReads(db: Connection) {
  const selectSpan = row<[string], { first: number | null; last: number | null }>(
    db,
    'SELECT min(occurred_at) AS first, max(occurred_at) AS last FROM campaign_events WHERE campaign_id = ?',
  );
  // Keys are never empty, so an empty one sorts before all others of the same time.
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
