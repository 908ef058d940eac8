import { fold } from '../../lib/text.ts';
import type { Company, ObservedCompany } from '../../model/company.ts';
import { factInForce } from '../../model/company-facts.ts';
import { activityOf, observeCompany } from '../../rules/signals.ts';
import type { CompanyStore } from '../company-store.ts';
import type { Asks, Script, Scripts } from '../script.ts';
import type { NewSignal } from '../signal-store.ts';

/** A company with its search columns, and the time of its latest signal. */
export interface StoredCompany extends Company {
  search: string;
  industry: string;
  activeAt: number;
}

export interface CompanyStatements {
  companies: {
    updateCompany(company: StoredCompany, expectedVersion: number): boolean;
    setActive(activeAt: number, id: string): void;
    /** False if there already is one with this domain. */
    insertCompany(company: StoredCompany): boolean;
    selectByDomain(domain: string, tenantId: string): (Company & { activeAt: number }) | null;
  };
}

export function companyChanges(ask: Asks<CompanyStatements>) {
  const save = createCompanyWriter(ask);
  return {
    saveCompany: (company, expectedVersion) => save(company, expectedVersion, 0),
  } satisfies Scripts<CompanyStore>;
}

/** Stores a company based on a version (0: it is new); false if the version has changed. */
function createCompanyWriter(
  ask: Asks<CompanyStatements>,
): (company: Company, expectedVersion: number, activeAt: number) => Script<boolean> {
  return function* (company, expectedVersion, activeAt) {
    const row = { ...company, ...searchedFor(company), activeAt };
    if (expectedVersion === 0) return yield* ask.companies.insertCompany(row);
    return yield* ask.companies.updateCompany(row, expectedVersion);
  };
}

/** Adds a new signal's facts to its company. Usually there are none: then it costs one look-up and no write. */
export function createCompanyObserver(
  ask: Asks<CompanyStatements>,
): (signal: NewSignal, observed: ObservedCompany) => Script<void> {
  const save = createCompanyWriter(ask);

  return function* (signal, observed) {
    const row = yield* ask.companies.selectByDomain(observed.company.domain, signal.tenantId);
    const activeAt = activityOf(signal.timestamp);
    if (row !== null && activeAt > row.activeAt) yield* ask.companies.setActive(activeAt, row.id);
    const company = observeCompany(row, observed, signal);
    if (company !== null) yield* save(company, row?.version ?? 0, activeAt);
  };
}

/** Searches use the name and industry that are displayed. */
function searchedFor({ facts, domain }: Company): Pick<StoredCompany, 'search' | 'industry'> {
  return {
    search: `${fold(factInForce(facts, 'name')?.value ?? '')} ${domain}`,
    industry: fold(factInForce(facts, 'industry')?.value ?? ''),
  };
}
