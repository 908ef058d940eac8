import { CLASSIFICATIONS } from '../../../model/constants.ts';
import type { LeadStatements } from '../../changes/lead-rows.ts';
import type { Connection } from '../connection.ts';
import { leadReads } from '../reads/leads.ts';
import { type Async, changed, count, rows, run, value, values } from './prepared.ts';

export function leadsSql(db: Connection): Async<LeadStatements['leads']> {
  const { getLead, findIdentities } = leadReads(db);
  const selectWire = value<[string], string>(db, 'SELECT wire FROM signals WHERE id = ? FOR UPDATE');
  const updateWire = run<[string, string]>(db, 'UPDATE signals SET wire = ? WHERE id = ?');

  /** The signal's JSON with the lead's ID, or without: every response shows it. */
  function name(signalId: string, wire: string, leadId: string | null): string {
    // Parsed here, because posts may contain escapes that PostgreSQL rejects.
    const named = JSON.stringify({ ...JSON.parse(wire), lead_id: leadId });
    updateWire(named, signalId);
    return named;
  }

  return {
    insert: run(
      db,
      `INSERT INTO leads
         (id, tenant_id, stage, score, classification, company_domain, source, deal_currency, deal_amount, owner, next_due,
          created_at, version, wire)
       VALUES
         (:id, :tenantId, :stage, :score, :classification, :companyDomain, :source, :dealCurrency, :dealAmount, :owner,
          :nextDue, :createdAt, 1, :wire)`,
    ),
    update: run(
      db,
      `UPDATE leads SET stage = :stage, score = :score, classification = :classification,
              company_domain = :companyDomain, source = :source, deal_currency = :dealCurrency,
              deal_amount = :dealAmount, owner = :owner, next_due = :nextDue, version = version + 1, wire = :wire
       WHERE id = :id`,
    ),
    // The first lead with a name at a company keeps it: others with that name are distinguished by their addresses.
    insertIdentity: run(
      db,
      'INSERT INTO lead_identities (tenant_id, key, lead_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    ),
    deleteIdentities: run(db, 'DELETE FROM lead_identities WHERE lead_id = ?'),
    insertTag: run(db, 'INSERT INTO lead_tags (tenant_id, tag, created_at, lead_id) VALUES (?, ?, ?, ?)'),
    deleteTags: run(db, 'DELETE FROM lead_tags WHERE lead_id = ?'),
    insertWord: run(db, 'INSERT INTO lead_words (tenant_id, word, lead_id) VALUES (?, ?, ?)'),
    deleteWords: run(db, 'DELETE FROM lead_words WHERE lead_id = ?'),
    deleteMoves: count(
      db,
      `DELETE FROM stage_moves WHERE (lead_id, position) IN (
         SELECT lead_id, position FROM stage_moves WHERE lead_id = ? LIMIT ?)`,
    ),
    remove: run(db, 'DELETE FROM leads WHERE id = ?'),
    selectOwner: value(
      db,
      `SELECT coalesce(d.id, '') FROM signals s LEFT JOIN lead_signals l ON l.signal_id = s.id
       LEFT JOIN leads d ON d.id = l.lead_id WHERE s.id = ? AND s.tenant_id = ?`,
    ),
    // The signal may still be attached to a lead that is being erased.
    attachSignal: run(
      db,
      `INSERT INTO lead_signals (lead_id, signal_id, timestamp, score, classification)
       SELECT ?, id, timestamp, score, classification FROM signals WHERE id = ?
       ON CONFLICT (signal_id) DO UPDATE SET lead_id = excluded.lead_id`,
    ),
    async showLead(leadId, signalId) {
      const wire = await selectWire(signalId);
      return wire === undefined ? undefined : name(signalId, wire, leadId);
    },
    async hideLead(signalId, leadId) {
      const wire = await selectWire(signalId);
      if (wire !== undefined && JSON.parse(wire).lead_id === leadId) name(signalId, wire, null);
    },
    releaseSignals: values(
      db,
      `DELETE FROM lead_signals WHERE signal_id IN (SELECT signal_id FROM lead_signals WHERE lead_id = ? LIMIT ?)
       RETURNING signal_id`,
    ),
    selectBest: rows(
      db,
      `SELECT c.classification, b.score FROM unnest(ARRAY['${CLASSIFICATIONS.join("', '")}']) AS c (classification)
       CROSS JOIN LATERAL (SELECT score FROM lead_signals WHERE lead_id = ? AND classification = c.classification
                           ORDER BY score DESC LIMIT 1) b`,
    ),
    selectNewest: value(
      db,
      'SELECT timestamp FROM lead_signals WHERE lead_id = ? ORDER BY timestamp DESC LIMIT 1',
    ),
    rescoreSignal: run(db, 'UPDATE lead_signals SET score = ?, classification = ? WHERE signal_id = ?'),
    insertMove: run(
      db,
      `INSERT INTO stage_moves
         (lead_id, position, previous, current, reason, actor_id, actor_name, moved_at, stayed_ms)
       SELECT :leadId, coalesce(max(position), 0) + 1, :previous, :current, :reason, :actorId, :actorName,
              :movedAt::bigint, :stayedMs::bigint
       FROM stage_moves WHERE lead_id = :leadId`,
    ),
    forgetDays: run(db, 'DELETE FROM enrichment_days WHERE day < ?'),
    countDay: changed(
      db,
      `INSERT INTO enrichment_days (day, asked) VALUES (:day, 1)
       ON CONFLICT (day) DO UPDATE SET asked = enrichment_days.asked + 1 WHERE enrichment_days.asked < :limit`,
    ),
    getLead,
    findIdentities,
  };
}
