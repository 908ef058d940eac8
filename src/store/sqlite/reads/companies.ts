import type { Database } from 'better-sqlite3';
import { addAll } from '../../../lib/lists.ts';
import type { Company, CompanyQuery } from '../../../model/company.ts';
import type { Lead } from '../../../model/lead.ts';
import type { Signal } from '../../../model/signal.ts';
import { contactsOf } from '../../../rules/signals.ts';
import type { CompanyStore } from '../../company-store.ts';
import { pageOf } from '../../pages.ts';
import { type Part, Table } from '../table.ts';

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

/** Facts about a company from signals and leads. */
export function companySignalReads(db: Database) {
  const count = db
    .prepare<[string, string, number], number>(
      `SELECT count(*) FROM signals
       WHERE tenant_id = ? AND company_domain = ? AND company_domain <> '' AND timestamp >= ?`,
    )
    .pluck();
  const selectSteps = db.prepare<Record<string, unknown>[], { step: number; count: number }>(
    COMPANY_STEPS_SQL,
  );
  const selectLast = db
    .prepare<[string, string], number | null>(
      "SELECT max(timestamp) FROM signals WHERE tenant_id = ? AND company_domain = ? AND company_domain <> ''",
    )
    .pluck();
  const selectTop = db.prepare<[string, string, number, number], string>(TOP_SIGNALS_SQL).pluck();
  const selectWire = db.prepare<[string], string>('SELECT wire FROM signals WHERE id = ?').pluck();
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
    readCompanyActivity: (tenantId, domains, since) =>
      domains.map((domain) => ({
        counts: since.map((time) => count.get(tenantId, domain, time) ?? 0),
        lastAt: selectLast.get(tenantId, domain) ?? null,
      })),
    countCompanySignals: (tenantId, domain, { from, stepMs }) =>
      selectSteps.all({ tenantId, domain, from, stepMs }),
    listTopSignals: (tenantId, domain, { since, limit }) =>
      selectTop.all(tenantId, domain, since, limit).map((id) => selectWire.get(id) ?? '{}'),
    listCompanyContacts(tenantId, domain, limit) {
      const leads = selectLeads.all(tenantId, domain, limit).map((wire) => JSON.parse(wire) as Lead);
      const signals = selectWires
        .all(tenantId, domain, CONTACT_SIGNALS)
        .map((wire) => JSON.parse(wire) as Signal);
      return contactsOf(leads, signals, domain).slice(0, limit);
    },
  } satisfies Part<CompanyStore>;
}

/** Counts a company's signals over time, from the index alone. */
const COMPANY_STEPS_SQL = `SELECT CAST((timestamp - :from) / :stepMs AS INTEGER) AS step, count(*) AS count
   FROM signals INDEXED BY signals_by_domain
   WHERE tenant_id = :tenantId AND company_domain = :domain AND company_domain <> '' AND timestamp >= :from
   GROUP BY step ORDER BY step`;

/** A company's best signals, read and sorted from the index alone. */
export const TOP_SIGNALS_SQL = `SELECT id FROM signals
  WHERE tenant_id = ? AND company_domain = ? AND company_domain <> '' AND timestamp >= ?
  ORDER BY score DESC, timestamp DESC, id LIMIT ?`;
