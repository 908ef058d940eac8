import type { Database } from 'better-sqlite3';
import { toIso } from '../../../lib/clock.ts';
import { attachSignals, withoutSignals } from '../../../model/lead-score.ts';
import type { Signal } from '../../../model/signal.ts';
import { leadReads } from '../reads/leads.ts';
import { createLeadRow } from './lead-row.ts';

interface ScoreRow {
  score: number;
  classification: Signal['classification'];
  timestamp: number;
}

/** Scores a lead anew by the signals that it has: part of a change that alters or removes one of them. */
export function createLeadScore(db: Database): (tenantId: string, leadId: string, now: number) => void {
  const select = db.prepare<[string], ScoreRow>(
    `SELECT s.score, s.classification, s.timestamp FROM lead_signals l JOIN signals s ON s.id = l.signal_id
     WHERE l.lead_id = ?`,
  );
  const { getLead } = leadReads(db);
  const leadRow = createLeadRow(db);

  return (tenantId, leadId, now) => {
    const stored = getLead(tenantId, leadId);
    if (stored === null) return;
    const signals = select.all(leadId).map(({ score, classification, timestamp }) => ({
      ...{ icp_score: score, classification, timestamp: toIso(timestamp) },
    }));
    leadRow.update({ ...attachSignals(withoutSignals(stored.lead), signals), updated_at: toIso(now) });
  };
}
