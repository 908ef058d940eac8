import type { Database } from 'better-sqlite3';
import type { CompanyStatements, StoredCompany } from '../../changes/companies.ts';
import type { SignalStatements } from '../../changes/signals.ts';
import { WIRE_WITHOUT_FACTS } from '../../search-cost.ts';
import { ACTIVE_COMPANIES } from '../reads/companies.ts';
import { OF_LIVE_PROFILE, ofPlatform, VIEWS } from '../reads/signals.ts';
import { createSignalIndex } from '../signal-index.ts';
import type { Table } from '../table.ts';
import { changed, count, row, rows, run, value, values } from './prepared.ts';

export function signalsSql(db: Database): SignalStatements['signals'] {
  const index = createSignalIndex(db);
  // `seq` takes the next free number of its millisecond; if there is none, the table's CHECK fails instead of changing the
  // order of others. The cast is needed because numbers are bound as floating point, which would round the sum.
  const insertRow = run<[Record<string, unknown>]>(
    db,
    `INSERT INTO signals
       (seq, id, tenant_id, profile_id, platform, signal_type, classification, score, timestamp, company_domain,
        external_id, canonical_url, wire, explanation, text)
     VALUES
       ((:timestamp << 21)
          + (ifnull((SELECT (max(seq) >> 7) & 16383 FROM signals
                     WHERE seq >= :timestamp << 21 AND seq < (:timestamp + 1) << 21) + 1, 0) << 7)
          + CAST(:score AS INTEGER),
        :id, :tenantId, :profileId, :platform, :signalType, :classification, :score, :timestamp, :companyDomain,
        :externalId, :canonicalUrl, :wire, :explanation, :text)`,
  );
  // Without RETURNING, which would make SQLite copy each page that the statement changes.
  const countRow = run<[Record<string, unknown>]>(
    db,
    `UPDATE stored_rows SET signals = signals + 1, position = max(position + 1, CAST(:timestamp AS INTEGER) << 10)
     WHERE tenant_id = :tenantId`,
  );
  // Its `seq` does not fit a JavaScript number, and is the rowid of both tables.
  const insertPosition = run<[Record<string, unknown>]>(
    db,
    `INSERT INTO signal_positions (seq, tenant_id, position)
     VALUES (last_insert_rowid(), :tenantId, (SELECT position FROM stored_rows WHERE tenant_id = :tenantId))`,
  );
  const countDay = run<[Record<string, unknown>]>(
    db,
    `INSERT INTO signal_days (tenant_id, day, profile_id, scores, classification, count)
     VALUES (:tenantId, CAST(:timestamp AS INTEGER) / 86400000, :profileId, CAST(:score AS INTEGER) / 5, :classification, 1)
     ON CONFLICT DO UPDATE SET count = count + 1`,
  );
  return {
    askForLesson: run(
      db,
      `INSERT INTO profile_lessons (profile_id, tenant_id)
       SELECT profile_id, tenant_id FROM signals WHERE id = ? AND tenant_id = ?
       ON CONFLICT (profile_id) DO UPDATE SET asked = asked + 1`,
    ),
    saveFeedback: changed(
      db,
      `INSERT INTO signal_feedback (signal_id, relevant, reason, actor_id, created_at, profile_id, seq)
     SELECT id, :relevant, :reason, :actorId, :createdAt, profile_id, seq FROM signals WHERE id = :signalId AND tenant_id = :tenantId
     ON CONFLICT (signal_id) DO UPDATE SET
       relevant = excluded.relevant, reason = excluded.reason, actor_id = excluded.actor_id,
       created_at = excluded.created_at`,
    ),
    selectRelevant: value(db, 'SELECT relevant FROM signal_feedback WHERE signal_id = ?'),
    countRelevant: run(
      db,
      `UPDATE sources SET items_relevant = items_relevant + ?
     WHERE id = (SELECT source_id FROM source_signals WHERE signal_id = ?)`,
    ),
    addTriage: run(
      db,
      `INSERT INTO signal_triage (seq, tenant_id)
       SELECT s.seq, s.tenant_id FROM json_each(?) j CROSS JOIN signals s ON s.id = j.value WHERE s.tenant_id = +?
       ON CONFLICT (seq) DO NOTHING`,
    ),
    updateTriage: count(
      db,
      `UPDATE signal_triage SET assignee = ifnull(:assignee, assignee), is_lead = max(is_lead, :adds),
         snoozed_until = CASE WHEN :snoozes THEN CAST(:snoozedUntil AS INTEGER) ELSE snoozed_until END
       WHERE seq IN (
         SELECT s.seq FROM json_each(:ids) j CROSS JOIN signals s ON s.id = j.value WHERE s.tenant_id = +:tenantId)`,
    ),
    reopen: run(
      db,
      'UPDATE signal_triage SET is_lead = 0 WHERE seq = (SELECT seq FROM signals WHERE id = ?)',
    ),
    saveView: VIEWS.insert(db, 'ON CONFLICT (tenant_id, name) DO UPDATE SET query = excluded.query'),
    deleteView: changed(db, 'DELETE FROM signal_views WHERE id = ? AND tenant_id = ?'),
    saveReplyTemplate: run(
      db,
      `INSERT INTO reply_templates (tenant_id, template) VALUES (?, ?)
       ON CONFLICT (tenant_id) DO UPDATE SET template = excluded.template`,
    ),
    pruneNearKeys: count(
      db,
      `DELETE FROM signal_near_keys WHERE (key, seq) IN (
       SELECT key, seq FROM signal_near_keys INDEXED BY signal_near_keys_by_seq
       WHERE seq < CAST(? AS INTEGER) << 21 ORDER BY seq LIMIT ?)`,
    ),
    insert(signal) {
      insertRow(signal);
      countRow(signal);
      insertPosition(signal);
      if (signal.platform !== 'sample') countDay(signal); // charts do not show samples
    },
    insertAuthor: run(db, 'INSERT INTO signal_people (tenant_id, key, signal_id) VALUES (?, ?, ?)'),
    // For items of feeds, the stored ID differs from the shown one: their edits are other posts of the feed.
    selectOutdated: rows(
      db,
      `SELECT id, profile_id AS profileId,
       octet_length(text) + max(0, octet_length(wire) - ${WIRE_WITHOUT_FACTS}) AS searchedBytes
     FROM signals INDEXED BY signals_by_external_id
     WHERE tenant_id = +:tenantId AND json_extract(wire, '$.external_id') = +:externalId AND external_id = +:externalId
       AND platform = :platform AND text <> :text AND ${OF_LIVE_PROFILE}`,
    ),
    selectEdited: row(
      db,
      `SELECT s.wire, s.text, l.lead_id AS leadId FROM signals s LEFT JOIN lead_signals l ON l.signal_id = s.id
     WHERE s.id = :id AND s.tenant_id = :tenantId AND s.external_id = :externalId`,
    ),
    // The score is part of `seq` (migration 006); the number within the millisecond stays.
    updateEdited: run(
      db,
      `UPDATE signals SET seq = (seq >> 7 << 7) + CAST(:score AS INTEGER), signal_type = :signalType,
       classification = :classification, score = :score, company_domain = :companyDomain,
       canonical_url = coalesce(:canonicalUrl, canonical_url), wire = :wire, explanation = :explanation, text = :text
     WHERE id = :id`,
    ),
    moveFeedback: run(
      db,
      `UPDATE signal_feedback SET seq = (SELECT seq FROM signals WHERE id = signal_id) WHERE signal_id = ?`,
    ),
    moveToEnd: run(
      db,
      'UPDATE signal_positions SET moved_at = ? WHERE seq = (SELECT seq FROM signals WHERE id = ?)',
    ),
    selectToldHot: value(db, "SELECT 1 FROM events WHERE subject_id = ? AND type = 'signal.new_hot' LIMIT 1"),
    selectOfPlatform: values(
      db,
      `${ofPlatform('s.id')} AND NOT EXISTS (SELECT 1 FROM lead_signals l WHERE l.signal_id = s.id)`,
    ),
    selectOwn: value(db, 'SELECT id FROM signals WHERE id = ? AND tenant_id = ?'),
    removeFeedback: run(db, 'DELETE FROM signal_feedback WHERE signal_id = ?'),
    countIrrelevant: run(
      db,
      `UPDATE sources SET items_relevant = items_relevant - 1
     WHERE id = (SELECT s.source_id FROM source_signals s JOIN signal_feedback f ON f.signal_id = s.signal_id AND f.relevant
                 WHERE s.signal_id = ?)`,
    ),
    removePeople: run(db, 'DELETE FROM signal_people WHERE signal_id = ?'),
    leave: value(db, 'DELETE FROM lead_signals WHERE signal_id = ? RETURNING lead_id'),
    remove: run(db, 'DELETE FROM signals WHERE id = ?'),
    enterIndex: index.add,
    leaveIndex: index.remove,
    leaveIndexPartly: index.removeSome,
    selectStalled: value(
      db,
      'SELECT s.id FROM signal_search_leaving l CROSS JOIN signals s ON s.seq = l.seq WHERE l.is_stalled LIMIT 1',
    ),
    markStalled: run(
      db,
      `UPDATE signal_search_leaving SET is_stalled = 1
     WHERE seq = ifnull((SELECT seq FROM signals WHERE id = ?), seq)`,
    ),
    enterIndexAsInserted: index.addInserted,
  };
}

const STORED: Table<StoredCompany> = ACTIVE_COMPANIES.with<{ search: string; industry: string }>({
  search: 'plain',
  industry: 'plain',
});

export function companiesSql(db: Database): CompanyStatements['companies'] {
  const update = changed<Record<string, unknown>[]>(
    db,
    `UPDATE companies SET search = :search, industry = :industry, facts = :facts, updated_at = :updatedAt,
            version = :version
     WHERE id = :id AND tenant_id = :tenantId AND version = :expectedVersion`,
  );
  return {
    updateCompany: (company, expectedVersion) => update({ ...STORED.encode(company), expectedVersion }),
    setActive: run(db, 'UPDATE companies SET active_at = ? WHERE id = ?'),
    insertCompany: STORED.insert(db, 'ON CONFLICT DO NOTHING'),
    selectByDomain: ACTIVE_COMPANIES.select(db, 'WHERE domain = ? AND tenant_id = ?').get,
  };
}
