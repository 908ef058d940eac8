import type { Database, Statement } from 'better-sqlite3';
import { commaSeparated } from '../../../lib/json.ts';
import { addAll } from '../../../lib/lists.ts';
import { CLASSIFICATIONS } from '../../../model/constants.ts';
import { DomainError } from '../../../model/errors.ts';
import type { SignalQuery, TriageFilter } from '../../../model/signal.ts';
import type { NamedParameters } from '../../pages.ts';
import type { SignalPage } from '../../signal-store.ts';
import {
  begunPhrases,
  createTermBeginnings,
  type FilterName,
  filterTerm,
  searchPhrases,
} from '../signal-index.ts';

/**
 * The source of the rows: all signals of the tenant in order; those found in the full-text index; both without
 * triaged ones; or only triaged ones, of all or of those found.
 */
export type RowSource = 'tenant' | 'terms' | 'tenant open' | 'terms open' | Triaged | `terms ${Triaged}`;
type Triaged = `triage ${'snoozed' | 'done'}` | `triage ${TriageFilter['state']} assigned`;
/** Orders of a page; those by score take `:score` and, except `belowScore`, `:after`, the `seq` of the last row. */
export type Shape = 'newestFirst' | 'oldestFirst' | 'ofScore' | 'belowScore' | 'sorted';

/**
 * The rows of a page as a single SQLite row: their number; `seq:bytes` of each, comma-separated; and their wire JSON,
 * comma-separated. Null if there are none. Passing one row each took as long as finding them.
 */
export type ListRows = [count: number, keys: string | null, json: Buffer | null];

/** The requested range; `above` and `below` are exclusive. */
export interface RowRange {
  tenantId: string;
  /** FTS5 expression, for `terms`. */
  match: string | null;
  /** For `open` and `triage`. */
  now: number;
  assignee: string;
  above: bigint;
  below: bigint;
  minScore: number;
  limit: number;
}

export type ListStatement = Statement<NamedParameters[], ListRows>;

/** The few statements for all pages of signals, prepared on first use. */
export interface ListStatements {
  page(shape: Shape, source: RowSource, explain: boolean): ListStatement;
  /** The best score of the tenant's signals between `:minScore` and `:most`. */
  bestScore: Statement<NamedParameters[], number | null>;
  /** The first of the triaged signals, before which none is looked for; null if there is none. */
  firstTriaged(source: RowSource): Statement<NamedParameters[], bigint | null>;
  /** The number of rows, counted up to `limit`. */
  count(source: RowSource): Statement<NamedParameters[], number>;
}

function createListStatements(db: Database): ListStatements {
  const pages = new Map<string, ListStatement>();
  const counts = new Map<RowSource, Statement<NamedParameters[], number>>();

  return {
    page(shape, source, explain) {
      const key = `${shape} ${source} ${explain}`;
      const known = pages.get(key);
      if (known !== undefined) return known;
      const statement = db.prepare<NamedParameters[], ListRows>(pageSql(shape, source, explain)).raw();
      pages.set(key, statement);
      return statement;
    },
    bestScore: db
      .prepare<NamedParameters[], number | null>(
        `SELECT max(score) FROM signals INDEXED BY signals_by_score
         WHERE tenant_id = +:tenantId AND score BETWEEN :minScore AND :most`,
      )
      .pluck(),
    firstTriaged: (source) =>
      db
        .prepare<NamedParameters[], bigint | null>(
          `SELECT min(x.seq) FROM signal_triage x WHERE x.tenant_id = :tenantId AND ${triageSql(source)}`,
        )
        .pluck()
        .safeIntegers(),
    count(source) {
      const statement = counts.get(source) ?? db.prepare<NamedParameters[], number>(countSql(source)).pluck();
      counts.set(source, statement);
      return statement;
    },
  };
}

/** The statement of a page. `ofScore` and `belowScore` are for `tenant` only: the index by score has no terms. */
export function pageSql(shape: Shape, source: RowSource, explain: boolean): string {
  return `SELECT count(*), group_concat(seq || ':' || octet_length(json)), CAST(group_concat(json, ',') AS BLOB)
    FROM (${rowsInOrderSql(shape, source, explain)})`;
}

/**
 * Removing the closing brace is safe, because we wrote the text; by bytes, because counting characters reads them
 * all.
 */
export const EXPLAINED = `CAST(substr(CAST(s.wire AS BLOB), 1, octet_length(s.wire) - 1) AS TEXT)
  || ',"explanation":' || s.explanation || '}'`;

