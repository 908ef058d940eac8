import type { Database } from 'better-sqlite3';
import type { CampaignStatements } from '../../changes/campaigns.ts';
import { CAMPAIGNS } from '../reads/campaigns.ts';
import { createLeadAliases } from '../reads/leads.ts';
import { changed, rows, run, value, values } from './prepared.ts';

export function campaignsSql(db: Database): CampaignStatements['campaigns'] {
  const update = changed<Record<string, unknown>[]>(
    db,
    `UPDATE campaigns SET
       name = :name, status = :status, settings = :settings, started_at = :startedAt, completed_at = :completedAt,
       status_changed_at = :statusChangedAt, updated_at = :updatedAt, version = :version
     WHERE id = :id AND tenant_id = :tenantId AND version = :expectedVersion`,
  );
  return {
    update: (campaign, expectedVersion) => update({ ...CAMPAIGNS.encode(campaign), expectedVersion }),
    aliasesOf: createLeadAliases(db).aliasesOf,
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
