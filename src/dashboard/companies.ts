import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { companyResources, getCompany, putCompany, readCompanyDetail } from '../companies/companies.ts';
import { DAY_MS, toIso } from '../lib/clock.ts';
import { type Company, companyFilters, companyInputSchema } from '../model/company.ts';
import { COMPANY_FACTS } from '../model/company-facts.ts';
import type { Signal } from '../model/signal.ts';
import { chartHtml, dayLabel, spanLabel } from './charts.ts';
import type { DashboardDeps } from './deps.ts';
import {
  type Form,
  type FormFaults,
  faultsOf,
  filtersOf,
  formOf,
  isFiltered,
  LARGE_FORM,
  queryOf,
  text,
} from './forms.ts';
import { checked, memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import type { Show } from './screens.ts';
import { namedSignal } from './signal-card.ts';

/** One quarter, the longest period that companies are counted over. */
const WEEKS_SHOWN = 13;

/** `/dashboard/companies`: the companies behind the signals, and the screen of one company with its people. */
export function addCompanies(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  app.get('/companies', async (request, reply) => {
    const { tenant } = memberOf(request);
    const query = queryOf(request);
    const { filters, filterFaults } = filtersOf(companyFilters, query);
    const { page, ...pages } = await readScreenPage(deps, request, {
      name: 'companies',
      filters,
      read: (place) => deps.store.listCompanies(tenant.id, { ...filters, ...place }),
    });
    return show(request, reply, {
      template: 'companies',
      title: 'Companies',
      ...pages,
      filterFaults,
      companies: await companyResources(deps, tenant.id, page.rows),
      typed: { q: text(query, 'q'), industry: text(query, 'industry'), sort: filters.sort },
      isFiltered: isFiltered(query),
    });
  });

  app.get<{ Params: { company: string } }>('/companies/:company', async (request, reply) => {
    const { tenant } = memberOf(request);
    const found = await getCompany(deps.store, tenant.id, request.params.company);
    const [{ resource, signals, contacts }, weeksHtml] = await Promise.all([
      readCompanyDetail(deps, tenant.id, found),
      weeksChart(deps, tenant.id, found.domain),
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

/** The company's signals per week; empty if there were none in that time. */
async function weeksChart(
  { store, clock }: DashboardDeps,
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

type Params = { Params: { company: string } };

/** Facts set by hand override observed facts; clearing the field restores the observed one. */
export function addCompanyEdit(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const path = '/companies/:company/edit';
  function screen(
    request: FastifyRequest,
    reply: FastifyReply,
    company: Company,
    state: CompanyScreenState = {},
  ) {
    const { manual, observed } = company.facts;
    const form = Object.fromEntries(COMPANY_FACTS.map((field) => [field, manual[field]?.value ?? '']));
    return show(request, reply, {
      template: 'company-edit',
      title: `Edit ${company.domain}`,
      company: { id: company.id, domain: company.domain },
      fields: COMPANY_FACTS.map((name) => ({ name, seen: observed[name]?.value ?? '' })),
      form,
      faults: {},
      ...state,
    });
  }
  const find = (request: FastifyRequest<Params>) =>
    getCompany(deps.store, memberOf(request).tenant.id, request.params.company);

  app.get<Params>(path, { config: { onlyToChange: true } }, async (request, reply) =>
    screen(request, reply, await find(request)),
  );
  app.post<Params>(path, LARGE_FORM, async (request, reply) => {
    const company = await find(request);
    const form = formOf(request);
    try {
      const input = checked(
        companyInputSchema,
        Object.fromEntries(COMPANY_FACTS.map((field) => [field, text(form, field).trim()])),
      );
      await putCompany(deps, company.tenantId, { named: company.id, input });
    } catch (error) {
      return screen(request, reply, company, { form, faults: faultsOf(error), status: 400 });
    }
    return reply.redirect(`/dashboard/companies/${company.id}?done=saved`, 303);
  });
}

interface CompanyScreenState {
  form?: Form;
  faults?: FormFaults;
  status?: number;
}
