import type { Database } from 'better-sqlite3';
import { addAll } from '../../../lib/lists.ts';
import { DomainError } from '../../../model/errors.ts';
import type { SignalQuery } from '../../../model/signal.ts';
import type { SignalPage } from '../../signal-store.ts';
import { filterTerm } from '../search-terms.ts';
import {
  createListStatements,
  type ListRows,
  type ListStatements,
  type RowRange,
  type Source,
} from './signal-list-sql.ts';
import { matchOf } from './signal-match.ts';
import { createTermBeginnings } from './term-beginnings.ts';

/** `seq` is (timestamp << 21) + (place in the millisecond << 7) + score (migration 006). */
const TIME_SHIFT = 21n;
const PLACE_MASK = 2n ** TIME_SHIFT - 1n;
const SCORE_MASK = 127n;
const COMMA = Buffer.from(',');
const MAX_SEQ = 2n ** 63n - 1n;
const MAX_TIME = Number(MAX_SEQ >> TIME_SHIFT);

/**
 * In order of score, up to this many hits are sorted (75 ns each to find). Where there are more, they are asked for score
 * by score, from the best down, until the page is full.
 */
const SORT_MAX = 1_000;

/** Words that a beginning may become, in the order of letters; each is one list more to walk along. */
const MOST_BEGUN = 32;

/** Pages of signals: walks that end when the page is full. No OFFSET, no totals. */
export function createSignalList(db: Database, { sortMax = SORT_MAX } = {}) {
  const statements = createListStatements(db);
  // Numbers of 64 bits. One post has as many as there are profiles, on as many platforms as use that id.
  const selectOfExternalId = db
    .prepare<[string, string], bigint>(
      `SELECT seq FROM signals INDEXED BY signals_by_external_id
       WHERE tenant_id = +? AND json_extract(wire, '$.external_id') = ? AND external_id IS NOT NULL LIMIT 10000`,
    )
    .pluck()
    .safeIntegers();
  const termsThatBegin = createTermBeginnings(db);

  const matched = (tenantId: string, profileIds: string[] | null, query: SignalQuery) =>
    matchOf(tenantId, profileIds, query, (beginning) => termsThatBegin(beginning, MOST_BEGUN));

  /** `profileIds` are what the query's `icps` came to; null: it named none. */
  function list(tenantId: string, profileIds: string[] | null, query: SignalQuery): SignalPage {
    const match = matched(tenantId, profileIds, query);
    if (match === 'nothing') return toPage([], query.limit);
    const after = positionOf(query);
    const range = rangeOf(tenantId, match, query);
    if (query.externalId !== undefined) {
      const seqs = selectOfExternalId.all(tenantId, query.externalId);
      return toPage(ofExternalId(statements, { query, range, after, sortMax }, seqs), query.limit);
    }
    const found = query.sort === '-icp_score' ? byScore : byTime;
    return toPage(found(statements, { query, range, after, sortMax }), query.limit);
  }

  return {
    list,
    /** How many rows there are, counted up to `most`. */
    count(tenantId: string, profileIds: string[] | null, query: SignalQuery, most: number): number {
      const match = matched(tenantId, profileIds, query);
      if (match === 'nothing') return 0;
      const range = rangeOf(tenantId, match, query);
      return statements.count(sourceOf(range, query)).get({ ...range, limit: most }) ?? 0;
    },
  };
}

interface Ask {
  query: SignalQuery;
  range: RowRange;
  /** `seq` of the last row of the page before. */
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
  if (after === null) return statement.all({ ...range });
  if (oldestFirst) return statement.all({ ...range, above: max(range.above, after) });
  return statement.all({ ...range, below: min(range.below, after) });
}

function byScore(statements: ListStatements, ask: Ask): ListRows[] {
  const { query, range, after, sortMax } = ask;
  const source = sourceOf(range, query);
  const everything = range.match === null && query.from === null && query.to === null;
  if (source.startsWith('triage') || (!everything && isFew(statements, range, { source, max: sortMax }))) {
    const from = { after: after ?? MAX_SEQ, score: after === null ? SCORE_MASK : after & SCORE_MASK };
    return statements.page('sorted', source, query.explain).all({ ...range, ...from });
  }
  return range.match === null ? alongScores(statements, ask) : scoreByScore(statements, ask, range.match);
}

/** The few rows of one post, each asked for by itself, so that all other filters hold as in any list. */
function ofExternalId(
  statements: ListStatements,
  { query, range, after }: Ask,
  seqs: readonly bigint[],
): ListRows[] {
  const statement = statements.page('newestFirst', sourceOf(range, query), query.explain);
  const isBefore = ORDERS[query.sort];
  const inOrder = [...seqs]
    .sort((a, b) => (isBefore(a, b) ? -1 : 1))
    .filter((seq) => (after === null || isBefore(after, seq)) && seq > range.above && seq < range.below);
  const rows: ListRows[] = [];
  for (const seq of inOrder) {
    if (countOf(rows) >= range.limit) break;
    addAll(rows, statement.all({ ...range, above: seq - 1n, below: seq + 1n, limit: 1 }));
  }
  return rows;
}

/** Whether one row stands before another in a list. */
const ORDERS: Record<SignalQuery['sort'], (one: bigint, other: bigint) => boolean> = {
  '-timestamp': (one, other) => one > other,
  timestamp: (one, other) => one < other,
  '-icp_score': (one, other) =>
    (one & SCORE_MASK) === (other & SCORE_MASK) ? one > other : (one & SCORE_MASK) > (other & SCORE_MASK),
};

function isFew(
  statements: ListStatements,
  range: RowRange,
  { source, max }: { source: Source; max: number },
): boolean {
  return (statements.count(source).get({ ...range, limit: max + 1 }) ?? 0) <= max;
}

/** What is left of the last row's score, then the scores below it. */
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
  // Only scores that the tenant has any signals of: 5 us to know, 60 us to ask for one in vain.
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

/** One row more than a page holds tells that more follow, and is cut off again. */
function toPage(rows: readonly ListRows[], limit: number): SignalPage {
  const pieces = rows.flatMap(([, , json]) => (json === null ? [] : [json]));
  const whole = joined(pieces);
  if (countOf(rows) <= limit) return { json: whole, last: null };
  const keys = rows.flatMap(([, keys]) => (keys === null ? [] : [keys])).join(',');
  const cutKey = keys.lastIndexOf(',');
  const [seq] = keys.slice(keys.lastIndexOf(',', cutKey - 1) + 1, cutKey).split(':');
  const [, cutBytes] = keys.slice(cutKey + 1).split(':');
  const json = whole.subarray(0, whole.length - Number(cutBytes) - COMMA.length);
  return { json, last: lastOf(BigInt(seq ?? 0)) };
}

function joined(pieces: readonly Buffer[]): Buffer {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  return Buffer.concat(pieces.flatMap((piece, index) => (index === 0 ? [piece] : [COMMA, piece])));
}

/** In two numbers, as one has not bits enough. */
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
  throw new DomainError('INVALID_CURSOR', 'The cursor is of another order.');
}

function sourceOf({ match }: RowRange, { triage }: SignalQuery): Source {
  const all = match === null ? 'tenant' : 'terms';
  if (triage === undefined) return all;
  const { state, assignee } = triage;
  if (assignee !== null) return `triage ${state} assigned`;
  if (state === 'all') return all;
  return state === 'open' ? `${all} open` : `triage ${state}`;
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
