import type { Database, Statement } from 'better-sqlite3';
import { addAll } from '../../../lib/lists.ts';
import { createRecentMap } from '../../../lib/recent-map.ts';
import { DomainError } from '../../../model/errors.ts';
import type { LeadQuery } from '../../../model/lead.ts';
import type { Page } from '../../../model/page.ts';
import { wordsOf } from '../../../rules/words.ts';
import { pageOf } from './pages.ts';

interface ListRow {
  id: string;
  created_at: number;
  score: number;
  wire: string;
}

interface Order {
  /** Columns of the keyset, most significant first. */
  key: ('created_at' | 'score' | 'id')[];
  direction: 'ASC' | 'DESC';
}

const ORDERS: Record<LeadQuery['sort'], Order> = {
  '-created_at': { key: ['created_at', 'id'], direction: 'DESC' },
  created_at: { key: ['created_at', 'id'], direction: 'ASC' },
  '-icp_score': { key: ['score', 'created_at', 'id'], direction: 'DESC' },
};

/** Shapes are few in practice; the bound keeps a client who tries them all from filling the memory. */
const MAX_CACHED_SHAPES = 256;

/** Sorts after whatever a word goes on with. */
const LAST_CHARACTER = '\u{10ffff}';

type Value = string | number;

/** The conditions of a query with their values, in the same order. */
interface Where {
  conditions: string[];
  values: Value[];
}

/** Pages of leads: a walk along an index that ends in the page's order, no OFFSET, no count. */
export function createLeadList(db: Database): (tenantId: string, query: LeadQuery) => Page<string> {
  const statements = createRecentMap<string, Statement<Value[], ListRow>>(MAX_CACHED_SHAPES);

  function prepared(sql: string): Statement<Value[], ListRow> {
    const cached = statements.get(sql);
    if (cached !== undefined) return cached;
    const statement = db.prepare<Value[], ListRow>(sql);
    statements.set(sql, statement);
    return statement;
  }

  return (tenantId, query) => {
    if (query.q !== null && wordsOf(query.q).length === 0) return { rows: [], last: null };
    const { key } = ORDERS[query.sort];
    const { sql, values } = buildLeadListSql(tenantId, query);
    const found = prepared(sql).all(...values);
    return pageOf(found, query.limit, {
      toRow: (row) => row.wire,
      position: (row) => key.map((column) => row[column]),
    });
  };
}

/** The statement of a query and its values; the text depends on the query's shape only. */
export function buildLeadListSql(tenantId: string, query: LeadQuery): { sql: string; values: Value[] } {
  const { key, direction } = ORDERS[query.sort];
  const byScore = key[0] === 'score';
  // A tag selects few: its own table leads, in the order of time. By score the leads lead, and the tag is looked up.
  const byTag = query.tag !== null && !byScore;
  const where: Where = { conditions: [], values: [] };
  if (byTag) add(where, 't.tenant_id = ? AND t.tag = ?', tenantId, query.tag ?? '');
  else add(where, 'l.tenant_id = ?', tenantId);

  addFilters(where, tenantId, query, byScore || byTag);
  const columns = key.map((column) => (byTag ? tagColumn(column) : `l.${column}`));
  if (query.after !== null) {
    if (query.after.length !== key.length) {
      throw new DomainError('INVALID_CURSOR', 'The cursor is of another order.');
    }
    const comparison = direction === 'DESC' ? '<' : '>';
    add(where, `(${columns.join(', ')}) ${comparison} (${key.map(() => '?').join(', ')})`, ...query.after);
  }
  const from = byTag ? 'lead_tags t CROSS JOIN leads l ON l.id = t.lead_id' : 'leads l';
  const orderBy = columns.map((column) => `${column} ${direction}`).join(', ');
  return {
    sql: `SELECT l.id, l.created_at, l.score, l.wire FROM ${from} WHERE ${where.conditions.join(' AND ')} ORDER BY ${orderBy} LIMIT ?`,
    values: [...where.values, query.limit + 1],
  };
}

function addFilters(where: Where, tenantId: string, query: LeadQuery, ordered: boolean): void {
  addList(where, 'stage', query.stages, ordered);
  addList(where, 'classification', query.classifications, ordered);
  addList(where, 'source', query.sources, ordered);
  addDomains(where, query.companyDomains);
  if (query.owners.length > 0) add(where, "l.owner <> ''"); // as the index says
  addList(where, 'owner', query.owners, ordered);
  if (query.minScore !== null) {
    add(where, query.sort === '-icp_score' ? 'l.score >= ?' : '+l.score >= ?', query.minScore);
  }
  if (query.identity !== null) {
    add(
      where,
      'l.id = (SELECT lead_id FROM lead_identities WHERE tenant_id = ? AND key = ?)',
      tenantId,
      query.identity,
    );
  }
  for (const word of query.q === null ? [] : wordsOf(query.q)) {
    const found = 'SELECT lead_id FROM lead_words WHERE tenant_id = ? AND word >= ? AND word < ?';
    add(where, `l.id IN (${found})`, tenantId, word, `${word}${LAST_CHARACTER}`);
  }
  if (query.tag !== null && query.sort === '-icp_score') {
    const tagged = 't.tenant_id = ? AND t.tag = ? AND t.created_at = l.created_at AND t.lead_id = l.id';
    add(where, `EXISTS (SELECT 1 FROM lead_tags t WHERE ${tagged})`, tenantId, query.tag);
  }
}

/** A domain selects so few rows that sorting them is cheaper than walking past all others. */
function addDomains(where: Where, domains: readonly string[]): void {
  const [first] = domains;
  if (first === undefined) return;
  add(where, "l.company_domain <> ''"); // as the index says
  if (domains.length === 1) add(where, 'l.company_domain = ?', first);
  else add(where, 'l.company_domain IN (SELECT value FROM json_each(?))', JSON.stringify(domains));
}

function tagColumn(column: 'created_at' | 'score' | 'id'): string {
  return column === 'id' ? 't.lead_id' : `t.${column}`;
}

function add(where: Where, condition: string, ...values: Value[]): void {
  where.conditions.push(condition);
  addAll(where.values, values);
}

/** As in `signal-list.ts`: one value may use the filter's own index; what would force a sort is hidden by `+`. */
function addList(where: Where, column: string, values: readonly string[], ordered: boolean): void {
  const [first] = values;
  if (first === undefined) return;
  const name = ordered || values.length > 1 ? `+l.${column}` : `l.${column}`;
  if (values.length === 1) add(where, `${name} = ?`, first);
  else add(where, `${name} IN (SELECT value FROM json_each(?))`, JSON.stringify(values));
}
