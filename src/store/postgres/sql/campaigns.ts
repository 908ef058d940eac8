import type { CampaignStatements } from '../../changes/campaigns.ts';
import type { Connection } from '../connection.ts';
import { CAMPAIGNS } from '../tables.ts';
import { type Async, changed, rows, run, value, values } from './prepared.ts';

export function campaignsSql(db: Connection): Async<CampaignStatements['campaigns']> {
  const update = changed<Record<string, unknown>[]>(
    db,
    `UPDATE campaigns SET
       name = :name, status = :status, settings = :settings, started_at = :startedAt, completed_at = :completedAt,
       status_changed_at = :statusChangedAt, updated_at = :updatedAt, version = :version
     WHERE id = :id AND tenant_id = :tenantId AND version = :expectedVersion`,
  );
  const selectLead = value<[string, string], number>(
    db,
    'SELECT 1 FROM leads WHERE id = ? AND tenant_id = ?',
  );
  const selectHolder = value<[string, string], string>(
    db,
    'SELECT lead_id FROM lead_identities WHERE tenant_id = ? AND key = ?',
  );
  const selectAddresses = values<[string], string>(
    db,
    "SELECT key FROM lead_identities WHERE lead_id = ? AND key >= 'email:' AND key < 'email;' ORDER BY key",
  );
  return {
    update: (campaign, expectedVersion) => update({ ...CAMPAIGNS.encode(campaign), expectedVersion }),
    async aliasesOf(tenantId, { leadId, email }) {
      if (leadId !== null && (await selectLead(leadId, tenantId)) === undefined) return null;
      const given = email === null ? [] : [`email:${email}`];
      const known = leadId ?? (email === null ? undefined : await selectHolder(tenantId, `email:${email}`));
      if (known === undefined) return given;
      return [...new Set([known, ...given, ...(await selectAddresses(known))])];
    },
    selectEvent: value(db, 'SELECT 1 FROM campaign_events WHERE campaign_id = ? AND event_key = ?'),
    insertEvent: run(
      db,
      `INSERT INTO campaign_events
         (campaign_id, occurred_at, event_key, type, recipient, step, reply_class, auto, told_id)
       VALUES
         (:campaignId, :occurredAt, :key, :type, :recipient, :step, :replyClass, :auto, :toldId)`,
    ),
    insert: CAMPAIGNS.insert(db),
    selectCount: value(db, 'SELECT recipient_count FROM campaigns WHERE id = ?'),
    updateCount: run(db, 'UPDATE campaigns SET recipient_count = ? WHERE id = ?'),
    selectNumber: value(db, 'SELECT recipient FROM campaign_recipients WHERE campaign_id = ? AND alias = ?'),
    insertAlias: run(
      db,
      'INSERT INTO campaign_recipients (campaign_id, alias, tenant_id, recipient) VALUES (?, ?, ?, ?)',
    ),
    deleteAliases: rows(
      db,
      'DELETE FROM campaign_recipients WHERE tenant_id = ? AND alias = ? RETURNING campaign_id, recipient',
    ),
    deleteNumber: run(db, 'DELETE FROM campaign_recipients WHERE campaign_id = ? AND recipient = ?'),
    selectTold: values(
      db,
      'SELECT told_id FROM campaign_events WHERE campaign_id = ? AND recipient = ? AND told_id IS NOT NULL',
    ),
    clearTold: run(
      db,
      'UPDATE campaign_events SET told_id = NULL WHERE campaign_id = ? AND recipient = ? AND told_id IS NOT NULL',
    ),
  };
}
