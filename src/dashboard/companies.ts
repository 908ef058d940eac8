import type { FastifyInstance } from 'fastify';
import { companyResources, getCompany, readCompanyDetail } from '../companies/companies.ts';
import { DAY_MS, toIso } from '../lib/clock.ts';
import { companyFilters } from '../model/company.ts';
import { COMPANY_FACTS } from '../model/company-facts.ts';
import type { Signal } from '../model/signal.ts';
import { chartHtml, dayLabel, spanLabel } from './charts.ts';
import { filtersOf, isFiltered } from './filters.ts';
import { queryOf, text } from './forms.ts';
import { memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';
import { namedSignal } from './shown-signal.ts';

/** A quarter, as the longest of its counts. */
const WEEKS_SHOWN = 13;

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
    const [{ resource, signals, contacts }, weeksHtml] = await Promise.all([
      readCompanyDetail(parts, tenant.id, found),
      weeksChart(parts, tenant.id, found.domain),
    ]);
    return show(request, reply, {
      template: 'company',
      title: resource.name || resource.domain,
      company: resource,
      weeksHtml,
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

/** Its signals by week; empty where there was none in that time. */
async function weeksChart(
  { store, clock }: DashboardParts,
  tenantId: string,
  domain: string,
): Promise<string> {
  const tomorrow = Math.ceil((clock.now() + 1) / DAY_MS) * DAY_MS;
  const from = tomorrow - WEEKS_SHOWN * 7 * DAY_MS;
  const counts = await store.countCompanySignals(tenantId, domain, { from, stepMs: 7 * DAY_MS });
  if (counts.length === 0) return '';
  const days = Array.from({ length: WEEKS_SHOWN }, (_, week) => toIso(from + week * 7 * DAY_MS).slice(0, 10));
  const values = days.map((_, week) => counts.find(({ step }) => step === week)?.count ?? 0);
  return chartHtml({
    title: 'Signals over time',
    unit: `Signals per week, ${spanLabel(days[0] ?? '', toIso(tomorrow - 1).slice(0, 10))}, UTC`,
    along: 'Week from',
    labels: days.map(dayLabel),
    series: [{ name: 'Signals', look: 'one', values }],
    kind: 'bars',
  });
}
