import { z } from 'zod';
import { companyResources, getCompany, putCompany, readCompanyDetail } from '../companies/companies.ts';
import { companyDetailSchema, companyFilters, companyInputSchema, companySchema } from '../model/company.ts';
import { MAX_URL_CHARS } from '../model/text.ts';
import { addList } from './list.ts';
import type { ApiDeps, RoutesOf } from './routes.ts';

const params = {
  company: z
    .string()
    .meta({ maxLength: MAX_URL_CHARS })
    .describe('ID (`cmp_…`) or domain of the company. A website address is reduced to its domain.'),
};

/** `/v1/companies`: the companies that signals come from. */
export function addCompanies(routesOf: RoutesOf): void {
  const companies = routesOf('Companies');
  addList(companies, '/companies', {
    operationId: 'listCompanies',
    summary: 'List companies',
    description: 'Companies named in signals or added by you, newest first by default.',
    scope: 'companies:read',
    query: companyFilters.query.shape,
    item: companySchema,
    filters: ({ query }) => companyFilters.toFilters(query),
    read: ({ deps: { store }, tenantId }, asked) => store.listCompanies(tenantId, asked),
    show: ({ rows }, { deps, tenantId }) => companyResources(deps, tenantId, rows),
  });
  companies.get('/companies/:company', {
    operationId: 'getCompany',
    summary: 'Get a company',
    description: 'Returns the company with its best signals and the people known there.',
    scope: 'companies:read',
    params,
    answer: companyDetailSchema,
    handle: async ({ deps, tenantId, params: { company } }) =>
      detailText(deps, tenantId, await getCompany(deps.store, tenantId, company)),
  });
  companies.put('/companies/:company', {
    operationId: 'putCompany',
    summary: 'Set facts of a company',
    description: [
      'Your values take precedence over those seen in signals. Omitted members stay as they are; `null` removes your value, so that',
      'the one seen in signals applies again. An unknown domain creates a company (201); an ID must exist.',
    ].join(' '),
    scope: 'companies:write',
    params,
    body: companyInputSchema,
    answer: companyDetailSchema,
    statuses: { 200: null, 201: null },
    async handle({ deps, tenantId, params: { company: named }, body: input, created }) {
      const put = await putCompany(deps, tenantId, { named, input });
      if (put.created) created(`/companies/${put.company.id}`);
      return detailText(deps, tenantId, put.company);
    },
  });
}

/** The response of a single company, with its signals as stored JSON; tests check it against its schema. */
async function detailText(
  deps: ApiDeps,
  tenantId: string,
  company: Awaited<ReturnType<typeof getCompany>>,
): Promise<string> {
  const { resource, signals, contacts } = await readCompanyDetail(deps, tenantId, company);
  const members = `"top_signals":[${signals.join(',')}],"contacts":${JSON.stringify(contacts)}`;
  return `{"data":${JSON.stringify(resource).slice(0, -1)},${members}}}`;
}
