import type { Database } from 'better-sqlite3';
import type { Signal } from '../../../model/signal.ts';
import { editedSignal } from '../../../rules/edited-signal.ts';
import { searchedFacts } from '../../../rules/searched-facts.ts';
import type { EditedSignal, NewSignal, OutdatedSignal, SignalEdit } from '../../signal-store.ts';
import { createCompanyObserver } from './companies.ts';
import { createEventWriter } from './events.ts';
import { createKnownSignals } from './known-signals.ts';
import { createLeadScore } from './lead-score.ts';
import { createSignalIndex } from './signal-index.ts';

interface StoredRow {
  wire: string;
  text: string;
  leadId: string | null;
}

/** Stored signals whose post its author has edited. */
export function createSignalEdits(db: Database) {
  // Of a feed's item the stored id is not the one that is shown: its edits are other posts of the feed.
  const selectOutdated = db.prepare<Record<string, unknown>[], OutdatedSignal>(
    `SELECT id, profile_id AS profileId, wire FROM signals INDEXED BY signals_by_external_id
     WHERE tenant_id = +:tenantId AND json_extract(wire, '$.external_id') = +:externalId AND external_id = +:externalId
       AND platform = :platform AND text <> :text`,
  );
  const select = db.prepare<Record<string, unknown>[], StoredRow>(
    `SELECT s.wire, s.text, l.lead_id AS leadId FROM signals s LEFT JOIN lead_signals l ON l.signal_id = s.id
     WHERE s.id = :id AND s.tenant_id = :tenantId AND s.external_id = :externalId`,
  );
  // The score is a part of `seq` (migration 006); its place in the millisecond stays its own.
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE signals SET seq = (seq >> 7 << 7) + CAST(:score AS INTEGER), signal_type = :signalType,
       classification = :classification, score = :score, company_domain = :companyDomain,
       canonical_url = coalesce(:canonicalUrl, canonical_url), wire = :wire, explanation = :explanation, text = :text
     WHERE id = :id`,
  );
  const moveFeedback = db.prepare<[string]>(
    `UPDATE signal_feedback SET seq = (SELECT seq FROM signals WHERE id = signal_id) WHERE signal_id = ?`,
  );
  const moveToEnd = db.prepare<[number, string]>(
    'UPDATE signal_positions SET moved_at = ? WHERE seq = (SELECT seq FROM signals WHERE id = ?)',
  );
  const insertPerson = db.prepare<[string, string, string]>(
    'INSERT OR IGNORE INTO signal_people (tenant_id, key, signal_id) VALUES (?, ?, ?)',
  );
  const selectToldHot = db
    .prepare<[string], number>(
      "SELECT 1 FROM events WHERE subject_id = ? AND type = 'signal.new_hot' LIMIT 1",
    )
    .pluck();
  const knownSignals = createKnownSignals(db);
  const index = createSignalIndex(db);
  const observeCompany = createCompanyObserver(db);
  const scoreLead = createLeadScore(db);
  const insertRouted = createEventWriter(db);

  function edit({ signal, now }: SignalEdit): EditedSignal {
    const { id, tenantId, externalId, personKeys, nearKeys, company, events, ...scored } = signal;
    const row = select.get({ id, tenantId, externalId });
    // Deleted or erased meanwhile, or edited so by another request.
    if (row === undefined || row.text === signal.text) {
      return { id, wire: row?.wire ?? null, isChanged: false, isHotNow: false };
    }
    const before = JSON.parse(row.wire) as Signal;
    const after = editedSignal(before, JSON.parse(signal.wire) as Signal);
    const wire = JSON.stringify(after);
    const { signalType, classification, score, canonicalUrl, explanation, text } = scored;
    const columns = { signalType, classification, score, canonicalUrl, explanation, text };
    knownSignals.forgetText(id);
    index.renew(id, () => update.run({ ...columns, companyDomain: after.company.domain, wire, id }));
    knownSignals.add({ id, nearKeys });
    moveFeedback.run(id);
    moveToEnd.run(now, id);
    for (const key of personKeys) insertPerson.run(tenantId, key, id);
    if (company !== null) observeCompany({ ...signal, facts: searchedFacts(after), wire }, company);
    if (row.leadId !== null) scoreLead(tenantId, row.leadId, now);
    const isHotNow =
      classification === 'hot' && before.classification !== 'hot' && selectToldHot.get(id) === undefined;
    if (isHotNow) events.forEach(insertRouted);
    return { id, wire, isChanged: true, isHotNow };
  }

  return {
    /** The stored signals of this post, of whatever profile, that have another text than it has now. */
    outdatedBy: ({ tenantId, platform, externalId, text }: NewSignal): OutdatedSignal[] =>
      externalId === null ? [] : selectOutdated.all({ tenantId, platform, externalId, text }),
    editSignals: (edits: SignalEdit[]): EditedSignal[] => edits.map(edit),
  };
}
