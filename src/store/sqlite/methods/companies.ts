import type { CompanyStore } from '../../company-store.ts';
import type { Context } from '../context.ts';
import { createCompanySql } from '../tables/companies.ts';
import { createCompanySignalSql } from '../tables/company-signals.ts';

export function companyMethods({ db, writer, read }: Context) {
  const companies = createCompanySql(db);
  const signals = createCompanySignalSql(db);

  return {
    listCompanies: (tenantId, query) => read(() => companies.list(tenantId, query)),
    findCompany: (tenantId, key) => read(() => companies.get(tenantId, key)),
    saveCompany: (company, expectedVersion) => writer.run('saveCompany', company, expectedVersion),
    readCompanyActivity: (tenantId, domains, since) =>
      read(() => domains.map((domain) => signals.activity(tenantId, domain, since))),
    listTopSignals: (tenantId, domain, window) => read(() => signals.top(tenantId, domain, window)),
    listCompanyContacts: (tenantId, domain, limit) => read(() => signals.contacts(tenantId, domain, limit)),
  } satisfies CompanyStore;
}
