import type { Database } from 'better-sqlite3';
import type { Company } from '../../../model/company.ts';
import { createCompanySql } from '../tables/companies.ts';

export function companyOperations(db: Database) {
  const companies = createCompanySql(db);
  return {
    saveCompany: (company: Company, expectedVersion: number): boolean =>
      companies.save(company, expectedVersion),
  };
}
