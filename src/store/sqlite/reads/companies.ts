import type { Database } from 'better-sqlite3';
import { addAll } from '../../../lib/lists.ts';
import type { Company, CompanyQuery } from '../../../model/company.ts';
import type { Position } from '../../../model/filters.ts';
import type { CompanyStore } from '../../company-store.ts';
import type { SqlFragment, SqlValue, WhereClause } from '../../pages.ts';
import { type Part, Table } from '../table.ts';
import type { RankedSignal } from './lead-signals.ts';

const COMPANIES = new Table<Company>('companies', {
  id: 'plain',
  tenantId: 'plain',
  domain: 'plain',
  facts: 'json',
  createdAt: 'plain',
  updatedAt: 'plain',
  version: 'plain',
});

/** With the time of the latest signal that named each, by which lists are sorted. */
export const ACTIVE_COMPANIES = COMPANIES.with<{ activeAt: number }>({ activeAt: 'plain' });

export function companyReads(db: Database) {
  const selectById = COMPANIES.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  const selectByDomain = COMPANIES.select<[string, string]>(db, 'WHERE domain = ? AND tenant_id = ?');

  return {
    findCompany: (tenantId, key) =>
      'id' in key ? selectById.get(key.id, tenantId) : selectByDomain.get(key.domain, tenantId),
  } satisfies Part<CompanyStore>;
}

/** A company in a list, with what lists are sorted by. */
export type ListedCompany = Company & { activeAt: number };

/** A part of a page: matches, and the position of the last company that was scanned; null: there are no others. */
export interface CompanyPart {
  found: ListedCompany[];
  next: Position | null;
}

/** Pages of companies. A part is limited by the number of companies scanned, not found. */
export function createCompanyPages(db: Database) {
  // One transaction, so that both statements see the same companies.
  const walk = db.transaction((tenantId: string, query: CompanyQuery, scan: number): CompanyPart => {
    const { part, edge } = buildCompanyWalkSql(tenantId, query, scan);
    const found = ACTIVE_COMPANIES.rows(db, part.sql).all(...part.values);
    const last = found.length === query.limit ? found.at(-1) : undefined;
    if (last !== undefined) return { found, next: positionOfCompany(last, query) };
    const end = db
      .prepare<SqlValue[], [number, string]>(edge.sql)
      .raw()
      .get(...edge.values);
    return { found, next: end ?? null };
  });

  return {
    /** Scans `scan` companies after a position, and returns up to `limit` matches. */
    walk: (tenantId: string, query: CompanyQuery, scan: number): CompanyPart => walk(tenantId, query, scan),
    /** Up to `limit` matches among those with the domains of the query, in order. */
    ofDomains(tenantId: string, query: CompanyQuery): ListedCompany[] {
      const { sql, values } = buildDomainsSql(tenantId, query);
      return ACTIVE_COMPANIES.rows(db, sql).all(...values);
    },
  };
}

const ORDERS = { '-created_at': 'created_at', '-last_signal_at': 'active_at' } as const;

export function positionOfCompany(company: ListedCompany, { sort }: Pick<CompanyQuery, 'sort'>): Position {
  return [sort === '-created_at' ? company.createdAt : company.activeAt, company.id];
}

/** The statement of the companies with some domains. */
export function buildDomainsSql(tenantId: string, query: CompanyQuery): SqlFragment<SqlValue> {
  const { domains, industries, search, sort, limit, after } = query;
  const where: WhereClause<SqlValue> = { conditions: ['tenant_id = ?'], values: [tenantId] };
  add(where, `domain IN (${marks(domains)})`, ...domains);
  if (industries.length > 0) add(where, `+industry IN (${marks(industries)})`, ...industries);
  if (search !== null) add(where, 'instr(search, ?) > 0', search);
  if (after !== null) add(where, `(${ORDERS[sort]}, id) < (?, ?)`, ...after);
  return {
    sql: `SELECT ${ACTIVE_COMPANIES.list} FROM companies WHERE ${where.conditions.join(' AND ')}
      ORDER BY ${ORDERS[sort]} DESC, id DESC LIMIT ?`,
    values: [...where.values, limit],
  };
}

/**
 * The statements of a part of a page in order: its matches, and the position of the last company scanned. In the order of creation,
 * one industry has an index of its own; otherwise, industries are checked during the scan. The texts that are searched are in the
 * indexes. SQLite keeps the order of a subquery with a LIMIT.
 */
