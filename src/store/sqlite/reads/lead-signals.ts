import type { Database } from 'better-sqlite3';
import type { LeadStore, PersonalSignal } from '../../lead-store.ts';
import type { Part } from '../../store.ts';

interface SignalRow {
  id: string;
  lead_id: string | null;
  wire: string;
  explanation: string;
  keys: string;
}

/** Which signals are whose: of a lead, and of a person before there is one. */
/** All keys of its author, those of its other places included. */
const KEYS = '(SELECT json_group_array(key) FROM signal_people WHERE signal_id = s.id) AS keys';

export function leadSignalReads(db: Database) {
  // CROSS: from the ids to their rows; SQLite would rather look through all signals of the tenant for them.
  const selectSome = db.prepare<[string, string], SignalRow>(
    `SELECT s.id, l.lead_id, s.wire, ${KEYS} FROM json_each(?) j CROSS JOIN signals s ON s.id = j.value
     LEFT JOIN lead_signals l ON l.signal_id = s.id WHERE s.tenant_id = ?`,
  );
  const selectOfPerson = db.prepare<[string, string], SignalRow>(
    `SELECT DISTINCT s.id, l.lead_id, s.wire, s.explanation, ${KEYS}
     FROM signal_people p JOIN signals s ON s.id = p.signal_id LEFT JOIN lead_signals l ON l.signal_id = s.id
     WHERE p.tenant_id = ? AND p.key IN (SELECT value FROM json_each(?)) ORDER BY s.timestamp DESC, s.id`,
  );
  const selectBest = db.prepare<[string, number], { wire: string; explanation: string }>(
    `SELECT s.wire, s.explanation FROM lead_signals l JOIN signals s ON s.id = l.signal_id
     WHERE l.lead_id = ? ORDER BY s.score DESC, s.timestamp DESC, s.id LIMIT ?`,
  );
  const selectAll = db.prepare<[string], SignalRow>(
    `SELECT s.id, l.lead_id, s.wire, s.explanation, ${KEYS} FROM lead_signals l JOIN signals s ON s.id = l.signal_id
     WHERE l.lead_id = ?`,
  );

  return {
    findLeadSignals: (tenantId, ids) => selectSome.all(JSON.stringify(ids), tenantId).map(toSignal),
    findSignalsOfPerson: (tenantId, keys) => selectOfPerson.all(tenantId, JSON.stringify(keys)).map(toSignal),
    listSignalsOfLead: (leadId, limit) =>
      selectBest
        .all(leadId, limit)
        .map(({ wire, explanation }) => `${wire.slice(0, -1)},"explanation":${explanation}}`),
    listPersonalSignals: (leadId) => selectAll.all(leadId).map(toSignal),
  } satisfies Part<LeadStore>;
}

function toSignal({ id, lead_id, wire, explanation, keys }: SignalRow): PersonalSignal {
  return { id, leadId: lead_id, wire, explanation, keys: JSON.parse(keys) as string[] };
}
