import { searchedFacts } from '../../../rules/words.ts';
import type { CompanyStatements, StoredCompany } from '../../changes/companies.ts';
import { type KeySharer, type KnownSignalStatements, MAX_COMPARED } from '../../changes/known-signals.ts';
import type { SignalStatements } from '../../changes/signals.ts';
import { WIRE_WITHOUT_FACTS } from '../../search-cost.ts';
import type { Connection } from '../connection.ts';
import { wordsVector } from '../search-words.ts';
import { COMPANIES, type Table, VIEWS } from '../tables.ts';
import { type Async, changed, count, row, rows, run, value, values } from './prepared.ts';

/** Also of each profile. Without a limit, the plan seems so expensive that PostgreSQL compiles it, which takes 0.1 s. */
const OF_PLATFORM_AT_ONCE = 500;

/**
 * Whether a signal's profile was not deleted. The signals of deleted ones are not edited: 25 posts with 4,000 each, read whole for nothing, ended the
 * process.
 */
export const OF_LIVE_PROFILE =
  'EXISTS (SELECT 1 FROM icp_profiles p WHERE p.id = signals.profile_id AND p.deleted_at IS NULL)';

/**
 * Signals from a platform that have an external ID, by the index of each profile: to find that there are none, all signals of the
 * tenant were read, 0.13 s for 300,000.
 */
export function ofPlatform(columns: string, condition = ''): string {
  return `SELECT ${columns} FROM icp_profiles p CROSS JOIN LATERAL (
      SELECT s.id FROM signals s
      WHERE s.tenant_id = p.tenant_id AND s.profile_id = p.id AND s.platform = :platform AND s.external_id IS NOT NULL ${condition}
      ORDER BY s.external_id LIMIT ${OF_PLATFORM_AT_ONCE}) s
    WHERE p.tenant_id = :tenantId`;
}