/** `group_concat` keeps this order. The LIMIT is in each subquery: without one, SQLite drops the order. */
function rowsInOrderSql(shape: Shape, source: RowSource, explain: boolean): string {
  const columns = `s.seq AS seq, ${explain ? EXPLAINED : 's.wire'} AS json`;
  switch (shape) {
    case 'newestFirst':
      return `SELECT ${columns} ${rowsSql(source)} ORDER BY ${seqOf(source)} DESC LIMIT +:limit`;
    case 'oldestFirst':
      return `SELECT ${columns} ${rowsSql(source)} ORDER BY ${seqOf(source)} LIMIT +:limit`;
    // Two statements, because SQLite does not combine (score, rowid) into one range and would skip through all rows
    // of a score. Without the hint, the planner would read by time and then sort.
    case 'ofScore':
      return `SELECT ${columns} FROM signals s INDEXED BY signals_by_score
        WHERE s.tenant_id = +:tenantId AND s.score = +:score AND ${boundsSql(source)}
        ORDER BY s.seq DESC LIMIT +:limit`;
    case 'belowScore':
      return `SELECT ${columns} FROM signals s INDEXED BY signals_by_score
        WHERE s.tenant_id = +:tenantId AND s.score >= :minScore AND s.score < :score
          AND s.seq > :above AND s.seq < :below ${openSql(source)}
        ORDER BY s.score DESC, s.seq DESC LIMIT +:limit`;
    case 'sorted':
      return `SELECT ${columns}
        FROM (
          SELECT ${seqOf(source)} AS seq ${keysSql(source)}
            AND (${seqOf(source)} & 127, ${seqOf(source)}) < (:score, :after)
          ORDER BY ${seqOf(source)} & 127 DESC, 1 DESC LIMIT +:limit
        ) found CROSS JOIN signals s ON s.seq = found.seq AND s.tenant_id = +:tenantId
        ORDER BY s.score DESC, s.seq DESC LIMIT +:limit`;
  }
}

function countSql(source: RowSource): string {
  return `SELECT count(*) FROM (SELECT 1 ${keysSql(source)} LIMIT +:limit)`;
}

function seqOf(source: RowSource): string {
  if (source.startsWith('terms')) return 'signal_search.rowid';
  return source.startsWith('triage') ? 'x.seq' : 's.seq';
}

/** Rows in range with their columns. Checks the tenant of the row as well: isolation must not depend on an index. */
function rowsSql(source: RowSource): string {
  if (source.startsWith('tenant')) return keysSql(source);
  const own = `CROSS JOIN signals s ON s.seq = ${seqOf(source)} AND s.tenant_id = +:tenantId`;
  return keysSql(source).replace(' WHERE ', ` ${own} WHERE `);
}

/** Row numbers in range: reads only the index, not the table. */
function keysSql(source: RowSource): string {
  const bounds = boundsSql(source);
  // One scan of the index: asked about a single row, it reads on to the next match, 2.5 s for two hundred thousand rows of a class that
  // none has, and minutes for two words that never meet.
  if (source.startsWith('terms triage'))
    return `FROM signal_search CROSS JOIN signal_triage x ON x.seq = signal_search.rowid AND x.tenant_id = :tenantId
      WHERE signal_search MATCH :match AND ${triageSql(source)} AND ${bounds}`;
  if (source.startsWith('terms')) return `FROM signal_search WHERE signal_search MATCH :match AND ${bounds}`;
  if (source.startsWith('tenant')) return `FROM signals s WHERE s.tenant_id = +:tenantId AND ${bounds}`;
  return `FROM signal_triage x WHERE x.tenant_id = :tenantId AND ${triageSql(source)} AND ${bounds}`;
}

function boundsSql(source: RowSource): string {
  const seq = seqOf(source);
  return `${seq} > :above AND ${seq} < :below AND (${seq} & 127) >= :minScore ${openSql(source)}`;
}

/** Excludes triaged signals: 0.3 us each. */
function openSql(source: RowSource): string {
  return source === 'tenant open' || source === 'terms open'
    ? `AND NOT EXISTS (SELECT 1 FROM signal_triage x
         WHERE x.seq = ${seqOf(source)} AND (x.is_done OR x.snoozed_until > :now))`
    : '';
}

const STATES: Record<TriageFilter['state'], string> = {
  open: 'NOT x.is_done AND ifnull(x.snoozed_until <= :now, TRUE)',
  snoozed: 'x.snoozed_until IS NOT NULL AND NOT x.is_done AND x.snoozed_until > :now',
  done: 'x.is_done',
  all: 'TRUE',
};

