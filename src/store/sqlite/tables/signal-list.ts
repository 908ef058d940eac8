import type { Database, Statement } from 'better-sqlite3';
import { DomainError } from '../../../model/errors.ts';
import type { SignalQuery } from '../../../model/signal.ts';
import type { SignalPage } from '../../signal-store.ts';

interface ListRow {
  id: string;
  timestamp: number;
  score: number;
  wire: string;
  explanation: string;
}

interface Order {
  /** Columns of the keyset, most significant first. */
  key: ('timestamp' | 'score' | 'id')[];
  direction: 'ASC' | 'DESC';
}

const ORDERS: Record<SignalQuery['sort'], Order> = {
  '-timestamp': { key: ['timestamp', 'id'], direction: 'DESC' },
  timestamp: { key: ['timestamp', 'id'], direction: 'ASC' },
  '-icp_score': { key: ['score', 'timestamp', 'id'], direction: 'DESC' },
};

/** Shapes are few in practice (some dozens); the bound keeps a client who tries them all from filling the memory. */
const MAX_CACHED_SHAPES = 256;

type Value = string | number;

/** The conditions of a query with their values, in the same order. */
interface Where {
  conditions: string[];
  values: Value[];
}

/** Pages of signals: one statement, a walk along an index that ends in the page's order, no OFFSET, no count. */
export function createSignalListSql(db: Database) {
  const statements = new Map<string, Statement<Value[], ListRow>>();

  function prepared(sql: string): Statement<Value[], ListRow> {
    const cached = statements.get(sql);
    if (cached !== undefined) return cached;
    if (statements.size >= MAX_CACHED_SHAPES) statements.clear();
    const statement = db.prepare<Value[], ListRow>(sql);
    statements.set(sql, statement);
    return statement;
  }

  /** `profileIds` are what the query's `icps` came to; null: it named none. */
  return function list(tenantId: string, profileIds: string[] | null, query: SignalQuery): SignalPage {
    if (profileIds?.length === 0) return { rows: [], last: null };
    const order = ORDERS[query.sort];
    const { sql, values } = buildListSql(tenantId, profileIds, query);
    const found = prepared(sql).all(...values);
    const page = found.slice(0, query.limit);
    const lastRow = found.length > query.limit ? page.at(-1) : undefined;
    return {
      rows: page.map((row) => (query.explain ? spliceExplanation(row) : row.wire)),
      last: lastRow === undefined ? null : order.key.map((column) => lastRow[column]),
    };
  };
}

/** The statement of a query and its values; the text depends on the query's shape only. */
export function buildListSql(tenantId: string, profileIds: string[] | null, query: SignalQuery) {
  const { key, direction } = ORDERS[query.sort];
  const where: Where = { conditions: ['tenant_id = ?'], values: [tenantId] };
  const sortedByScore = key[0] === 'score';

  addList(where, 'platform', query.platforms, sortedByScore);
  addList(where, 'profile_id', profileIds ?? [], sortedByScore);
  addList(where, 'signal_type', query.signalTypes, sortedByScore);
  addList(where, 'classification', query.classifications, sortedByScore);
  addDomains(where, query.companyDomains);
  if (query.from !== null) add(where, 'timestamp >= ?', query.from);
  if (query.to !== null) add(where, 'timestamp < ?', query.to);
  if (query.minScore !== null) add(where, sortedByScore ? 'score >= ?' : '+score >= ?', query.minScore);
  if (query.after !== null) {
    if (query.after.length !== key.length)
      throw new DomainError('INVALID_CURSOR', 'The cursor is of another order.');
    const comparison = direction === 'DESC' ? '<' : '>';
    add(where, `(${key.join(', ')}) ${comparison} (${key.map(() => '?').join(', ')})`, ...query.after);
  }

  const columns = query.explain ? 'id, timestamp, score, wire, explanation' : 'id, timestamp, score, wire';
  const orderBy = key.map((column) => `${column} ${direction}`).join(', ');
  const sql = `SELECT ${columns} FROM signals WHERE ${where.conditions.join(' AND ')} ORDER BY ${orderBy} LIMIT ?`;
  return { sql, values: [...where.values, query.limit + 1] };
}

function add(where: Where, condition: string, ...values: Value[]): void {
  where.conditions.push(condition);
  where.values.push(...values);
}

/**
 * One value may use the filter's own index, which then gives the order too. Several, or a sort by score, must not (`+`
 * hides the column from the planner): it would read and sort all that match before it shows the first 25.
 */
function addList(where: Where, column: string, values: string[], sortedByScore: boolean): void {
  const [first] = values;
  if (first === undefined) return;
  const name = sortedByScore || values.length > 1 ? `+${column}` : column;
  if (values.length === 1) add(where, `${name} = ?`, first);
  else add(where, `${name} IN (SELECT value FROM json_each(?))`, JSON.stringify(values));
}

/** A domain selects so few rows that sorting them is cheaper than walking past all others. */
function addDomains(where: Where, domains: string[]): void {
  const [first] = domains;
  if (first === undefined) return;
  add(where, "company_domain <> ''"); // as the index says
  if (domains.length === 1) add(where, 'company_domain = ?', first);
  else add(where, 'company_domain IN (SELECT value FROM json_each(?))', JSON.stringify(domains));
}

/** Both are JSON texts written by us, so that cutting the closing brace is safe; parsing would cost 20 times as much. */
function spliceExplanation(row: ListRow): string {
  return `${row.wire.slice(0, -1)},"explanation":${row.explanation}}`;
}
