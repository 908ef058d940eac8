import type { Database } from 'better-sqlite3';
import { fold } from '../../../lib/text.ts';
import type { Company, ObservedCompany } from '../../../model/company.ts';
import { factInForce } from '../../../model/company-facts.ts';
import { activityOf, observeCompany } from '../../../rules/observed-company.ts';
import type { CompanyStore } from '../../company-store.ts';
import type { NewSignal } from '../../signal-store.ts';
import type { Part } from '../../store.ts';
import { COMPANY_COLUMNS, type CompanyRow, toCompany } from '../reads/companies.ts';

export function companyChanges(db: Database) {
  const save = createCompanyWriter(db);
  return {
    saveCompany: (company, expectedVersion) => save(company, expectedVersion, 0),
  } satisfies Part<CompanyStore>;
}

/** Stores a company that was decided on at a version, 0 for a new one; false where that no longer holds. */
function createCompanyWriter(
  db: Database,
): (company: Company, expectedVersion: number, activeAt: number) => boolean {
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

  return (company, expectedVersion, activeAt) => {
    const columns = toColumns(company);
    if (expectedVersion === 0) return insert.run({ ...columns, activeAt }).changes === 1;
    return update.run({ ...columns, expectedVersion }).changes === 1;
  };
}

/** Keeps what a new signal says of its company. Mostly nothing: then it is one look-up and no write. */
export function createCompanyObserver(db: Database): (signal: NewSignal, observed: ObservedCompany) => void {
  const save = createCompanyWriter(db);
  const setActive = db.prepare<[number, string]>('UPDATE companies SET active_at = ? WHERE id = ?');
  const selectByDomain = db.prepare<[string, string], CompanyRow>(
    `SELECT ${COMPANY_COLUMNS} FROM companies WHERE domain = ? AND tenant_id = ?`,
  );

  return (signal, observed) => {
    const row = selectByDomain.get(observed.company.domain, signal.tenantId);
    const activeAt = activityOf(signal.timestamp);
    if (row !== undefined && activeAt > row.active_at) setActive.run(activeAt, row.id);
    const company = observeCompany(row === undefined ? null : toCompany(row), observed, signal);
    if (company !== null) save(company, row?.version ?? 0, activeAt);
  };
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