function triageSql(source: RowSource): string {
  const [, state, assigned] = source.replace('terms ', '').split(' ') as [
    'triage',
    TriageFilter['state'],
    string?,
  ];
  return assigned === undefined
    ? STATES[state]
    : `x.assignee = :assignee AND x.assignee <> '' AND ${STATES[state]}`;
}

/**
 * The query for the full-text index: an FTS5 expression; null for all signals of the tenant; or nothing can match.
 */
export type Match = string | null | 'nothing';

/**
 * The expression for a query's filters and words. Input never becomes syntax: every term is quoted and contains no
 * quotation mark. `profileIds` are the profiles of the query's `icps`; null: it has none.
 */
function matchOf(
  tenantId: string,
  profileIds: string[] | null,
  query: SignalQuery,
  termsFrom: (beginning: string) => readonly string[],
): Match {
  const { classifications } = query;
  const words =
    query.q === null ? [] : wordsAsked(tenantId, query.q, query.qBegins === true ? termsFrom : null);
  if (profileIds?.length === 0 || words === null) return 'nothing';
  const anyOf = (name: FilterName, values: readonly (string | number)[]) =>
    values.length === 0 ? [] : [anyTerm(values.map((value) => filterTerm(tenantId, name, value)))];
  const parts = [
    ...anyOf('platform', query.platforms),
    ...anyOf('icp', profileIds ?? []),
    ...anyOf('type', query.signalTypes),
    // All classes are no filter: their lists together are as long as the tenant's.
    ...anyOf('class', new Set(classifications).size === CLASSIFICATIONS.length ? [] : classifications),
    ...anyOf('domain', query.companyDomains),
    ...anyOf('decade', decadesFrom(query)),
    ...words,
  ];
  return parts.length === 0 ? null : parts.join(' AND ');
}

/** Null if no signal can match. */
function wordsAsked(
  tenantId: string,
  q: string,
  termsFrom: ((beginning: string) => readonly string[]) | null,
): string[] | null {
  if (termsFrom === null) {
    const phrases = searchPhrases(tenantId, q);
    return phrases.length === 0 ? null : phrases.map((phrase) => `"${phrase}"`);
  }
  const { whole, begun } = begunPhrases(tenantId, q, termsFrom);
  return begun.length === 0 ? null : [...whole.map((phrase) => `"${phrase}"`), anyTerm(begun)];
}

function anyTerm(terms: readonly string[]): string {
  const quoted = [...new Set(terms)].map((term) => `"${term}"`);
  return quoted.length === 1 ? String(quoted[0]) : `(${quoted.join(' OR ')})`;
}

/** A scan in order of time skips to the score decades of the minimum; in order of score it simply ends there. */
export function decadesFrom({ minScore, sort }: SignalQuery): number[] {
  if (minScore === null || minScore < 10 || sort === '-icp_score') return [];
  const lowest = Math.floor(minScore / 10);
  return Array.from({ length: 11 - lowest }, (_, i) => lowest + i);
}

/** `seq` is (timestamp << 21) + (number within the millisecond << 7) + score (migration 006). */
const TIME_SHIFT = 21n;
const PLACE_MASK = 2n ** TIME_SHIFT - 1n;
const SCORE_MASK = 127n;
const MAX_SEQ = 2n ** 63n - 1n;
const MAX_TIME = Number(MAX_SEQ >> TIME_SHIFT);

/**
 * In order of score, up to this many hits are sorted (75 ns each to find). If there are more, they are read score by
 * score, from the best down, until the page is full.
 */
const SORT_MAX = 1_000;

/** Completions of a partial word, in alphabetical order; each is one more list to scan. */
export const MOST_BEGUN = 32;

