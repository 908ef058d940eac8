import type { Database } from 'better-sqlite3';
import { addAll } from '../../../lib/lists.ts';
import type { Company, CompanyQuery } from '../../../model/company.ts';
import type { Lead } from '../../../model/lead.ts';
import type { Signal } from '../../../model/signal.ts';
import { contactsOf } from '../../../rules/signals.ts';
import type { CompanyStore } from '../../company-store.ts';
import { pageOf } from '../../pages.ts';
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
    listCompanies(tenantId, query) {
      const { sql, values, key } = buildCompanyListSql(tenantId, query);
      return pageOf(ACTIVE_COMPANIES.rows(db, sql).all(...values), query.limit, {
        toRow: ({ activeAt: _, ...company }): Company => company,
        position: (row) => [row[key], row.id],
      });
    },
  } satisfies Part<CompanyStore>;
}

/** The statement of a page, with its values and its sort column. */
export function buildCompanyListSql(tenantId: string, query: CompanyQuery) {
  const [key, column] =
    query.sort === '-created_at'
      ? (['createdAt', 'created_at'] as const)
      : (['activeAt', 'active_at'] as const);
  const conditions = ['tenant_id = ?'];
  const values: (string | number)[] = [tenantId];
  const add = (condition: string, ...more: (string | number)[]) => {
    conditions.push(condition);
    addAll(values, more);
  };
  if (query.domains.length > 0)
    add(`domain IN (${query.domains.map(() => '?').join(', ')})`, ...query.domains);
  if (query.industries.length > 0) {
    // With one industry, the order by time is a scan of its own index; otherwise the industry is checked during the
    // scan.
    const own = query.industries.length === 1 && key === 'createdAt';
    if (own) add("industry <> ''"); // the condition of the partial index
    add(`${own ? '' : '+'}industry IN (${query.industries.map(() => '?').join(', ')})`, ...query.industries);
  }
  if (query.search !== null) add('instr(search, ?) > 0', query.search);
  if (query.after !== null) add(`(${column}, id) < (?, ?)`, ...query.after);
  const sql = `SELECT ${ACTIVE_COMPANIES.list} FROM companies WHERE ${conditions.join(' AND ')}
    ORDER BY ${column} DESC, id DESC LIMIT ?`;
  return { sql, values: [...values, query.limit + 1], key } as const;
}

/** The newest signals of a company that are read for contacts; each has to be parsed. */
const CONTACT_SIGNALS = 200;

/** People at a company, from its leads and signals. */
export function companySignalReads(db: Database) {
  const selectLeads = db
    .prepare<[string, string, number], string>(
      `SELECT wire FROM leads WHERE tenant_id = ? AND company_domain = ? AND company_domain <> ''
       ORDER BY created_at DESC, id DESC LIMIT ?`,
    )
    .pluck();
  const selectWires = db
    .prepare<[string, string, number], string>(
      `SELECT wire FROM signals WHERE tenant_id = ? AND company_domain = ? AND company_domain <> ''
       ORDER BY timestamp DESC LIMIT ?`,
    )
    .pluck();

  return {
    listCompanyContacts(tenantId, domain, limit) {
      const leads = selectLeads.all(tenantId, domain, limit).map((wire) => JSON.parse(wire) as Lead);
      const signals = selectWires
        .all(tenantId, domain, CONTACT_SIGNALS)
        .map((wire) => JSON.parse(wire) as Signal);
      return contactsOf(leads, signals, domain).slice(0, limit);
    },
  } satisfies Part<CompanyStore>;
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

  return {
    /** The time of the signal that is `scan` places after the first; null if there are fewer. */
    endOf: (span: CompanySpan, scan: number): number | null => selectEnd.get({ ...span, scan }) ?? null,
    count: (span: CompanySpan): number => selectCount.get(span) ?? 0,
    steps: (span: CompanySpan, { since, stepMs }: { since: number; stepMs: number }) =>
      selectSteps.all({ ...span, since, stepMs }),
    top: (span: CompanySpan, limit: number): RankedSignal[] => selectTop.all({ ...span, limit }),
    lastAt: (tenantId: string, domain: string): number | null => selectLast.get(tenantId, domain) ?? null,
    wires: (ids: readonly string[]): string[] => ids.flatMap((id) => selectWire.all(id)),
  };
}
