import type { Database } from 'better-sqlite3';
import { DomainError } from '../../../model/errors.ts';
import type { SignalQuery } from '../../../model/signal.ts';
import type { SignalPage } from '../../signal-store.ts';
import { filterTerm } from '../search-terms.ts';
import { matchOf } from '../signal-match.ts';
import { createListStatements, type ListRow, type RowRange } from './signal-list-sql.ts';

/** `seq` is (timestamp << 21) + (place in the millisecond << 7) + score (migration 006). */
const TIME_SHIFT = 21n;
const SCORE_MASK = 127n;
const MAX_SEQ = 2n ** 63n - 1n;
const MAX_TIME = Number(MAX_SEQ >> TIME_SHIFT);

/**
 * In order of score, up to this many hits are sorted (75 ns each to find). Where there are more, they are asked for score
 * by score, from the best down, until the page is full.
 */
const SORT_MAX = 1_000;

type Statements = ReturnType<typeof createListStatements>;

/** Pages of signals: walks that end when the page is full. No OFFSET, no totals. */
export function createSignalListSql(db: Database, { sortMax = SORT_MAX } = {}) {
  const statements = createListStatements(db);

  /** `profileIds` are what the query's `icps` came to; null: it named none. */
  return function list(tenantId: string, profileIds: string[] | null, query: SignalQuery): SignalPage {
    const match = matchOf(tenantId, profileIds, query);
    if (match === 'nothing') return { rows: [], last: null };
    const after = positionOf(query);
    const range = rangeOf(tenantId, match, query);
    const found = query.sort === '-icp_score' ? byScore : byTime;
    const rows = found(statements, { query, range, after, sortMax });
    if (rows.length <= query.limit) return { rows: rows.map(wireOf), last: null };
    rows.pop();
    const [timestamp, place] = rows.at(-1) ?? [0, 0];
    return { rows: rows.map(wireOf), last: [timestamp, place] };
  };
}

interface Ask {
  query: SignalQuery;
  range: RowRange;
  /** `seq` of the last row of the page before. */
  after: bigint | null;
  sortMax: number;
}

function byTime(statements: Statements, { query, range, after }: Ask): ListRow[] {
  const oldestFirst = query.sort === 'timestamp';
  const statement = statements.page(
    oldestFirst ? 'oldestFirst' : 'newestFirst',
    sourceOf(range),
    query.explain,
  );
  if (after === null) return statement.all({ ...range });
  if (oldestFirst) return statement.all({ ...range, above: max(range.above, after) });
  return statement.all({ ...range, below: min(range.below, after) });
}

function byScore(statements: Statements, ask: Ask): ListRow[] {
  const { query, range, after, sortMax } = ask;
  const everything = range.match === null && query.from === null && query.to === null;
  if (!everything && isFew(statements, range, sortMax)) {
    const from = { after: after ?? MAX_SEQ, score: after === null ? SCORE_MASK : after & SCORE_MASK };
    return statements.page('sorted', sourceOf(range), query.explain).all({ ...range, ...from });
  }
  return range.match === null ? alongScores(statements, ask) : scoreByScore(statements, ask, range.match);
}

function isFew(statements: Statements, range: RowRange, max: number): boolean {
  return (statements.count(sourceOf(range)).get({ ...range, limit: max + 1 }) ?? 0) <= max;
}

/** What is left of the last row's score, then the scores below it. */
function alongScores(statements: Statements, { query, range, after }: Ask): ListRow[] {
  const score = after === null ? SCORE_MASK : after & SCORE_MASK;
  const ofScore = statements.page('ofScore', 'tenant', query.explain);
  const rows = after === null ? [] : ofScore.all({ ...range, score, below: min(range.below, after) });
  const limit = range.limit - rows.length;
  if (limit === 0) return rows;
  return [...rows, ...statements.page('belowScore', 'tenant', query.explain).all({ ...range, score, limit })];
}

function scoreByScore(statements: Statements, { query, range, after }: Ask, match: string): ListRow[] {
  const { tenantId, minScore } = range;
  const rows: ListRow[] = [];
  const statement = statements.page('newestFirst', 'terms', query.explain);
  const best = after === null ? 100 : Number(after & SCORE_MASK);
  // Only scores that the tenant has any signals of: 5 us to know, 60 us to ask for one in vain.
  const next = (most: number) => statements.bestScore.get({ tenantId, minScore, most }) ?? null;
  for (let score = next(best); score !== null && rows.length < range.limit; score = next(score - 1)) {
    const below = after !== null && score === best ? min(range.below, after) : range.below;
    const withScore = `${match} AND "${filterTerm(tenantId, 'score', score)}"`;
    rows.push(...statement.all({ ...range, match: withScore, below, limit: range.limit - rows.length }));
  }
  return rows;
}

function rangeOf(tenantId: string, match: string | null, query: SignalQuery): RowRange {
  return {
    tenantId,
    match,
    above: query.from === null ? -1n : firstSeqOf(query.from) - 1n,
    below: query.to === null ? MAX_SEQ : firstSeqOf(query.to),
    minScore: query.minScore ?? 0,
    limit: query.limit + 1,
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

function sourceOf({ match }: RowRange) {
  return match === null ? 'tenant' : 'terms';
}

/** Both are JSON texts written by us, so that cutting the closing brace is safe; parsing would cost 20 times as much. */
function wireOf([, , wire, explanation]: ListRow): string {
  return explanation === undefined ? wire : `${wire.slice(0, -1)},"explanation":${explanation}}`;
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
