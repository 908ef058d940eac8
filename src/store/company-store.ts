import type { Company, CompanyContact, CompanyQuery } from '../model/company.ts';
import type { Page } from '../model/filters.ts';

/** How many signals named a company since each of the asked times, and when the last one did. */
export interface CompanyActivity {
  counts: number[];
  lastAt: number | null;
}

/** Companies, and what signals and leads say of them. */
export interface CompanyStore {
  listCompanies(tenantId: string, query: CompanyQuery): Promise<Page<Company>>;
  /** By id or by domain. */
  findCompany(tenantId: string, key: { id: string } | { domain: string }): Promise<Company | null>;
  /** Stores a company that was decided on at `expectedVersion`, 0 for a new one; false where that no longer holds. */
  saveCompany(company: Company, expectedVersion: number): Promise<boolean>;
  /** Activity of each domain, in their order; `since` are Unix milliseconds. */
  readCompanyActivity(
    tenantId: string,
    domains: readonly string[],
    since: readonly number[],
  ): Promise<CompanyActivity[]>;
  /** How many signals it had in each step of time from `from` on, by the number of the step; those without any are left out. */
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
  /** Leads at the domain, newest first, then people of its newest signals who are no leads. */
  listCompanyContacts(tenantId: string, domain: string, limit: number): Promise<CompanyContact[]>;
}
