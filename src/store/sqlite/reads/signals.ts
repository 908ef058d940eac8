import type { Database, Statement } from 'better-sqlite3';
import type { Job, JobProgress } from '../../../model/job.ts';
import type { SignalTriage, SignalView } from '../../../model/signal.ts';
import { holdsPhrases, phrasesOf, searchedFacts } from '../../../rules/words.ts';
import { createKnownSignalSearch } from '../../changes/known-signals.ts';
import type { DeliveryLogStore } from '../../delivery-log-store.ts';
import type { LeadStore } from '../../lead-store.ts';
import type { NamedParameters, PositionRange } from '../../pages.ts';
import type { JobStore, KeptBodyReads } from '../../request-store.ts';
import { WIRE_WITHOUT_FACTS } from '../../search-cost.ts';
import type {
  Judgement,
  OutdatedSignal,
  SignalDetail,
  SignalFeedback,
  SignalStore,
  StoredDuplicate,
  StoredPost,
  StoredSignalPage,
  StoredSignalQuery,
} from '../../signal-store.ts';
import { knownSignalsSql } from '../sql/known-signals.ts';
import { answeredAtOnce, runAtOnce } from '../sql/prepared.ts';
import { type Part, Table } from '../table.ts';
import { createStoredOrder } from './events.ts';
import { createProfileResolver } from './profiles.ts';
import { createSignalList, EXPLAINED } from './signal-list.ts';

const FEEDBACK = new Table<SignalFeedback>('signal_feedback f JOIN signals s ON s.id = f.signal_id', {
  tenantId: 'plain',
  signalId: 'plain',
  relevant: 'flag',
  reason: 'plain',
  actorId: 'plain',
  createdAt: 'plain',
});

const JUDGEMENTS = new Table<Judgement>(
  'signal_feedback f CROSS JOIN signals s ON s.id = f.signal_id',
  {
    signalId: 'plain',
    score: 'plain',
    classification: 'plain',
    relevant: 'flag',
    createdAt: 'plain',
    textBytes: 'plain',
  },
  // The length is computed without reading the text.
  { createdAt: 'f.created_at', textBytes: 'octet_length(s.text)' },
);

const POSTS = new Table<StoredPost>(
  'signals s LEFT JOIN signal_feedback f ON f.signal_id = s.id',
  {
    id: 'plain',
    profileId: 'plain',
    platform: 'plain',
    externalId: 'plain',
    canonicalUrl: 'plain',
    score: 'plain',
    classification: 'plain',
    wire: 'plain',
    text: 'plain',
    relevant: 'flag',
  },
  { profileId: 's.profile_id' },
);

const TRIAGE = new Table<SignalTriage>(
  `json_each(?) j CROSS JOIN signals s ON s.id = j.value
   LEFT JOIN signal_feedback f ON f.signal_id = s.id LEFT JOIN signal_triage x ON x.seq = s.seq`,
  { signalId: 'plain', relevant: 'flag', assignee: 'plain', snoozedUntil: 'plain' },
  { signalId: 's.id', assignee: "ifnull(x.assignee, '')" },
);

export const VIEWS = new Table<SignalView>('signal_views', {
  id: 'plain',
  tenantId: 'plain',
  name: 'plain',
  query: 'plain',
  createdAt: 'plain',
});

