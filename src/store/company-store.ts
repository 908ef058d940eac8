import type { Company, CompanyContact, CompanyQuery } from '../model/company.ts';
import type { Page } from '../model/filters.ts';

/** Number of a company's signals since each of the given times, and the time of the latest one. */
export interface CompanyActivity {
  counts: number[];
  lastAt: number | null;
}

/** Companies, with facts from signals and leads. */
export interface CompanyStore {
  listCompanies(tenantId: string, query: CompanyQuery): Promise<Page<Company>>;
  /** By id or by domain. */
  findCompany(tenantId: string, key: { id: string } | { domain: string }): Promise<Company | null>;
  /** Stores a company based on `expectedVersion` (0: it is new); false if the version has changed. */
  saveCompany(company: Company, expectedVersion: number): Promise<boolean>;
  /** Activity of each domain, in their order; `since` are Unix milliseconds. */
  readCompanyActivity(
    tenantId: string,
    domains: readonly string[],
    since: readonly number[],
  ): Promise<CompanyActivity[]>;
  /** Number of its signals in each interval from `from` on, by the number of the interval; empty ones are omitted. */
  countCompanySignals(
    tenantId: string,
    domain: string,
    span: { from: number; stepMs: number },
  ): Promise<{ step: number; count: number }[]>;
  /** The best signals since a time, best first, as wire JSON texts. */
  listTopSignals(
    tenantId: string,
    domain: string,
    window: { since: number; limit: number },
  ): Promise<string[]>;
  /** Leads at the domain, newest first, then other people in its newest signals. */
  listCompanyContacts(tenantId: string, domain: string, limit: number): Promise<CompanyContact[]>;
}
