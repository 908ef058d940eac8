import type { Database } from 'better-sqlite3';
import type { LeadSignal, PersonalSignal } from '../../lead-store.ts';

interface SignalRow {
  id: string;
  lead_id: string | null;
  wire: string;
  explanation: string;
}

/** Which signals are whose: of a lead, and of a person before there is one. */
export function createLeadSignalSql(db: Database) {
  const selectSome = db.prepare<[string, string], SignalRow>(
    `SELECT s.id, l.lead_id, s.wire FROM signals s LEFT JOIN lead_signals l ON l.signal_id = s.id
     WHERE s.tenant_id = ? AND s.id IN (SELECT value FROM json_each(?))`,
  );
  const selectOfPerson = db.prepare<[string, string], SignalRow>(
    `SELECT DISTINCT s.id, l.lead_id, s.wire, s.explanation
     FROM signal_people p JOIN signals s ON s.id = p.signal_id LEFT JOIN lead_signals l ON l.signal_id = s.id
     WHERE p.tenant_id = ? AND p.key IN (SELECT value FROM json_each(?)) ORDER BY s.timestamp DESC, s.id`,
  );
  const selectBest = db.prepare<[string, number], { wire: string; explanation: string }>(
    `SELECT s.wire, s.explanation FROM lead_signals l JOIN signals s ON s.id = l.signal_id
     WHERE l.lead_id = ? ORDER BY s.score DESC, s.timestamp DESC, s.id LIMIT ?`,
  );
  const selectAll = db.prepare<[string], SignalRow>(
    `SELECT s.id, l.lead_id, s.wire, s.explanation FROM lead_signals l JOIN signals s ON s.id = l.signal_id
     WHERE l.lead_id = ?`,
  );
  const selectOwner = db
    .prepare<[string, string], string>(
      `SELECT ifnull(l.lead_id, '') FROM signals s LEFT JOIN lead_signals l ON l.signal_id = s.id
       WHERE s.id = ? AND s.tenant_id = ?`,
    )
    .pluck();
  const insert = db.prepare<[string, string]>('INSERT INTO lead_signals (lead_id, signal_id) VALUES (?, ?)');
  // The signal's JSON is what every answer shows: it changes in the commit that attaches it.
  const showLead = db
    .prepare<[string, string], string>(
      "UPDATE signals SET wire = json_set(wire, '$.lead_id', ?) WHERE id = ? RETURNING wire",
    )
    .pluck();
  const hideLead = db.prepare<[string]>(
    `UPDATE signals SET wire = json_set(wire, '$.lead_id', NULL)
     WHERE id IN (SELECT signal_id FROM lead_signals WHERE lead_id = ?)`,
  );
  const remove = db.prepare<[string]>('DELETE FROM lead_signals WHERE lead_id = ?');

  return {
    some: (tenantId: string, ids: readonly string[]): LeadSignal[] =>
      selectSome.all(tenantId, JSON.stringify(ids)).map(toSignal),
    ofPerson: (tenantId: string, keys: readonly string[]): PersonalSignal[] =>
      selectOfPerson.all(tenantId, JSON.stringify(keys)).map(toSignal),
    best: (leadId: string, limit: number): string[] =>
      selectBest
        .all(leadId, limit)
        .map(({ wire, explanation }) => `${wire.slice(0, -1)},"explanation":${explanation}}`),
    all: (leadId: string): PersonalSignal[] => selectAll.all(leadId).map(toSignal),
    /** Whether a lead may have the signal: it is the tenant's, and no lead's yet. */
    isFree: (tenantId: string, signalId: string): boolean => selectOwner.get(signalId, tenantId) === '',
    /** Returns the signal's JSON, which now names the lead. */
    attach(leadId: string, signalId: string): string {
      insert.run(leadId, signalId);
      return showLead.get(leadId, signalId) ?? '';
    },
    /** The lead's signals are nobody's again. */
    letGo(leadId: string): void {
      hideLead.run(leadId);
      remove.run(leadId);
    },
  };
}

function toSignal({ id, lead_id, wire, explanation }: SignalRow): PersonalSignal {
  return { id, leadId: lead_id, wire, explanation };
}