/** Signals, and their feedback and triage. */
export function signalReads(db: Database) {
  const selectOne = db.prepare<[string, string], SignalDetail>(
    'SELECT wire, explanation, text FROM signals WHERE id = ? AND tenant_id = ?',
  );
  const selectFeedback = FEEDBACK.select<[string, string]>(db, 'WHERE f.signal_id = ? AND s.tenant_id = ?');
  const selectJudged = JUDGEMENTS.select<[string, string, number]>(
    db,
    'WHERE f.profile_id = ? AND s.tenant_id = ? ORDER BY f.seq DESC LIMIT ?',
  );
  const selectSignals = db
    .prepare<[string, number], string>(
      'SELECT wire FROM signals WHERE tenant_id = ? ORDER BY seq DESC LIMIT ?',
    )
    .pluck();
  const selectOfPlatform = db.prepare<[string, string], unknown>(`${ofPlatform('1')} LIMIT 1`);
  // Excludes signals whose post was edited: their score is that of another text.
  const selectScore = db.prepare<Record<string, unknown>[], StoredDuplicate>(
    `SELECT id, score FROM signals
     WHERE id = :id AND NOT ifnull(external_id = :externalId AND text <> :text, FALSE)`,
  );
  // CROSS: by the keys of the days; an index scan by SQLite would pass all other profiles.
  const selectScores = db.prepare<Record<string, unknown>[], { score: number; count: number }>(
    `SELECT s.scores * 5 AS score, sum(s.count) AS count FROM json_each(:days) d CROSS JOIN signal_days s
     ON s.tenant_id = :tenantId AND s.day = unixepoch(d.value) / 86400 AND s.profile_id = :profileId
     GROUP BY s.scores HAVING sum(s.count) > 0`,
  );
  const countJudged = db
    .prepare<Record<string, unknown>[], number>(
      `SELECT count(*) FROM (
         SELECT 1 FROM icp_profiles p CROSS JOIN signal_feedback f INDEXED BY signal_feedback_by_profile
         ON f.profile_id = p.id AND f.seq >= (:since << 21) WHERE p.tenant_id = :tenantId LIMIT :most)`,
    )
    .pluck();
  const resolveProfiles = createProfileResolver(db);
  const { list, count } = createSignalList(db);
  const selectTriage = TRIAGE.select<[string, string]>(db, 'WHERE s.tenant_id = +?');
  const selectViews = VIEWS.select<[string]>(db, 'WHERE tenant_id = ? ORDER BY name');
  const selectTemplate = db
    .prepare<[string], string>('SELECT template FROM reply_templates WHERE tenant_id = ?')
    .pluck();
  const listStored = createStoredSignals(db);
  const latestSignals = createLatestSignals(db);
  const profilesAsked = (tenantId: string, icps: string[]) =>
    icps.length === 0 ? null : resolveProfiles(tenantId, icps);
  const selectPosition = db
    .prepare<[string], number>('SELECT position FROM stored_rows WHERE tenant_id = ?')
    .pluck();
  const findKnown = runAtOnce(createKnownSignalSearch(answeredAtOnce({ knownSignals: knownSignalsSql(db) })));
  const selectOutdated = db.prepare<Record<string, unknown>[], OutdatedSignal>(
    `SELECT id, profile_id AS profileId,
       octet_length(text) + max(0, octet_length(wire) - ${WIRE_WITHOUT_FACTS}) AS searchedBytes
     FROM signals INDEXED BY signals_by_external_id
     WHERE tenant_id = +:tenantId AND json_extract(wire, '$.external_id') = +:shownId AND external_id = +:externalId
       AND platform = :platform AND text <> :text AND ${OF_LIVE_PROFILE}`,
  );

  return {
    getSignal: (tenantId, id) => selectOne.get(id, tenantId) ?? null,
    listSignals: (tenantId, query) => list(tenantId, profilesAsked(tenantId, query.icps), query),
    countSignals: (tenantId, query, most) =>
      count(tenantId, profilesAsked(tenantId, query.icps), query, most),
    countSignalsByScore: (tenantId, { profileId, days }) =>
      selectScores.all({ tenantId, profileId, days: JSON.stringify(days) }),
    countJudged: (tenantId, of) => countJudged.get({ tenantId, ...of }) ?? 0,
    listTriage: (tenantId, ids) => selectTriage.all(JSON.stringify(ids), tenantId),
    listSignalViews: (tenantId) => selectViews.all(tenantId),
    getReplyTemplate: (tenantId) => selectTemplate.get(tenantId) ?? null,
    listStoredSignals: (tenantId, query) => listStored(tenantId, profilesAsked(tenantId, query.icps), query),
    latestSignals,
    storedPosition: (tenantId) => selectPosition.get(tenantId) ?? 0,
    recentSignals: (tenantId, limit) => selectSignals.all(tenantId, limit),
    findOutdatedSignals: (post) => selectOutdated.all({ ...post }),
    findDuplicates: (signals) =>
      signals.map((signal) => {
        const known = findKnown(signal);
        if (known === null) return null;
        const { externalId, text } = signal;
        return selectScore.get({ id: known.id, externalId, text }) ?? null;
      }),
    findKnownSignals: (signals) =>
      signals.map((signal) =>
        selectOne.get(signal.id, signal.tenantId) === undefined ? (findKnown(signal)?.id ?? null) : signal.id,
      ),
    hasSignalsOf: (tenantId, platform) => selectOfPlatform.get(tenantId, platform) !== undefined,
    getFeedback: (tenantId, signalId) => selectFeedback.get(signalId, tenantId),
    listJudgements: (tenantId, profileId, limit) => selectJudged.all(profileId, tenantId, limit),
  } satisfies Part<SignalStore & LeadStore & DeliveryLogStore>;
}

