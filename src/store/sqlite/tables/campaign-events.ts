import type { Database } from 'better-sqlite3';
import type { CampaignEventType, ReplyClass } from '../../../model/campaign-event.ts';
import type { CampaignEventRow, CampaignEventWindow, NewCampaignEvent } from '../../campaign-store.ts';

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

/** What happened in campaigns, as numbers of recipients. */
export function createCampaignEventSql(db: Database) {
  const known = db
    .prepare<[string, string], number>(
      'SELECT 1 FROM campaign_events WHERE campaign_id = ? AND event_key = ?',
    )
    .pluck();
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO campaign_events
       (campaign_id, occurred_at, event_key, type, recipient, step, reply_class, auto, told_id)
     VALUES
       (:campaignId, :occurredAt, :key, :type, :recipient, :step, :replyClass, :auto, :toldId)`,
  );
  // Two, as each is then one step in the index; min and max in one statement read every row.
  const selectFirst = db
    .prepare<[string], number | null>('SELECT min(occurred_at) FROM campaign_events WHERE campaign_id = ?')
    .pluck();
  const selectLast = db
    .prepare<[string], number | null>('SELECT max(occurred_at) FROM campaign_events WHERE campaign_id = ?')
    .pluck();
  const selectWindow = db.prepare<[string, number, string, number, number], RawRow>(WINDOW_SQL).raw();
  const selectTold = db
    .prepare<[string, number], string>(
      'SELECT told_id FROM campaign_events WHERE campaign_id = ? AND recipient = ? AND told_id IS NOT NULL',
    )
    .pluck();
  const clearTold = db.prepare<[string, number]>(
    'UPDATE campaign_events SET told_id = NULL WHERE campaign_id = ? AND recipient = ? AND told_id IS NOT NULL',
  );

  return {
    isKnown: (campaignId: string, key: string): boolean => known.get(campaignId, key) !== undefined,
    insert(campaignId: string, recipient: number, event: NewCampaignEvent): void {
      const { events, leadId: _lead, email: _email, ...columns } = event;
      const toldId = events[0]?.event.id ?? null;
      insert.run({ ...columns, campaignId, recipient, auto: event.auto ? 1 : 0, toldId });
    },
    span(campaignId: string): { first: number; last: number } | null {
      const first = selectFirst.get(campaignId) ?? null;
      const last = selectLast.get(campaignId) ?? null;
      return first === null || last === null ? null : { first, last };
    },
    list(campaignId: string, { from, to, after, limit }: CampaignEventWindow): CampaignEventRow[] {
      const { occurredAt, key } = after ?? { occurredAt: from, key: '' };
      return selectWindow.all(campaignId, occurredAt, key, to, limit).map(toEventRow);
    },
    /** Ids of the events that told of a person's replies, which from now on nothing here refers to. */
    takeTold(campaignId: string, recipient: number): string[] {
      const told = selectTold.all(campaignId, recipient);
      if (told.length > 0) clearTold.run(campaignId, recipient);
      return told;
    },
  };
}

/** A walk along the table itself. Keys are never empty, so that an empty one stands before all of its moment. */
export const WINDOW_SQL = `SELECT occurred_at, event_key, type, recipient, step, reply_class, auto FROM campaign_events
  WHERE campaign_id = ? AND (occurred_at, event_key) > (?, ?) AND occurred_at < ?
  ORDER BY occurred_at, event_key LIMIT ?`;
