import type { Database } from 'better-sqlite3';
import { fold } from '../../../lib/text.ts';
import type { Company, CompanyQuery, ObservedCompany } from '../../../model/company.ts';
import { type CompanyFacts, factInForce, NO_FACTS, observeFacts } from '../../../model/company-facts.ts';
import type { CompanyPage } from '../../company-store.ts';
import type { NewSignal } from '../../signal-store.ts';

/** How exact the order by activity is: a burst of signals moves a company once. */
const ACTIVITY_GRAIN_MS = 3_600_000;

interface CompanyRow {
  id: string;
  tenant_id: string;
  domain: string;
  facts: string;
  active_at: number;
  created_at: number;
  updated_at: number;
  version: number;
}

const COLUMNS = 'id, tenant_id, domain, facts, active_at, created_at, updated_at, version';

function toCompany(row: CompanyRow): Company {
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

export function createCompanySql(db: Database) {
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO companies
       (id, tenant_id, domain, search, industry, facts, active_at, created_at, updated_at, version)
     VALUES
       (:id, :tenantId, :domain, :search, :industry, :facts, :activeAt, :createdAt, :updatedAt, :version)
     ON CONFLICT DO NOTHING`,
  );
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE companies SET search = :search, industry = :industry, facts = :facts, updated_at = :updatedAt,
            version = :version
     WHERE id = :id AND tenant_id = :tenantId AND version = :expectedVersion`,
  );
  const setActive = db.prepare<[number, string]>('UPDATE companies SET active_at = ? WHERE id = ?');
  const selectById = db.prepare<[string, string], CompanyRow>(
    `SELECT ${COLUMNS} FROM companies WHERE id = ? AND tenant_id = ?`,
  );
  const selectByDomain = db.prepare<[string, string], CompanyRow>(
    `SELECT ${COLUMNS} FROM companies WHERE domain = ? AND tenant_id = ?`,
  );

  function save(company: Company, expectedVersion: number): boolean {
    const columns = toColumns(company);
    if (expectedVersion === 0) return insert.run({ ...columns, activeAt: 0 }).changes === 1;
    return update.run({ ...columns, expectedVersion }).changes === 1;
  }

  return {
    save,
    get(tenantId: string, key: { id: string } | { domain: string }): Company | null {
      const row = 'id' in key ? selectById.get(key.id, tenantId) : selectByDomain.get(key.domain, tenantId);
      return row === undefined ? null : toCompany(row);
    },
    list(tenantId: string, query: CompanyQuery): CompanyPage {
      const { sql, values, key } = buildCompanyListSql(tenantId, query);
      const found = db.prepare<unknown[], CompanyRow>(sql).all(...values);
      const rows = found.slice(0, query.limit);
      const last = found.length > query.limit ? rows.at(-1) : undefined;
      return { rows: rows.map(toCompany), last: last === undefined ? null : [last[key], last.id] };
    },
    /** Keeps what a new signal says of its company. Mostly nothing: then it is one look-up and no write. */
    observe({ tenantId, id: signalId, timestamp }: NewSignal, { id, company }: ObservedCompany): void {
      const row = selectByDomain.get(company.domain, tenantId);
      const seen = { signalId, at: timestamp };
      const activeAt = timestamp - (timestamp % ACTIVITY_GRAIN_MS);
      if (row === undefined) {
        const facts = observeFacts(NO_FACTS, company, seen);
        const times = { createdAt: timestamp, updatedAt: timestamp };
        const made = { id, tenantId, domain: company.domain, facts, ...times, version: 1 };
        insert.run({ ...toColumns(made), activeAt });
        return;
      }
      if (activeAt > row.active_at) setActive.run(activeAt, row.id);
      const known = toCompany(row);
      const facts = observeFacts(known.facts, company, seen);
      if (facts === known.facts) return;
      save({ ...known, facts, updatedAt: timestamp, version: known.version + 1 }, known.version);
    },
  };
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
  const sql = `SELECT ${COLUMNS} FROM companies WHERE ${conditions.join(' AND ')}
    ORDER BY ${key} DESC, id DESC LIMIT ?`;
  return { sql, values: [...values, query.limit + 1], key } as const;
}

/** Name and industry are those in force: what is shown is what is found. */
function toColumns(company: Company): Record<string, unknown> {
  return {
    ...company,
    search: `${fold(factInForce(company.facts, 'name')?.value ?? '')} ${company.domain}`,
    industry: fold(factInForce(company.facts, 'industry')?.value ?? ''),
    facts: JSON.stringify(company.facts),
  };
}