/** Pages of signals: scans that end when the page is full. No OFFSET, no totals. */
export function createSignalList(db: Database, { sortMax = SORT_MAX } = {}) {
  const statements = createListStatements(db);
  // 64-bit integers. A post has one signal per profile and platform with that ID. Of more, a page considers the next in order,
  // 50 us each if another filter rejects them.
  const selectOfExternalId = (order: string) =>
    db
      .prepare<[Record<string, unknown>], bigint>(
        `SELECT seq FROM signals INDEXED BY signals_by_external_id
         WHERE tenant_id = +@tenantId AND json_extract(wire, '$.external_id') = @externalId
           AND external_id IS NOT NULL AND seq > @above AND seq < @below
           AND (@after IS NULL OR (seq & ${SCORE_MASK}, seq) < (@after & ${SCORE_MASK}, @after))
         ORDER BY ${order} LIMIT 3000`,
      )
      .pluck()
      .safeIntegers();
  const termsThatBegin = createTermBeginnings(db);

  const matched = (tenantId: string, profileIds: string[] | null, query: SignalQuery) =>
    matchOf(tenantId, profileIds, query, (beginning) => termsThatBegin(beginning, MOST_BEGUN));

  /** `profileIds` are the profiles of the query's `icps`; null: it has none. */
  function list(tenantId: string, profileIds: string[] | null, query: SignalQuery): SignalPage {
    const match = matched(tenantId, profileIds, query);
    if (match === 'nothing') return toPage([], query.limit);
    const after = positionOf(query);
    const range = fromFirstTriaged(statements, rangeOf(tenantId, match, query), query);
    if (query.externalId !== undefined) {
      const next = after === null ? range : pastTime(range, query.sort, after);
      const scored = query.sort === '-icp_score' ? after : null;
      const { externalId } = query;
      const seqs = selectOfExternalId(ORDERS[query.sort]).all({ ...next, externalId, after: scored });
      return toPage(ofExternalId(statements, { query, range }, seqs), query.limit);
    }
    const found = query.sort === '-icp_score' ? byScore : byTime;
    return toPage(found(statements, { query, range, after, sortMax }), query.limit);
  }

  return {
    list,
    /** The number of rows, counted up to `most`. */
    count(tenantId: string, profileIds: string[] | null, query: SignalQuery, most: number): number {
      const match = matched(tenantId, profileIds, query);
      if (match === 'nothing') return 0;
      const range = fromFirstTriaged(statements, rangeOf(tenantId, match, query), query);
      return statements.count(sourceOf(range, query)).get({ ...range, limit: most }) ?? 0;
    },
  };
}

interface Ask {
  query: SignalQuery;
  range: RowRange;
  /** The `seq` of the last row of the previous page. */
  after: bigint | null;
  sortMax: number;
}

function byTime(statements: ListStatements, { query, range, after }: Ask): ListRows[] {
  const oldestFirst = query.sort === 'timestamp';
  const statement = statements.page(
    oldestFirst ? 'oldestFirst' : 'newestFirst',
    sourceOf(range, query),
    query.explain,
  );
  return statement.all({ ...(after === null ? range : pastTime(range, query.sort, after)) });
}

/** The rest of a range behind the last row of a page, in order of time. */
function pastTime(range: RowRange, sort: SignalQuery['sort'], after: bigint): RowRange {
  if (sort === 'timestamp') return { ...range, above: max(range.above, after) };
  return sort === '-timestamp' ? { ...range, below: min(range.below, after) } : range;
}

function byScore(statements: ListStatements, ask: Ask): ListRows[] {
  const { query, range, after, sortMax } = ask;
  const source = sourceOf(range, query);
  const everything = range.match === null && query.from === null && query.to === null;
  if (isTriaged(source) || (!everything && isFew(statements, range, { source, max: sortMax }))) {
    const from = { after: after ?? MAX_SEQ, score: after === null ? SCORE_MASK : after & SCORE_MASK };
    return statements.page('sorted', source, query.explain).all({ ...range, ...from });
  }
  return range.match === null ? alongScores(statements, ask) : scoreByScore(statements, ask, range.match);
}

/** The signals of one post, each queried separately, so that all other filters apply as in any list. */
function ofExternalId(
  statements: ListStatements,
  { query, range }: Pick<Ask, 'query' | 'range'>,
  seqs: readonly bigint[],
): ListRows[] {
  const statement = statements.page('newestFirst', sourceOf(range, query), query.explain);
  const rows: ListRows[] = [];
  for (const seq of seqs) {
    if (countOf(rows) >= range.limit) break;
    addAll(rows, statement.all({ ...range, above: seq - 1n, below: seq + 1n, limit: 1 }));
  }
  return rows;
}

const ORDERS: Record<SignalQuery['sort'], string> = {
  '-timestamp': 'seq DESC',
  timestamp: 'seq',
  '-icp_score': `seq & ${SCORE_MASK} DESC, seq DESC`,
};

function isFew(
  statements: ListStatements,
  range: RowRange,
  { source, max }: { source: RowSource; max: number },
): boolean {
  return (statements.count(source).get({ ...range, limit: max + 1 }) ?? 0) <= max;
}

