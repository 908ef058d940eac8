import { holdsPhrases, phrasesOf, searchedFacts } from '../../../rules/words.ts';
import { createKnownSignalSearch } from '../../changes/known-signals.ts';
import type { StoreStatements } from '../../changes.ts';
import type { DeliveryLogStore } from '../../delivery-log-store.ts';
import type { LeadStore } from '../../lead-store.ts';
import type { NamedParameters } from '../../pages.ts';
import { WIRE_WITHOUT_FACTS } from '../../search-cost.ts';
import type {
  Judgement,
  OutdatedSignal,
  SignalDay,
  SignalDetail,
  SignalFeedback,
  SignalStore,
  StoredDuplicate,
  StoredPost,
  StoredSignalQuery,
} from '../../signal-store.ts';
import type { Connection } from '../connection.ts';
import { answeredLater, createScriptRunner } from '../runner.ts';
import { row, rows, value, values } from '../sql/prepared.ts';
import { OF_LIVE_PROFILE, ofPlatform } from '../sql/signals.ts';
import { Table, VIEWS } from '../tables.ts';
import { createStoredOrder } from './events.ts';
import { createProfileResolver } from './profiles.ts';

const FEEDBACK = new Table<SignalFeedback>('signal_feedback f JOIN signals s ON s.id = f.signal_id', {
  ...{ tenantId: 'plain', signalId: 'plain', relevant: 'plain', reason: 'plain', actorId: 'plain' },
  createdAt: 'plain',
});

const JUDGEMENTS = new Table<Judgement>(
  'signal_feedback f JOIN signals s ON s.id = f.signal_id',
  {
    ...{ signalId: 'plain', score: 'plain', classification: 'plain', relevant: 'plain', createdAt: 'plain' },
    textBytes: 'plain',
  },
  { createdAt: 'f.created_at', textBytes: 'octet_length(s.text)' },
);

const POSTS = new Table<StoredPost>(
  'signals s LEFT JOIN signal_feedback f ON f.signal_id = s.id',
  {
    ...{ id: 'plain', profileId: 'plain', platform: 'plain', externalId: 'plain', canonicalUrl: 'plain' },
    ...{ score: 'plain', classification: 'plain', wire: 'plain', text: 'plain', relevant: 'plain' },
  },
  { profileId: 's.profile_id' },
);

