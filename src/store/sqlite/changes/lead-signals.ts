import type { Database } from 'better-sqlite3';

/** Giving signals to leads and taking them back: parts of changes. */
export function createLeadSignals(db: Database) {
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
  const hideLead = db.prepare<[string, string]>(
    "UPDATE signals SET wire = json_set(wire, '$.lead_id', NULL) WHERE id = ? AND wire ->> '$.lead_id' = ?",
  );
  const remove = db
    .prepare<[string], string>('DELETE FROM lead_signals WHERE lead_id = ? RETURNING signal_id')
    .pluck();

  return {
    /** Whether a lead may have the signal: it is the tenant's, and no lead's yet. */
    isFree: (tenantId: string, signalId: string): boolean => selectOwner.get(signalId, tenantId) === '',
    /** Returns the signal's JSON, which now names the lead. */
    attach(leadId: string, signalId: string): string {
      insert.run(leadId, signalId);
      return showLead.get(leadId, signalId) ?? '';
    },
    /** The lead's signals are nobody's again, though their JSON still names it. Returns their ids. */
    letGo: (leadId: string): string[] => remove.all(leadId),
    /** A signal's JSON no longer names the lead, where it is not another's by now. */
    hideLead(signalId: string, leadId: string): void {
      hideLead.run(signalId, leadId);
    },
  };
}