/** Signals counted on a day, by profile and score: a row, and the position after it. */
export interface DayPlace {
  day: number;
  profileId: string;
  scores: number;
  classification: string;
}

interface DaySum {
  day: number;
  hot: number;
  warm: number;
  count: number;
}

/** The counts of days, which have a row for each profile, score and classification. */
export function createDayScans(db: Database) {
  const part = `SELECT day, profile_id, scores, classification, count FROM signal_days
     WHERE tenant_id = :tenantId AND (day, profile_id, scores, classification) > (:day, :profileId, :scores, :classification)
     ORDER BY day, profile_id, scores, classification`;
  const selectSums = db.prepare<Record<string, unknown>[], DaySum>(
    `SELECT day, total(count) FILTER (WHERE classification = 'hot') AS hot,
            total(count) FILTER (WHERE classification = 'warm') AS warm, sum(count) AS count
     FROM (${part} LIMIT :scan) GROUP BY day`,
  );
  const selectLast = db.prepare<Record<string, unknown>[], DayPlace>(
    `SELECT day, profile_id AS profileId, scores, classification FROM (${part} LIMIT 1 OFFSET :scan - 1)`,
  );
  return {
    /** Before the rows of a day, as Unix days. */
    startOf: (day: number): DayPlace => ({ day, profileId: '', scores: -1, classification: '' }),
    /** The sums of the next rows after a position, and the next position; null: there are no more. */
    next(tenantId: string, place: DayPlace, scan: number): { sums: DaySum[]; next: DayPlace | null } {
      const from = { tenantId, ...place, scan };
      return { sums: selectSums.all(from), next: selectLast.get(from) ?? null };
    },
  };
}

/** Stored posts, each of which may have 80 KB of text. */
export function createPostReads(db: Database) {
  const selectNewest = db
    .prepare<[string, number], string>('SELECT id FROM signals WHERE tenant_id = ? ORDER BY seq DESC LIMIT ?')
    .pluck();
  const selectPost = POSTS.select<[string]>(db, 'WHERE s.id = ?');
  return {
    /** The ids of a tenant's newest signals. */
    newest: (tenantId: string, limit: number): string[] => selectNewest.all(tenantId, limit),
    get: (id: string): StoredPost | null => selectPost.get(id),
  };
}

/**
 * Whether a signal's profile was not deleted. The signals of deleted ones are not edited: 25 posts with 4,000 each, read whole for nothing, ended the
 * process.
 */
export const OF_LIVE_PROFILE = `EXISTS (SELECT 1 FROM icp_profiles p INDEXED BY icp_profiles_deleted_by_id
  WHERE p.id = signals.profile_id AND p.deleted_at IS NULL)`;

/**
 * Signals of a tenant and platform with an external ID: uses the index for finding duplicates, starting from the
 * profiles (CROSS JOIN: SQLite would start with all signals of the tenant).
 */
export function ofPlatform(columns: string): string {
  return `SELECT ${columns} FROM icp_profiles p
    CROSS JOIN signals s INDEXED BY signals_known_by_external_id ON s.tenant_id = p.tenant_id AND s.profile_id = p.id
    WHERE p.tenant_id = ? AND s.platform = ? AND s.external_id IS NOT NULL`;
}

/** Rows that one page checks against filters by column: 0.4 us each. */
const MAX_LOOKED_AT = 2_000;
/**
 * Characters that one page searches for words: 1.3 ms for plain English. The full-text index is not used: queried row
 * by row, it scans all rows with the words of a phrase until it finds the phrase, and took 18 s for 500 rows among
 * 60,000.
 */
const MAX_CHARACTERS = 100_000;
/** The cost of a row besides its text: people and company are read from its JSON. */
const ROW_CHARACTERS = 500;

type PageRow = [count: number, last: number | null, json: Buffer | null];
interface WordRow {
  position: number;
  json: string;
  wire: string;
  text: string;
}

/** The rows of a page, in order, and its end. */
interface PageSlice {
  count: number;
  json: Buffer;
  /** The row at which the page ends; null: at the end of the range. */
  last: number | null;
}