/** The remaining rows of the last score, then lower scores. */
function alongScores(statements: ListStatements, { query, range, after }: Ask): ListRows[] {
  const score = after === null ? SCORE_MASK : after & SCORE_MASK;
  const source = sourceOf(range, query);
  const ofScore = statements.page('ofScore', source, query.explain);
  const rows = after === null ? [] : ofScore.all({ ...range, score, below: min(range.below, after) });
  const limit = range.limit - countOf(rows);
  if (limit === 0) return rows;
  return [...rows, ...statements.page('belowScore', source, query.explain).all({ ...range, score, limit })];
}

function scoreByScore(statements: ListStatements, { query, range, after }: Ask, match: string): ListRows[] {
  const { tenantId, minScore } = range;
  const rows: ListRows[] = [];
  let left = range.limit;
  const statement = statements.page('newestFirst', sourceOf(range, query), query.explain);
  const best = after === null ? 100 : Number(after & SCORE_MASK);
  // Only scores that occur: finding the next one takes 5 us, querying a missing one 60 us.
  const next = (most: number) => statements.bestScore.get({ tenantId, minScore, most }) ?? null;
  for (let score = next(best); score !== null && left > 0; score = next(score - 1)) {
    const below = after !== null && score === best ? min(range.below, after) : range.below;
    const withScore = `${match} AND "${filterTerm(tenantId, 'score', score)}"`;
    const found = statement.all({ ...range, match: withScore, below, limit: left });
    addAll(rows, found);
    left -= countOf(found);
  }
  return rows;
}

function countOf(rows: readonly ListRows[]): number {
  return rows.reduce((sum, [count]) => sum + count, 0);
}

/** One row more than a page holds shows that there is another page; it is dropped. */
function toPage(rows: readonly ListRows[], limit: number): SignalPage {
  const pieces = rows.flatMap(([, , json]) => (json === null ? [] : [json]));
  const whole = joined(pieces);
  if (countOf(rows) <= limit) return { json: whole, last: null };
  const keys = rows.flatMap(([, keys]) => (keys === null ? [] : [keys])).join(',');
  const cutKey = keys.lastIndexOf(',');
  const [seq] = keys.slice(keys.lastIndexOf(',', cutKey - 1) + 1, cutKey).split(':');
  const [, cutBytes] = keys.slice(cutKey + 1).split(':');
  const json = whole.subarray(0, whole.length - Number(cutBytes) - ','.length);
  return { json, last: lastOf(BigInt(seq ?? 0)) };
}

function joined(pieces: readonly Buffer[]): Buffer {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  return Buffer.concat(commaSeparated(pieces));
}

/** As two numbers, because one does not have enough bits. */
function lastOf(seq: bigint): [timestamp: number, place: number] {
  return [Number(seq >> TIME_SHIFT), Number(seq & PLACE_MASK)];
}

function rangeOf(tenantId: string, match: string | null, query: SignalQuery): RowRange {
  return {
    tenantId,
    match,
    above: query.from === null ? -1n : firstSeqOf(query.from) - 1n,
    below: query.to === null ? MAX_SEQ : firstSeqOf(query.to),
    minScore: query.minScore ?? 0,
    limit: query.limit + 1,
    now: query.triage?.now ?? 0,
    assignee: query.triage?.assignee ?? '',
  };
}

function firstSeqOf(timestamp: number): bigint {
  return BigInt(Math.min(Math.max(timestamp, 0), MAX_TIME)) << TIME_SHIFT;
}

function positionOf({ after }: SignalQuery): bigint | null {
  if (after === null) return null;
  const [timestamp, place] = after;
  if (typeof timestamp === 'number' && typeof place === 'number') {
    return (BigInt(timestamp) << TIME_SHIFT) + BigInt(place);
  }
  throw new DomainError('INVALID_CURSOR', 'The cursor belongs to another order.');
}

function sourceOf({ match }: RowRange, { triage }: SignalQuery): RowSource {
  const all = match === null ? 'tenant' : 'terms';
  if (triage === undefined) return all;
  const { state, assignee } = triage;
  const own = match === null ? '' : 'terms ';
  if (assignee !== null) return `${own}triage ${state} assigned`;
  if (state === 'all') return all;
  return state === 'open' ? `${all} open` : `${own}triage ${state}`;
}

function isTriaged(source: RowSource): boolean {
  return source.includes('triage');
}

/** Without what is before the first triaged signal, if only such are wanted. */
function fromFirstTriaged(statements: ListStatements, range: RowRange, query: SignalQuery): RowRange {
  const source = sourceOf(range, query);
  if (!isTriaged(source)) return range;
  const first = statements.firstTriaged(source).get({ ...range }) ?? MAX_SEQ;
  return { ...range, above: max(range.above, first - 1n) };
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
