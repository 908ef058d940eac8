import type { Database } from 'better-sqlite3';
import type { Company, CompanyQuery } from '../../../model/company.ts';
import type { CompanyFacts } from '../../../model/company-facts.ts';
import type { CompanyStore } from '../../company-store.ts';
import type { Part } from '../../store.ts';
import { pageOf } from './pages.ts';

/** A `companies` row, as far as it is read. */
export interface CompanyRow {
  id: string;
  tenant_id: string;
  domain: string;
  facts: string;
  active_at: number;
  created_at: number;
  updated_at: number;
  version: number;
}

/** The columns of a {@link CompanyRow}. */
export const COMPANY_COLUMNS = 'id, tenant_id, domain, facts, active_at, created_at, updated_at, version';

export function toCompany(row: CompanyRow): Company {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    domain: row.domain,
    facts: JSON.parse(row.facts) as CompanyFacts,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: row.version,
  };
}

export function companyReads(db: Database) {
  const selectById = db.prepare<[string, string], CompanyRow>(
    `SELECT ${COMPANY_COLUMNS} FROM companies WHERE id = ? AND tenant_id = ?`,
  );
  const selectByDomain = db.prepare<[string, string], CompanyRow>(
    `SELECT ${COMPANY_COLUMNS} FROM companies WHERE domain = ? AND tenant_id = ?`,
  );

  return {
    findCompany(tenantId, key) {
      const row = 'id' in key ? selectById.get(key.id, tenantId) : selectByDomain.get(key.domain, tenantId);
      return row === undefined ? null : toCompany(row);
    },
    listCompanies(tenantId, query) {
      const { sql, values, key } = buildCompanyListSql(tenantId, query);
      const found = db.prepare<unknown[], CompanyRow>(sql).all(...values);
      return pageOf(found, query.limit, { toRow: toCompany, position: (row) => [row[key], row.id] });
    },
  } satisfies Part<CompanyStore>;
}

/** The statement of a page with its values and the column of its order. */
export function buildCompanyListSql(tenantId: string, query: CompanyQuery) {
  const key = query.sort === '-created_at' ? 'created_at' : 'active_at';
  const conditions = ['tenant_id = ?'];
  const values: (string | number)[] = [tenantId];
  const add = (condition: string, ...more: (string | number)[]) => {
    conditions.push(condition);
    values.push(...more);
  };
  if (query.domains.length > 0)
    add(`domain IN (${query.domains.map(() => '?').join(', ')})`, ...query.domains);
  if (query.industries.length > 0) {
    // One industry in the order of time is a walk along its own index; else the industry is looked at on the way.
    const own = query.industries.length === 1 && key === 'created_at';
    if (own) add("industry <> ''"); // as the index says
    add(`${own ? '' : '+'}industry IN (${query.industries.map(() => '?').join(', ')})`, ...query.industries);
  }
  if (query.search !== null) add('instr(search, ?) > 0', query.search);
  if (query.after !== null) add(`(${key}, id) < (?, ?)`, ...query.after);
  const sql = `SELECT ${COMPANY_COLUMNS} FROM companies WHERE ${conditions.join(' AND ')}
    ORDER BY ${key} DESC, id DESC LIMIT ?`;
  return { sql, values: [...values, query.limit + 1], key } as const;
}