/** Signals, and their feedback and triage. */
export function signalReads(db: Connection) {
  const selectOne = row<[string, string], SignalDetail>(
    db,
    'SELECT wire, explanation, text FROM signals WHERE id = ? AND tenant_id = ?',
  );
  const selectFeedback = FEEDBACK.select<[string, string]>(db, 'WHERE f.signal_id = ? AND s.tenant_id = ?');
  const selectPosts = POSTS.select<[string, number]>(db, 'WHERE s.tenant_id = ? ORDER BY s.seq DESC LIMIT ?');
  const selectJudged = JUDGEMENTS.select<[string, string, number]>(
    db,
    'WHERE f.profile_id = ? AND s.tenant_id = ? ORDER BY f.seq DESC LIMIT ?',
  );
  const selectOfPlatform = value<[NamedParameters], number>(db, `${ofPlatform('1')} LIMIT 1`);
  // Excludes signals whose post was edited: their score is that of another text.
  const selectScore = row<[NamedParameters], StoredDuplicate>(
    db,
    `SELECT id, score FROM signals
     WHERE id = :id AND NOT coalesce(external_id = :externalId AND text <> :text, false)`,
  );
  const selectDays = rows<[string, string], SignalDay>(
    db,
    `SELECT to_char('epoch'::timestamp + day * interval '1 day', 'YYYY-MM-DD') AS day,
            coalesce(sum(count) FILTER (WHERE classification = 'hot'), 0)::bigint AS hot,
            coalesce(sum(count) FILTER (WHERE classification = 'warm'), 0)::bigint AS warm
     FROM signal_days WHERE tenant_id = ? AND day >= extract(epoch FROM ?::timestamp) / 86400
     GROUP BY signal_days.day HAVING sum(count) > 0 ORDER BY signal_days.day`,
  );
  const selectScores = rows<[NamedParameters], { score: number; count: number }>(
    db,
    `SELECT scores * 5 AS score, sum(count)::bigint AS count FROM signal_days
     WHERE tenant_id = :tenantId AND profile_id = :profileId
       AND day = ANY (SELECT (extract(epoch FROM asked::timestamp) / 86400)::bigint FROM unnest(:days::text[]) asked)
     GROUP BY scores HAVING sum(count) > 0 ORDER BY scores`,
  );
  const countJudged = value<[NamedParameters], number>(
    db,
    `SELECT count(*) FROM (
       SELECT 1 FROM icp_profiles p JOIN signal_feedback f ON f.profile_id = p.id AND f.seq >= :since::bigint << 21
       WHERE p.tenant_id = :tenantId LIMIT :most) judged`,
  );
  const selectTriage = rows<
    [readonly string[], string],
    Awaited<ReturnType<SignalStore['listTriage']>>[number]
  >(
    db,
    `SELECT s.id AS "signalId", f.relevant, coalesce(x.assignee, '') AS assignee, x.snoozed_until AS "snoozedUntil"
     FROM unnest(?::text[]) WITH ORDINALITY j (id, place) JOIN signals s ON s.id = j.id
       LEFT JOIN signal_feedback f ON f.signal_id = s.id LEFT JOIN signal_triage x ON x.seq = s.seq
     WHERE s.tenant_id = ? ORDER BY j.place`,
  );
  const selectTemplate = value<[string], string>(
    db,
    'SELECT template FROM reply_templates WHERE tenant_id = ?',
  );
  const selectPosition = value<[string], number>(db, 'SELECT position FROM stored_rows WHERE tenant_id = ?');
  // JSON is not decoded in SQL, because posts may contain escapes that PostgreSQL rejects.
  const selectOutdated = rows<[NamedParameters], OutdatedSignal>(
    db,
    `SELECT id, profile_id AS "profileId",
         octet_length(text) + greatest(0, octet_length(wire) - ${WIRE_WITHOUT_FACTS}) AS "searchedBytes"
       FROM signals
     WHERE tenant_id = :tenantId AND strpos(wire, '"external_id":' || to_json(:shownId::text)) > 0
       AND external_id = :externalId AND platform = :platform AND text <> :text AND ${OF_LIVE_PROFILE}`,
  );
  const findKnown = createKnownSignalSearch(answeredLater<StoreStatements>());
  const run = createScriptRunner(db);

  return {
    getSignal: async (tenantId, id) => (await selectOne(id, tenantId)) ?? null,
    countSignalsByDay: selectDays,
    countSignalsByScore: (tenantId, of) => selectScores({ tenantId, ...of }),
    countJudged: async (tenantId, of) => (await countJudged({ tenantId, ...of })) ?? 0,
    listTriage: (tenantId, ids) => selectTriage(ids, tenantId),
    listSignalViews: VIEWS.select<[string]>(db, 'WHERE tenant_id = ? ORDER BY name').all,
    getReplyTemplate: async (tenantId) => (await selectTemplate(tenantId)) ?? null,
    storedPosition: async (tenantId) => (await selectPosition(tenantId)) ?? 0,
    recentSignals: values(db, 'SELECT wire FROM signals WHERE tenant_id = ? ORDER BY seq DESC LIMIT ?'),
    findOutdatedSignals: (post) => selectOutdated({ ...post }),
    async findDuplicates(signals) {
      const duplicates: (StoredDuplicate | null)[] = [];
      for (const signal of signals) {
        const known = await run(findKnown(signal));
        const { externalId, text } = signal;
        const found = known === null ? undefined : await selectScore({ id: known.id, externalId, text });
        duplicates.push(found ?? null);
      }
      return duplicates;
    },
    async findKnownSignals(signals) {
      const known: (string | null)[] = [];
      for (const signal of signals) {
        const isStored = (await selectOne(signal.id, signal.tenantId)) !== undefined;
        known.push(isStored ? signal.id : ((await run(findKnown(signal)))?.id ?? null));
      }
      return known;
    },
    hasSignalsOf: async (tenantId, platform) =>
      (await selectOfPlatform({ tenantId, platform })) !== undefined,
    getFeedback: (tenantId, signalId) => selectFeedback.get(signalId, tenantId),
    listJudgements: (tenantId, profileId, limit) => selectJudged.all(profileId, tenantId, limit),
    listPosts: selectPosts.all,
  } satisfies Partial<SignalStore & LeadStore & DeliveryLogStore>;
}

/** Rows that one page checks against filters by column. */
const MAX_LOOKED_AT = 2_000;
/**
 * Characters that one page searches for words; and the cost of a row besides its text, because people and company are
 * read from its JSON.
 */
const MAX_CHARACTERS = 100_000;
const ROW_CHARACTERS = 500;

interface ShownRow {
  position: number;
  wire: string;
  explanation: string | null;
  text: string | null;
}

