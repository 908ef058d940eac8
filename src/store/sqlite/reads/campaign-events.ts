import type { Database } from 'better-sqlite3';
import type { CampaignEventType, ReplyClass } from '../../../model/campaign.ts';
import type { CampaignEventRow, CampaignStore } from '../../campaign-store.ts';
import type { Part } from '../../store.ts';

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
export function campaignEventReads(db: Database) {
  // Two, as each is then one step in the index; min and max in one statement read every row.
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

/** A walk along the table itself. Keys are never empty, so that an empty one stands before all of its moment. */
export const WINDOW_SQL = `SELECT occurred_at, event_key, type, recipient, step, reply_class, auto FROM campaign_events
  WHERE campaign_id = ? AND (occurred_at, event_key) > (?, ?) AND occurred_at < ?
  ORDER BY occurred_at, event_key LIMIT ?`;