/** Pages of signals in commit order. */
function createStoredSignals(db: Database) {
  const order = createStoredOrder(db, 'signals');
  const pages = {
    plain: db.prepare<NamedParameters[], PageRow>(storedSignalsSql('page', false)).raw(),
    explained: db.prepare<NamedParameters[], PageRow>(storedSignalsSql('page', true)).raw(),
  };
  const rows: Record<keyof typeof pages, Statement<NamedParameters[], WordRow>> = {
    plain: db.prepare(storedSignalsSql('rows', false)),
    explained: db.prepare(storedSignalsSql('rows', true)),
  };

  /** `profileIds` are the profiles of the query's `icps`; null: it has none. */
  return function list(
    tenantId: string,
    profileIds: string[] | null,
    query: StoredSignalQuery,
  ): StoredSignalPage {
    const phrases = query.q === null ? null : phrasesOf(query.q);
    const range = order.range(tenantId, query, isFiltered(query) ? MAX_LOOKED_AT : query.limit);
    // If nothing can match, all existing rows are skipped.
    if (phrases?.length === 0 || profileIds?.length === 0) {
      const last = Math.max(range.after, order.newest(tenantId));
      return { ...NOTHING, ...order.end(tenantId, range, last) };
    }
    const values = { tenantId, ...boundsOf(range), ...columnsOf(profileIds, query) };
    const name = query.explain ? 'explained' : 'plain';
    const { last, ...found } =
      phrases === null
        ? pageOf(pages[name].get({ ...values, limit: query.limit }), query.limit)
        : withPhrases(rows[name].iterate({ ...values, limit: MAX_LOOKED_AT }), phrases, query.limit);
    return { ...found, ...order.end(tenantId, range, last) };
  };
}

const NOTHING = { count: 0, json: Buffer.alloc(0) };

function pageOf([count, last, json]: PageRow = [0, null, null], limit: number): PageSlice {
  return { count, json: json ?? NOTHING.json, last: count === limit ? last : null };
}

function withPhrases(rows: Iterable<WordRow>, phrases: readonly string[][], limit: number): PageSlice {
  const pieces: string[] = [];
  let characters = 0;
  for (const { position, json, wire, text } of rows) {
    characters += ROW_CHARACTERS + text.length;
    if (holdsPhrases([text, ...searchedFacts(JSON.parse(wire))], phrases)) pieces.push(json);
    if (pieces.length === limit || characters >= MAX_CHARACTERS) return sliceOf(pieces, position);
  }
  return sliceOf(pieces, null);
}

function sliceOf(pieces: readonly string[], last: number | null): PageSlice {
  return { count: pieces.length, json: Buffer.from(pieces.join(',')), last };
}

/**
 * The matching rows of a range by column, in order: each with the text to search for words (`rows`), or combined into
 * one row (`page`): their number, the position of the last one, and their JSON, comma-separated.
 */
export function storedSignalsSql(shape: 'page' | 'rows', explain: boolean): string {
  const json = `${explain ? EXPLAINED : 's.wire'} AS json`;
  const inOrder = (columns: string) => `SELECT p.position AS position, ${json}${columns}
    FROM signal_positions p CROSS JOIN signals s ON s.seq = p.seq AND s.tenant_id = +:tenantId
    WHERE p.tenant_id = :tenantId AND p.position > :after AND p.position <= :until
      AND (:platforms IS NULL OR s.platform IN (SELECT value FROM json_each(:platforms)))
      AND (:profileIds IS NULL OR s.profile_id IN (SELECT value FROM json_each(:profileIds)))
      AND (:signalTypes IS NULL OR s.signal_type IN (SELECT value FROM json_each(:signalTypes)))
      AND (:classifications IS NULL OR s.classification IN (SELECT value FROM json_each(:classifications)))
      AND (:companyDomains IS NULL OR s.company_domain IN (SELECT value FROM json_each(:companyDomains)))
      AND (:externalId IS NULL OR json_extract(s.wire, '$.external_id') = :externalId)
      AND s.score >= :minScore AND s.timestamp >= :from AND s.timestamp < :to
    ORDER BY p.position LIMIT +:limit`;
  if (shape === 'rows') return inOrder(', s.wire AS wire, s.text AS text');
  return `SELECT count(*), max(position), CAST(group_concat(json, ',') AS BLOB) FROM (${inOrder('')})`;
}

