import type { Database } from 'better-sqlite3';
import { fold } from '../../../lib/text.ts';
import type { Company, ObservedCompany } from '../../../model/company.ts';
import { factInForce } from '../../../model/company-facts.ts';
import { activityOf, observeCompany } from '../../../rules/observed-company.ts';
import type { CompanyStore } from '../../company-store.ts';
import type { NewSignal } from '../../signal-store.ts';
import type { Part } from '../../store.ts';
import { ACTIVE_COMPANIES } from '../reads/companies.ts';

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
  const insert = STORED.insert(db, 'ON CONFLICT DO NOTHING');
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE companies SET search = :search, industry = :industry, facts = :facts, updated_at = :updatedAt,
            version = :version
     WHERE id = :id AND tenant_id = :tenantId AND version = :expectedVersion`,
  );

  return (company, expectedVersion, activeAt) => {
    const row = { ...company, ...searchedFor(company), activeAt };
    if (expectedVersion === 0) return insert(row);
    return update.run({ ...STORED.encode(row), expectedVersion }).changes === 1;
  };
}

/** Keeps what a new signal says of its company. Mostly nothing: then it is one look-up and no write. */
export function createCompanyObserver(db: Database): (signal: NewSignal, observed: ObservedCompany) => void {
  const save = createCompanyWriter(db);
  const setActive = db.prepare<[number, string]>('UPDATE companies SET active_at = ? WHERE id = ?');
  const selectByDomain = ACTIVE_COMPANIES.select<[string, string]>(db, 'WHERE domain = ? AND tenant_id = ?');

  return (signal, observed) => {
    const row = selectByDomain.get(observed.company.domain, signal.tenantId);
    const activeAt = activityOf(signal.timestamp);
    if (row !== null && activeAt > row.activeAt) setActive.run(activeAt, row.id);
    const company = observeCompany(row, observed, signal);
    if (company !== null) save(company, row?.version ?? 0, activeAt);
  };
}

interface Searched {
  search: string;
  industry: string;
}
const STORED = ACTIVE_COMPANIES.with<Searched>({ search: 'plain', industry: 'plain' });

/** Name and industry are those in force: what is shown is what is found. */
function searchedFor({ facts, domain }: Company): Searched {
  return {
    search: `${fold(factInForce(facts, 'name')?.value ?? '')} ${domain}`,
    industry: fold(factInForce(facts, 'industry')?.value ?? ''),
  };
}
