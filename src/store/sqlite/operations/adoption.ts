import type { Database } from 'better-sqlite3';
import { toIso } from '../../../lib/clock.ts';
import { attachSignals } from '../../../model/lead-score.ts';
import type { Signal } from '../../../model/signal.ts';
import type { NewSignal } from '../../signal-store.ts';
import { createLeadSignalSql } from '../tables/lead-signals.ts';
import { createLeadSql } from '../tables/leads.ts';

/**
 * Gives a signal that was just stored to the lead whose author it is, and the lead its score: part of the change that
 * stores it. Returns the signal's JSON as it then is. Where its keys are those of two leads, it stays nobody's.
 */
export function createAdoption(db: Database): (signal: NewSignal) => string {
  const leads = createLeadSql(db);
  const leadSignals = createLeadSignalSql(db);

  return ({ id, tenantId, personKeys, timestamp, wire }) => {
    const ids = new Set(
      personKeys.map((key) => leads.holder(tenantId, key).leadId).filter((id) => id !== null),
    );
    const [leadId] = ids;
    const stored = leadId === undefined || ids.size > 1 ? null : leads.get(tenantId, leadId);
    if (stored === null) return wire;
    const lead = attachSignals(stored.lead, [JSON.parse(wire) as Signal]);
    leads.update({ ...lead, updated_at: toIso(timestamp) });
    return leadSignals.attach(lead.id, id);
  };
}
