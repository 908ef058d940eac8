import type { Database } from 'better-sqlite3';
import { fromIso } from '../../../lib/clock.ts';
import type { Lead } from '../../../model/lead.ts';
import { dealStatusIn } from '../../../model/pipeline.ts';
import { leadWords } from '../../../rules/words.ts';

/** What is filtered, sorted and summed beside a lead's JSON. */
function columnsOf(lead: Lead) {
  return {
    id: lead.id,
    stage: lead.stage,
    score: lead.icp_score ?? -1,
    classification: lead.classification ?? '',
    companyDomain: lead.company.domain,
    source: lead.source.toLowerCase(),
    dealCurrency: lead.deal?.currency ?? null,
    dealAmount: lead.deal?.amount_minor ?? null,
    owner: lead.owner,
    nextDue: dealStatusIn(lead.stage) === 'open' ? (lead.next_step?.due_date ?? null) : null,
    wire: JSON.stringify(lead),
  };
}

/** A lead with its identities, tags and words: parts of changes. */
export function createLeadRow(db: Database) {
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO leads
       (id, tenant_id, stage, score, classification, company_domain, source, deal_currency, deal_amount, owner, next_due,
        created_at, version, wire)
     VALUES
       (:id, :tenantId, :stage, :score, :classification, :companyDomain, :source, :dealCurrency, :dealAmount, :owner,
        :nextDue, :createdAt, 1, :wire)`,
  );
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE leads SET stage = :stage, score = :score, classification = :classification,
            company_domain = :companyDomain, source = :source, deal_currency = :dealCurrency,
            deal_amount = :dealAmount, owner = :owner, next_due = :nextDue, version = version + 1, wire = :wire
     WHERE id = :id`,
  );
  // The first lead that bears a name at a company keeps it: others of that name are told apart by their addresses.
  const insertIdentity = db.prepare<[string, string, string]>(
    'INSERT INTO lead_identities (tenant_id, key, lead_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const deleteIdentities = db.prepare<[string]>('DELETE FROM lead_identities WHERE lead_id = ?');
  const insertTag = db.prepare<[string, string, number, string]>(
    'INSERT INTO lead_tags (tenant_id, tag, created_at, lead_id) VALUES (?, ?, ?, ?)',
  );
  const deleteTags = db.prepare<[string]>('DELETE FROM lead_tags WHERE lead_id = ?');
  const insertWord = db.prepare<[string, string, string]>(
    'INSERT INTO lead_words (tenant_id, word, lead_id) VALUES (?, ?, ?)',
  );
  const deleteWords = db.prepare<[string]>('DELETE FROM lead_words WHERE lead_id = ?');
  const deleteMoves = db.prepare<[string]>('DELETE FROM stage_moves WHERE lead_id = ?');
  const remove = db.prepare<[string]>('DELETE FROM leads WHERE id = ?');

  return {
    insert(tenantId: string, lead: Lead): void {
      insert.run({ ...columnsOf(lead), tenantId, createdAt: fromIso(lead.created_at) });
    },
    update(lead: Lead): void {
      update.run(columnsOf(lead));
    },
    setIdentities(tenantId: string, leadId: string, keys: readonly string[]): void {
      deleteIdentities.run(leadId);
      for (const key of keys) insertIdentity.run(tenantId, key, leadId);
    },
    setTags(tenantId: string, lead: Lead): void {
      deleteTags.run(lead.id);
      const createdAt = fromIso(lead.created_at);
      for (const tag of lead.tags) insertTag.run(tenantId, tag.toLowerCase(), createdAt, lead.id);
    },
    setWords(tenantId: string, lead: Lead): void {
      deleteWords.run(lead.id);
      for (const word of leadWords(lead)) insertWord.run(tenantId, word, lead.id);
    },
    /** With its history; its signals must be let go of before. */
    remove(leadId: string): void {
      for (const part of [deleteIdentities, deleteTags, deleteWords, deleteMoves, remove]) part.run(leadId);
    },
  };
}
