import type { Database, Statement } from 'better-sqlite3';
import type { TriageFilter } from '../../../model/signal.ts';

/**
 * Where rows come from: all of the tenant's by their order alone; those that the index of terms finds; both without what was
 * dealt with; or the few that people have done something with.
 */
export type Source = 'tenant' | 'terms' | 'tenant open' | 'terms open' | Triaged;
type Triaged = `triage ${'snoozed' | 'done'}` | `triage ${TriageFilter['state']} assigned`;
/** Orders of a page; those by score take `:score` and, but for `belowScore`, `:after`, the `seq` of the last row. */
export type Shape = 'newestFirst' | 'oldestFirst' | 'ofScore' | 'belowScore' | 'sorted';

/**
 * Rows of a page, all in one row of SQLite's: how many; `seq:bytes` of each, with commas between them; and their wire JSON,
 * with commas between. Null where there are none. A row each took as long to hand over as to find.
 */
export type ListRows = [count: number, keys: string | null, json: Buffer | null];

/** The rows that are asked for; `above` and `below` are left out themselves. */
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

type Values = Record<string, unknown>;
export type ListStatement = Statement<Values[], ListRows>;

/** The few statements that all pages of signals come to, prepared when they are first needed. */
export interface ListStatements {
  page(shape: Shape, source: Source, explain: boolean): ListStatement;
  /** The best score of the tenant's signals from `:minScore` to `:most`. */
  bestScore: Statement<Values[], number | null>;
  /** How many rows there are, counted up to `limit`. */
  count(source: Source): Statement<Values[], number>;
}

export function createListStatements(db: Database): ListStatements {
  const pages = new Map<string, ListStatement>();
  const counts = new Map<Source, Statement<Values[], number>>();

  return {
    page(shape, source, explain) {
      const key = `${shape} ${source} ${explain}`;
      const known = pages.get(key);
      if (known !== undefined) return known;
      const statement = db.prepare<Values[], ListRows>(pageSql(shape, source, explain)).raw();
      pages.set(key, statement);
      return statement;
    },
    bestScore: db
      .prepare<Values[], number | null>(
        `SELECT max(score) FROM signals INDEXED BY signals_by_score
         WHERE tenant_id = +:tenantId AND score BETWEEN :minScore AND :most`,
      )
      .pluck(),
    count(source) {
      const statement = counts.get(source) ?? db.prepare<Values[], number>(countSql(source)).pluck();
      counts.set(source, statement);
      return statement;
    },
  };
}

/** The statement of a page. `ofScore` and `belowScore` are for `tenant` only: the index by score knows no terms. */
export function pageSql(shape: Shape, source: Source, explain: boolean): string {
  return `SELECT count(*), group_concat(seq || ':' || octet_length(json)), CAST(group_concat(json, ',') AS BLOB)
    FROM (${rowsInOrderSql(shape, source, explain)})`;
}

/** Cutting the closing brace is safe, as the text was written by us; by bytes, as counting characters reads them all. */
export const EXPLAINED = `CAST(substr(CAST(s.wire AS BLOB), 1, octet_length(s.wire) - 1) AS TEXT)
  || ',"explanation":' || s.explanation || '}'`;

/** `group_concat` keeps this order. The LIMIT is each one's own: where there is none, SQLite drops the order. */
function rowsInOrderSql(shape: Shape, source: Source, explain: boolean): string {
  const columns = `s.seq AS seq, ${explain ? EXPLAINED : 's.wire'} AS json`;
  switch (shape) {
    case 'newestFirst':
      return `SELECT ${columns} ${rowsSql(source)} ORDER BY ${seqOf(source)} DESC LIMIT +:limit`;
    case 'oldestFirst':
      return `SELECT ${columns} ${rowsSql(source)} ORDER BY ${seqOf(source)} LIMIT +:limit`;
    // Two statements, as SQLite takes no range of (score, rowid) together and would pass by all rows of a score. The
    // planner would rather read by time, and then have to sort.
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

function countSql(source: Source): string {
  return `SELECT count(*) FROM (SELECT 1 ${keysSql(source)} LIMIT +:limit)`;
}

function seqOf(source: Source): string {
  if (source.startsWith('terms')) return 'signal_search.rowid';
  return source.startsWith('triage') ? 'x.seq' : 's.seq';
}

/** Rows in range with their columns. The tenant is asked of the row too: its isolation must not hang on an index. */
function rowsSql(source: Source): string {
  if (source.startsWith('tenant')) return keysSql(source);
  const own = `CROSS JOIN signals s ON s.seq = ${seqOf(source)} AND s.tenant_id = +:tenantId`;
  return keysSql(source).replace(' WHERE ', ` ${own} WHERE `);
}

/** Rows in range by their numbers alone: the index is read, the table is not. */
function keysSql(source: Source): string {
  const bounds = boundsSql(source);
  if (source.startsWith('terms')) return `FROM signal_search WHERE signal_search MATCH :match AND ${bounds}`;
  if (source.startsWith('tenant')) return `FROM signals s WHERE s.tenant_id = +:tenantId AND ${bounds}`;
  // The few are walked, and the index is asked for each: it has hundreds of thousands of any class.
  return `FROM signal_triage x WHERE x.tenant_id = :tenantId AND ${triageSql(source as Triaged)} AND ${bounds}
    AND (:match IS NULL OR EXISTS (
      SELECT 1 FROM signal_search f WHERE f.signal_search MATCH :match AND f.rowid = x.seq))`;
}

function boundsSql(source: Source): string {
  const seq = seqOf(source);
  return `${seq} > :above AND ${seq} < :below AND (${seq} & 127) >= :minScore ${openSql(source)}`;
}

/** Passes by what was dealt with: 0.3 us for each. */
function openSql(source: Source): string {
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

function triageSql(source: Triaged): string {
  const [, state, assigned] = source.split(' ') as ['triage', TriageFilter['state'], string?];
  return assigned === undefined
    ? STATES[state]
    : `x.assignee = :assignee AND x.assignee <> '' AND ${STATES[state]}`;
}