/** The most recently stored rows of a class, latest first. */
function createLatestSignals(db: Database) {
  const select = db
    .prepare<NamedParameters[], Buffer | null>(
      `SELECT CAST(group_concat(json, ',') AS BLOB) FROM (
         SELECT ${EXPLAINED} AS json
         FROM (SELECT position, seq FROM signal_positions
               WHERE tenant_id = :tenantId ORDER BY position DESC LIMIT ${MAX_LOOKED_AT}) p
           CROSS JOIN signals s ON s.seq = p.seq AND s.tenant_id = +:tenantId
         WHERE s.classification = :classification ORDER BY p.position DESC LIMIT +:limit)`,
    )
    .pluck();
  return (tenantId: string, query: { classification: string; limit: number }): Buffer =>
    select.get({ tenantId, ...query }) ?? NOTHING.json;
}

function boundsOf({ after, until }: PositionRange): NamedParameters {
  return { after, until: until ?? after };
}

function columnsOf(profileIds: string[] | null, query: StoredSignalQuery): NamedParameters {
  const { platforms, signalTypes, classifications, companyDomains, externalId, minScore, from, to } = query;
  return {
    externalId: externalId ?? null,
    platforms: anyOf(platforms),
    profileIds: anyOf(profileIds ?? []),
    signalTypes: anyOf(signalTypes),
    classifications: anyOf(classifications),
    companyDomains: anyOf(companyDomains),
    minScore: minScore ?? 0,
    from: from ?? 0,
    to: to ?? Number.MAX_SAFE_INTEGER,
  };
}

function anyOf(values: readonly string[]): string | null {
  return values.length === 0 ? null : JSON.stringify(values);
}

function isFiltered(query: StoredSignalQuery): boolean {
  const { platforms, icps, signalTypes, classifications, companyDomains } = query;
  const { externalId, minScore, from, to, q } = query;
  const lists = [platforms, icps, signalTypes, classifications, companyDomains];
  return lists.some(({ length }) => length > 0) || (externalId ?? minScore ?? from ?? to ?? q) !== null;
}

/** Batches of signals that are scored after the response. */
const OPEN_JOBS = new Table<JobProgress>('jobs', {
  ...{ id: 'plain', tenantId: 'plain', total: 'plain', processed: 'plain' },
});

export const JOBS = new Table<Job>('jobs', {
  ...{ id: 'plain', tenantId: 'plain', kind: 'plain', status: 'plain', total: 'plain', processed: 'plain' },
  ...{ createdAt: 'plain', finishedAt: 'plain', error: 'json' },
});

export function jobReads(db: Database) {
  const selectOne = JOBS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  const selectOpen = OPEN_JOBS.select<[number]>(
    db,
    `WHERE id IN (
       SELECT id FROM (SELECT id, min(created_at) AS since FROM jobs WHERE finished_at IS NULL GROUP BY tenant_id)
       ORDER BY since LIMIT ?)
     ORDER BY created_at, id`,
  );
  const selectItems = db
    .prepare<[string, number], Buffer>('SELECT items FROM job_items WHERE job_id = ? AND processed = ?')
    .pluck();
  // Earlier releases stored the first results in `jobs`.
  const selectResults = db
    .prepare<Record<string, unknown>[], string>(
      `SELECT results FROM job_results WHERE job_id = :id AND processed = :from
       UNION ALL
       SELECT results FROM jobs WHERE id = :id AND :from = 0 AND results <> '[]' LIMIT 1`,
    )
    .pluck();

  return {
    getJob: (tenantId, id) => selectOne.get(id, tenantId),
    readJobResults: (id, from) => selectResults.get({ id, from }) ?? null,
    listOpenJobs: (limit) => selectOpen.all(limit),
    readJobItems: (id, from) => selectItems.get(id, from) ?? null,
  } satisfies Part<JobStore>;
}

export function keptBodyReads(db: Database) {
  const select = db
    .prepare<[string, string, string], Buffer>(
      "SELECT CAST(ifnull(body, '') AS BLOB) FROM idempotency_keys WHERE tenant_id = ? AND route = ? AND key = ?",
    )
    .pluck();
  return {
    keptBody: ({ tenantId, route, key }) => select.get(tenantId, route, key) ?? null,
  } satisfies Part<KeptBodyReads>;
}