export function signalsSql(db: Connection): Async<SignalStatements['signals']> {
  const addTriage = run<[string[], string]>(
    db,
    `INSERT INTO signal_triage (seq, tenant_id)
     SELECT seq, tenant_id FROM signals WHERE id = ANY (?) AND tenant_id = ? ON CONFLICT (seq) DO NOTHING`,
  );
  const updateTriage = count<Record<string, unknown>[]>(
    db,
    `UPDATE signal_triage SET assignee = coalesce(:assignee, assignee), is_lead = is_lead OR :adds::int = 1,
       snoozed_until = CASE WHEN :snoozes::int = 1 THEN :snoozedUntil ELSE snoozed_until END
     WHERE seq IN (SELECT seq FROM signals WHERE id = ANY (:ids) AND tenant_id = :tenantId)`,
  );
  const selectOfPlatform = values<[Record<string, unknown>], string>(
    db,
    `${ofPlatform('s.id', 'AND NOT EXISTS (SELECT 1 FROM lead_signals l WHERE l.signal_id = s.id)')}
     LIMIT ${OF_PLATFORM_AT_ONCE}`,
  );
  const selectSearched = row<[string], { tenantId: string; text: string; wire: string }>(
    db,
    'SELECT tenant_id AS "tenantId", text, wire FROM signals WHERE id = ?',
  );
  const insertTerms = run<[string, string]>(
    db,
    'INSERT INTO signal_search (seq, terms) SELECT seq, ?::tsvector FROM signals WHERE id = ?',
  );
  return {
    askForLesson: run(
      db,
      `INSERT INTO profile_lessons (profile_id, tenant_id)
       SELECT profile_id, tenant_id FROM signals WHERE id = ? AND tenant_id = ?
       ON CONFLICT (profile_id) DO UPDATE SET asked = profile_lessons.asked + 1`,
    ),
    saveFeedback: changed(
      db,
      `INSERT INTO signal_feedback (signal_id, relevant, reason, actor_id, created_at, profile_id, seq)
       SELECT id, :relevant::boolean, :reason, :actorId, :createdAt::bigint, profile_id, seq FROM signals
       WHERE id = :signalId AND tenant_id = :tenantId
       ON CONFLICT (signal_id) DO UPDATE SET
         relevant = excluded.relevant, reason = excluded.reason, actor_id = excluded.actor_id,
         created_at = excluded.created_at`,
    ),
    selectRelevant: value(db, 'SELECT relevant::int FROM signal_feedback WHERE signal_id = ?'),
    countRelevant: run(
      db,
      `UPDATE sources SET items_relevant = items_relevant + ?
       WHERE id = (SELECT source_id FROM source_signals WHERE signal_id = ?)`,
    ),
    addTriage: (ids, tenantId) => addTriage(JSON.parse(ids), tenantId),
    updateTriage: (terms) => updateTriage({ ...terms, ids: JSON.parse(String(terms.ids)) }),
    reopen: run(
      db,
      'UPDATE signal_triage SET is_lead = false WHERE seq = (SELECT seq FROM signals WHERE id = ?)',
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
      `DELETE FROM signal_near_keys WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM signal_near_keys WHERE seq < ?::bigint << 21 ORDER BY seq LIMIT ?))`,
    ),
    insert: run(
      db,
      `INSERT INTO signals
         (seq, id, tenant_id, profile_id, platform, signal_type, classification, score, timestamp, company_domain,
          external_id, canonical_url, wire, explanation, text)
       VALUES
         ((:timestamp::bigint << 21) + (nextval('signal_order') << 7) + :score::bigint,
          :id, :tenantId, :profileId, :platform, :signalType, :classification, :score, :timestamp, :companyDomain,
          :externalId, :canonicalUrl, :wire, :explanation, :text)`,
    ),
    insertAuthor: run(db, 'INSERT INTO signal_people (tenant_id, key, signal_id) VALUES (?, ?, ?)'),
    // For items of feeds, the stored ID differs from the shown one: their edits are other posts of the feed. JSON is
    // not decoded in SQL, because posts may contain escapes that PostgreSQL rejects.
    selectOutdated: rows(
      db,
      `SELECT id, profile_id AS "profileId",
         octet_length(text) + greatest(0, octet_length(wire) - ${WIRE_WITHOUT_FACTS}) AS "searchedBytes"
       FROM signals
       WHERE tenant_id = :tenantId AND external_id = :externalId AND platform = :platform AND text <> :text AND ${OF_LIVE_PROFILE}
         AND strpos(wire, '"external_id":' || to_json(:externalId)) > 0`,
    ),
    selectEdited: row(
      db,
      `SELECT s.wire, s.text, l.lead_id AS "leadId" FROM signals s LEFT JOIN lead_signals l ON l.signal_id = s.id
       WHERE s.id = :id AND s.tenant_id = :tenantId AND s.external_id = :externalId`,
    ),
    // The score is part of `seq`; the number within the millisecond stays.
    updateEdited: run(
      db,
      `UPDATE signals SET seq = (seq >> 7 << 7) + :score::bigint, signal_type = :signalType,
         classification = :classification, score = :score, company_domain = :companyDomain,
         canonical_url = coalesce(:canonicalUrl, canonical_url), wire = :wire, explanation = :explanation, text = :text
       WHERE id = :id`,
    ),
    moveFeedback: run(
      db,
      'UPDATE signal_feedback SET seq = (SELECT seq FROM signals WHERE id = signal_id) WHERE signal_id = ?',
    ),
    moveToEnd: run(
      db,
      'UPDATE signal_positions SET moved_at = ? WHERE seq = (SELECT seq FROM signals WHERE id = ?)',
    ),
    selectToldHot: value(db, "SELECT 1 FROM events WHERE subject_id = ? AND type = 'signal.new_hot' LIMIT 1"),
    selectOfPlatform: (tenantId, platform) => selectOfPlatform({ tenantId, platform }),
    selectOwn: value(db, 'SELECT id FROM signals WHERE id = ? AND tenant_id = ?'),
    removeFeedback: run(db, 'DELETE FROM signal_feedback WHERE signal_id = ?'),
    countIrrelevant: run(
      db,
      `UPDATE sources SET items_relevant = items_relevant - 1
       WHERE id = (SELECT s.source_id FROM source_signals s
                     JOIN signal_feedback f ON f.signal_id = s.signal_id AND f.relevant
                   WHERE s.signal_id = ?)`,
    ),
    removePeople: run(db, 'DELETE FROM signal_people WHERE signal_id = ?'),
    leave: value(db, 'DELETE FROM lead_signals WHERE signal_id = ? RETURNING lead_id'),
    remove: run(db, 'DELETE FROM signals WHERE id = ?'),
    async enterIndex(id) {
      const found = await selectSearched(id);
      if (found === undefined) return;
      const { tenantId, text, wire } = found;
      insertTerms(wordsVector(tenantId, [text, ...searchedFacts(JSON.parse(wire))]), id);
    },
    // A row of the index is deleted at once, however many words it has.
    leaveIndexPartly: async () => false,
    selectStalled: async () => undefined,
    markStalled: async () => {},
    leaveIndex: run(db, 'DELETE FROM signal_search WHERE seq = (SELECT seq FROM signals WHERE id = ?)'),
    enterIndexAsInserted({ id, tenantId, text, facts }) {
      insertTerms(wordsVector(tenantId, [text, ...facts]), id);
    },
  };
}