/** Pages of signals in commit order. */
export function storedSignalReads(db: Connection) {
  const order = createStoredOrder(db, 'signals');
  const resolveProfiles = createProfileResolver(db);
  // Does not transfer columns that the page does not show.
  const select = rows<[NamedParameters], ShownRow>(
    db,
    `SELECT p.position, s.wire, CASE WHEN :explain::boolean THEN s.explanation END AS explanation,
            CASE WHEN :reads::boolean THEN s.text END AS text
     FROM signal_positions p JOIN signals s ON s.seq = p.seq AND s.tenant_id = p.tenant_id
     WHERE p.tenant_id = :tenantId AND p.position > :after AND p.position <= :until
       AND (:platforms::text[] = '{}' OR s.platform = ANY (:platforms))
       AND (:profileIds::text[] = '{}' OR s.profile_id = ANY (:profileIds))
       AND (:signalTypes::text[] = '{}' OR s.signal_type = ANY (:signalTypes))
       AND (:classifications::text[] = '{}' OR s.classification = ANY (:classifications))
       AND (:companyDomains::text[] = '{}' OR s.company_domain = ANY (:companyDomains))
       AND (:externalId::text IS NULL OR strpos(s.wire, '"external_id":' || to_json(:externalId)) > 0)
       AND s.score >= :minScore AND s.timestamp >= :from AND s.timestamp < :to
     ORDER BY p.position LIMIT :limit`,
  );
  const selectLatest = rows<[NamedParameters], ShownRow>(
    db,
    `SELECT p.position, s.wire, s.explanation, NULL AS text
     FROM (SELECT position, seq FROM signal_positions
           WHERE tenant_id = :tenantId ORDER BY position DESC LIMIT ${MAX_LOOKED_AT}) p
       JOIN signals s ON s.seq = p.seq AND s.tenant_id = :tenantId
     WHERE s.classification = :classification ORDER BY p.position DESC LIMIT :limit`,
  );

  return {
    async listStoredSignals(tenantId, query) {
      const profileIds = query.icps.length === 0 ? null : await resolveProfiles(tenantId, query.icps);
      const phrases = query.q === null ? null : phrasesOf(query.q);
      const { limit, explain, externalId, minScore, from, to } = query;
      const { platforms, signalTypes, classifications, companyDomains } = query;
      const range = await order.range(tenantId, query, isFiltered(query) ? MAX_LOOKED_AT : limit);
      // If nothing can match, all existing rows are skipped.
      if (phrases?.length === 0 || profileIds?.length === 0) {
        const last = Math.max(range.after, await order.newest(tenantId));
        return { count: 0, json: Buffer.alloc(0), ...(await order.end(tenantId, range, last)) };
      }
      const found = await select({
        ...{
          tenantId,
          after: range.after,
          until: range.until ?? range.after,
          explain,
          reads: phrases !== null,
        },
        ...{ platforms, signalTypes, classifications, companyDomains, profileIds: profileIds ?? [] },
        ...{ externalId: externalId ?? null, minScore: minScore ?? 0, from: from ?? 0 },
        to: to ?? Number.MAX_SAFE_INTEGER,
        limit: phrases === null ? limit : MAX_CHARACTERS / ROW_CHARACTERS,
      });
      const { rows: page, last } = phrases === null ? all(found, limit) : withPhrases(found, phrases, limit);
      return {
        count: page.length,
        json: joined(page),
        ...(await order.end(tenantId, range, last)),
      };
    },
    latestSignals: async (tenantId, query) => joined(await selectLatest({ tenantId, ...query })),
  } satisfies Partial<SignalStore>;
}

/** The rows of a page, and the position of the last one; null: at the end of the range. */
interface PageSlice {
  rows: ShownRow[];
  last: number | null;
}

function all(found: ShownRow[], limit: number): PageSlice {
  return { rows: found, last: found.length === limit ? (found.at(-1)?.position ?? null) : null };
}

function withPhrases(found: readonly ShownRow[], phrases: readonly string[][], limit: number): PageSlice {
  const rows: ShownRow[] = [];
  let characters = 0;
  for (const each of found) {
    const text = each.text ?? '';
    characters += ROW_CHARACTERS + text.length;
    if (holdsPhrases([text, ...searchedFacts(JSON.parse(each.wire))], phrases)) rows.push(each);
    if (rows.length === limit || characters >= MAX_CHARACTERS) return { rows, last: each.position };
  }
  return { rows, last: null };
}

function joined(found: readonly ShownRow[]): Buffer {
  return Buffer.from(
    found
      .map(({ wire, explanation }) =>
        explanation === null ? wire : `${wire.slice(0, -1)},"explanation":${explanation}}`,
      )
      .join(','),
  );
}

function isFiltered(query: StoredSignalQuery): boolean {
  const { platforms, icps, signalTypes, classifications, companyDomains } = query;
  const { externalId, minScore, from, to, q } = query;
  const lists = [platforms, icps, signalTypes, classifications, companyDomains];
  return lists.some(({ length }) => length > 0) || (externalId ?? minScore ?? from ?? to ?? q) !== null;
}
