import type { Database } from 'better-sqlite3';
import { toIso } from '../../../lib/clock.ts';
import { attachSignals } from '../../../model/lead-score.ts';
import type { Signal } from '../../../model/signal.ts';
import type { NewSignal } from '../../signal-store.ts';
import { leadReads } from '../reads/leads.ts';
import { createLeadRow } from './lead-row.ts';
import { createLeadSignals } from './lead-signals.ts';

/**
 * Gives a signal that was just stored to the lead whose author it is, and the lead its score: part of the change that
 * stores it. Returns the signal's JSON as it then is. Where its keys are those of two leads, it stays nobody's.
 */
export function createAdoption(db: Database): (signal: NewSignal) => string {
  const { findIdentities, getLead } = leadReads(db);
  const leadRow = createLeadRow(db);
  const leadSignals = createLeadSignals(db);

  return ({ id, tenantId, personKeys, timestamp, wire }) => {
    const holders = findIdentities(tenantId, personKeys).map(({ leadId }) => leadId);
    const ids = new Set(holders.filter((leadId) => leadId !== null));
    const [leadId] = ids;
    const stored = leadId === undefined || ids.size > 1 ? null : getLead(tenantId, leadId);
    if (stored === null) return wire;
    const lead = attachSignals(stored.lead, [JSON.parse(wire) as Signal]);
    leadRow.update({ ...lead, updated_at: toIso(timestamp) });
    return leadSignals.attach(lead.id, id);
  };
}