const AT_PLACE = 'tenant_id = :tenantId AND profile_id = :profileId AND platform = :platform';
const OF_URL = 'md5(canonical_url) = md5(:canonicalUrl) AND canonical_url = :canonicalUrl';

function atPlace(condition: string): string {
  return `SELECT id, wire FROM signals WHERE id = coalesce(
     (SELECT id FROM signals WHERE ${AT_PLACE} AND ${condition} ORDER BY seq LIMIT 1),
     (SELECT signal_id FROM signal_places WHERE ${AT_PLACE} AND ${condition} LIMIT 1))`;
}

export function knownSignalsSql(db: Connection): Async<KnownSignalStatements['knownSignals']> {
  const selectSharers = rows<Record<string, unknown>[], KeySharer>(
    db,
    `SELECT n.place, s.id, n.keys
     FROM (SELECT k.place, newest.seq, count(*) AS keys,
             row_number() OVER (PARTITION BY k.place ORDER BY count(*) DESC, newest.seq DESC) AS rank
           FROM unnest(:keys::bigint[], :places::int[], :times::bigint[]) k (key, place, since) CROSS JOIN LATERAL (
             SELECT n.seq FROM signal_near_keys n WHERE n.key = k.key AND n.seq >= k.since << 21
             ORDER BY n.seq DESC LIMIT ${MAX_COMPARED}) newest
           GROUP BY k.place, newest.seq) n
       JOIN signals s ON s.seq = n.seq
     WHERE n.rank <= ${MAX_COMPARED} AND s.tenant_id = (:tenantIds::text[])[n.place + 1]
       AND s.profile_id = (:profileIds::text[])[n.place + 1]
     ORDER BY n.place, n.rank`,
  );
  return {
    findByExternalId: row(db, atPlace('external_id = :externalId')),
    findByUrl: row(db, atPlace(`${OF_URL} AND (external_id IS NULL OR :externalId::text IS NULL)`)),
    findNear(texts) {
      const keys = texts.flatMap(({ nearKeys, ...terms }, place) =>
        nearKeys.map((key) => ({ key, place, ...terms })),
      );
      return selectSharers({
        keys: keys.map(({ key }) => key),
        places: keys.map(({ place }) => place),
        times: keys.map(({ since }) => since),
        tenantIds: texts.map(({ tenantId }) => tenantId),
        profileIds: texts.map(({ profileId }) => profileId),
      });
    },
    selectNear: rows(
      db,
      `SELECT id, wire, text, timestamp FROM signals JOIN unnest(?::text[]) WITH ORDINALITY AS wanted (id, place) USING (id)
       ORDER BY place`,
    ),
    insertKeys: run(
      db,
      `INSERT INTO signal_near_keys (key, seq) SELECT key, seq FROM unnest(?::bigint[]) key, signals WHERE id = ?
       ON CONFLICT DO NOTHING`,
    ),
    deleteKey: run(
      db,
      'DELETE FROM signal_near_keys WHERE key = ? AND seq = (SELECT seq FROM signals WHERE id = ?)',
    ),
    selectText: row(
      db,
      'SELECT tenant_id AS "tenantId", profile_id AS "profileId", text FROM signals WHERE id = ?',
    ),
    insertPlace: run(
      db,
      `INSERT INTO signal_places (signal_id, position, tenant_id, profile_id, platform, external_id, canonical_url)
       SELECT :signalId, count(*), :tenantId, :profileId, :platform, :externalId, :canonicalUrl
       FROM signal_places WHERE signal_id = :signalId`,
    ),
    deletePlaces: run(db, 'DELETE FROM signal_places WHERE signal_id = ?'),
    updateWire: run(db, 'UPDATE signals SET wire = ? WHERE id = ?'),
    insertPerson: run(
      db,
      'INSERT INTO signal_people (tenant_id, key, signal_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    ),
  };
}

const STORED: Table<StoredCompany> = COMPANIES.with<{ search: string; industry: string }>({
  search: 'plain',
  industry: 'plain',
});

export function companiesSql(db: Connection): Async<CompanyStatements['companies']> {
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
    selectByDomain: COMPANIES.select<[string, string]>(db, 'WHERE domain = ? AND tenant_id = ?').get,
  };
}
