import type { Database } from 'better-sqlite3';
import { addAll } from '../../../lib/lists.ts';
import type { Company, CompanyQuery } from '../../../model/company.ts';
import type { CompanyStore } from '../../company-store.ts';
import type { Part } from '../../store.ts';
import { Table } from '../table.ts';
import { pageOf } from './pages.ts';

const COMPANIES = new Table<Company>('companies', {
  id: 'plain',
  tenantId: 'plain',
  domain: 'plain',
  facts: 'json',
  createdAt: 'plain',
  updatedAt: 'plain',
  version: 'plain',
});

/** With when the last signal named each, which lists are in the order of. */
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

/** The statement of a page with its values and the column of its order. */
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
    // One industry in the order of time is a walk along its own index; else the industry is looked at on the way.
    const own = query.industries.length === 1 && key === 'createdAt';
    if (own) add("industry <> ''"); // as the index says
    add(`${own ? '' : '+'}industry IN (${query.industries.map(() => '?').join(', ')})`, ...query.industries);
  }
  if (query.search !== null) add('instr(search, ?) > 0', query.search);
  if (query.after !== null) add(`(${column}, id) < (?, ?)`, ...query.after);
  const sql = `SELECT ${ACTIVE_COMPANIES.list} FROM companies WHERE ${conditions.join(' AND ')}
    ORDER BY ${column} DESC, id DESC LIMIT ?`;
  return { sql, values: [...values, query.limit + 1], key } as const;
}
