import type { FastifyInstance } from 'fastify';
import { companyResources, getCompany, readCompanyDetail } from '../companies/companies.ts';
import { companyFilters } from '../model/company.ts';
import { COMPANY_FACTS } from '../model/company-facts.ts';
import type { Signal } from '../model/signal.ts';
import { filtersOf, isFiltered } from './filters.ts';
import { queryOf, text } from './forms.ts';
import { memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';
import { namedSignal } from './shown-signal.ts';

/** `/dashboard/companies`: who the signals come from, and one of them with its people. */
export function addCompanies(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  app.get('/companies', async (request, reply) => {
    const { tenant } = memberOf(request);
    const query = queryOf(request);
    const { filters, filterFaults } = filtersOf(companyFilters, query);
    const { page, ...pages } = await readScreenPage(parts, request, {
      name: 'companies',
      filters,
      read: (place) => parts.store.listCompanies(tenant.id, { ...filters, ...place }),
    });
    return show(request, reply, {
      template: 'companies',
      title: 'Companies',
      ...pages,
      filterFaults,
      companies: await companyResources(parts, tenant.id, page.rows),
      typed: { q: text(query, 'q'), industry: text(query, 'industry'), sort: filters.sort },
      isFiltered: isFiltered(query),
    });
  });

  app.get<{ Params: { company: string } }>('/companies/:company', async (request, reply) => {
    const { tenant } = memberOf(request);
    const found = await getCompany(parts.store, tenant.id, request.params.company);
    const { resource, signals, contacts } = await readCompanyDetail(parts, tenant.id, found);
    return show(request, reply, {
      template: 'company',
      title: resource.name || resource.domain,
      company: resource,
      facts: COMPANY_FACTS.filter((field) => resource[field] !== '').map((field) => ({
        field,
        value: resource[field],
        from: resource.sources[field] ?? null,
      })),
      signals: signals.map((wire) => namedSignal(JSON.parse(wire) as Signal)),
      contacts,
    });
  });
}