export function buildCompanyWalkSql(tenantId: string, query: CompanyQuery, scan: number) {
  const { industries, search, sort, limit, after } = query;
  const [industry] = industries;
  const isOwn = industry !== undefined && industries.length === 1 && sort === '-created_at';
  const index = isOwn
    ? 'companies_by_industry'
    : { '-created_at': 'companies_by_time', '-last_signal_at': 'companies_by_activity' }[sort];
  const scope: WhereClause<SqlValue> = { conditions: ['tenant_id = ?'], values: [tenantId] };
  if (isOwn) add(scope, "industry <> '' AND industry = ?", industry); // the condition of the partial index
  if (after !== null) add(scope, `(${ORDERS[sort]}, id) < (?, ?)`, ...after);
  const scanned = `FROM companies INDEXED BY ${index} WHERE ${scope.conditions.join(' AND ')}
    ORDER BY ${ORDERS[sort]} DESC, id DESC`;
  const matches: WhereClause<SqlValue> = { conditions: ['TRUE'], values: [] };
  if (search !== null) add(matches, 'instr(sought, ?) > 0', search);
  if (industries.length > 0 && !isOwn) add(matches, `industry IN (${marks(industries)})`, ...industries);
  return {
    part: {
      sql: `SELECT ${ACTIVE_COMPANIES.list} FROM (SELECT rowid AS link, search AS sought ${scanned} LIMIT ?)
        CROSS JOIN companies c ON c.rowid = link WHERE ${matches.conditions.join(' AND ')} LIMIT ?`,
      values: [...scope.values, scan, ...matches.values, limit],
    },
    edge: {
      sql: `SELECT ${ORDERS[sort]}, id ${scanned} LIMIT 1 OFFSET ?`,
      values: [...scope.values, scan - 1],
    },
  };
}

function marks(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ');
}

function add(where: WhereClause<SqlValue>, condition: string, ...values: SqlValue[]): void {
  where.conditions.push(condition);
  addAll(where.values, values);
}

/** Signals of a company in a span of time: milliseconds, both included. */
export interface CompanySpan {
  tenantId: string;
  domain: string;
  from: number;
  to: number;
}

/** Reads a company's signals from the index alone. */
const OF_SPAN = `FROM signals INDEXED BY signals_by_domain
  WHERE tenant_id = :tenantId AND company_domain = :domain AND company_domain <> '' AND timestamp >= :from AND timestamp <= :to`;

/** A company's best signals. */
export const TOP_SIGNALS_SQL = `SELECT id, score, timestamp ${OF_SPAN} ORDER BY score DESC, timestamp DESC, id LIMIT :limit`;

/** Scans of all signals of a company, in spans that have a bounded number. */
export function createCompanyScans(db: Database) {
  const selectEnd = db
    .prepare<Record<string, unknown>[], number>(
      `SELECT timestamp ${OF_SPAN} ORDER BY timestamp LIMIT 1 OFFSET :scan`,
    )
    .pluck();
  const selectCount = db.prepare<CompanySpan[], number>(`SELECT count(*) ${OF_SPAN}`).pluck();
  const selectSteps = db.prepare<Record<string, unknown>[], { step: number; count: number }>(
    `SELECT CAST((timestamp - :since) / :stepMs AS INTEGER) AS step, count(*) AS count ${OF_SPAN} GROUP BY step`,
  );
  const selectTop = db.prepare<Record<string, unknown>[], RankedSignal>(TOP_SIGNALS_SQL);
  const selectLast = db
    .prepare<[string, string], number | null>(
      "SELECT max(timestamp) FROM signals WHERE tenant_id = ? AND company_domain = ? AND company_domain <> ''",
    )
    .pluck();
  const selectWire = db.prepare<[string], string>('SELECT wire FROM signals WHERE id = ?').pluck();
  const selectLeads = db
    .prepare<[string, string, number], string>(
      `SELECT id FROM leads WHERE tenant_id = ? AND company_domain = ? AND company_domain <> ''
       ORDER BY created_at DESC, id DESC LIMIT ?`,
    )
    .pluck();
  const selectLead = db.prepare<[string], string>('SELECT wire FROM leads WHERE id = ?').pluck();
  const selectNewest = db
    .prepare<[string, string, number], string>(
      `SELECT id FROM signals WHERE tenant_id = ? AND company_domain = ? AND company_domain <> ''
       ORDER BY timestamp DESC LIMIT ?`,
    )
    .pluck();

  return {
    newestLeads: (tenantId: string, domain: string, limit: number): string[] =>
      selectLeads.all(tenantId, domain, limit),
    leadWireOf: (id: string): string | null => selectLead.get(id) ?? null,
    newestSignals: (tenantId: string, domain: string, limit: number): string[] =>
      selectNewest.all(tenantId, domain, limit),
    /** The time of the signal that is `scan` places after the first; null if there are fewer. */
    endOf: (span: CompanySpan, scan: number): number | null => selectEnd.get({ ...span, scan }) ?? null,
    count: (span: CompanySpan): number => selectCount.get(span) ?? 0,
    steps: (span: CompanySpan, { since, stepMs }: { since: number; stepMs: number }) =>
      selectSteps.all({ ...span, since, stepMs }),
    top: (span: CompanySpan, limit: number): RankedSignal[] => selectTop.all({ ...span, limit }),
    lastAt: (tenantId: string, domain: string): number | null => selectLast.get(tenantId, domain) ?? null,
    wireOf: (id: string): string | null => selectWire.get(id) ?? null,
  };
}
