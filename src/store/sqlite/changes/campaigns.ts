import type { Database } from 'better-sqlite3';
import type { CampaignEventResult, CampaignStore } from '../../campaign-store.ts';
import type { Part } from '../../store.ts';
import { CAMPAIGNS } from '../reads/campaigns.ts';
import { createLeadAliases } from '../reads/lead-aliases.ts';
import { createRecipients } from './campaign-recipients.ts';
import { createEventWriter } from './events.ts';

export function campaignChanges(db: Database) {
  const insert = CAMPAIGNS.insert(db);
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE campaigns SET
       name = :name, status = :status, settings = :settings, started_at = :startedAt, completed_at = :completedAt,
       status_changed_at = :statusChangedAt, updated_at = :updatedAt, version = :version
     WHERE id = :id AND tenant_id = :tenantId AND version = :expectedVersion`,
  );
  const known = db
    .prepare<[string, string], number>(
      'SELECT 1 FROM campaign_events WHERE campaign_id = ? AND event_key = ?',
    )
    .pluck();
  const insertEvent = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO campaign_events
       (campaign_id, occurred_at, event_key, type, recipient, step, reply_class, auto, told_id)
     VALUES
       (:campaignId, :occurredAt, :key, :type, :recipient, :step, :replyClass, :auto, :toldId)`,
  );
  const recipients = createRecipients(db);
  const leads = createLeadAliases(db);
  const insertRouted = createEventWriter(db);

  return {
    createCampaign(campaign, events) {
      insert(campaign);
      events.forEach(insertRouted);
    },
    updateCampaign(campaign, expectedVersion, events) {
      if (update.run({ ...CAMPAIGNS.encode(campaign), expectedVersion }).changes === 0) return false;
      events.forEach(insertRouted);
      return true;
    },
    recordCampaignEvents({ id: campaignId, tenantId }, events) {
      const numbers = recipients.numbers({ campaignId, tenantId });
      const results = events.map((event): CampaignEventResult => {
        const { events: caused, leadId: _lead, email: _email, ...columns } = event;
        if (known.get(campaignId, event.key) !== undefined) return 'duplicate';
        const aliases = leads.aliasesOf(tenantId, event);
        if (aliases === null) return 'unknown_lead';
        caused.forEach(insertRouted);
        const auto = event.auto ? 1 : 0;
        const toldId = caused[0]?.event.id ?? null;
        insertEvent.run({ ...columns, campaignId, recipient: numbers.of(aliases), auto, toldId });
        return 'created';
      });
      numbers.finish();
      return results;
    },
  } satisfies Part<CampaignStore>;
}
