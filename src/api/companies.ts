import { z } from 'zod';
import { companyResources, getCompany, putCompany, readCompanyDetail } from '../companies/companies.ts';
import { companyDetailSchema, companyFilters, companyInputSchema, companySchema } from '../model/company.ts';
import { MAX_URL_CHARS } from '../model/text.ts';
import { addList } from './list.ts';
import type { ApiParts } from './parts.ts';
import type { RoutesOf } from './routes.ts';

const params = {
  company: z
    .string()
    .meta({ maxLength: MAX_URL_CHARS })
    .describe('Its id (`cmp_…`) or its domain; `www.` and the rest of an address are left out'),
};

/** `/v1/companies`: who the signals come from. */
export function addCompanies(routesOf: RoutesOf): void {
  const companies = routesOf('Companies');
  addList(companies, '/companies', {
    operationId: 'listCompanies',
    summary: 'Companies that signals named or that you added',
    scope: 'companies:read',
    query: companyFilters.query.shape,
    item: companySchema,
    filters: ({ query }) => companyFilters.toFilters(query),
    read: ({ parts: { store }, tenantId }, asked) => store.listCompanies(tenantId, asked),
    show: ({ rows }, { parts, tenantId }) => companyResources(parts, tenantId, rows),
  });
  companies.get('/companies/:company', {
    operationId: 'getCompany',
    summary: 'One company: what it is, what it signals, who is known there',
    scope: 'companies:read',
    params,
    answer: companyDetailSchema,
    handle: async ({ parts, tenantId, params: { company } }) =>
      detailText(parts, tenantId, await getCompany(parts.store, tenantId, company)),
  });
  companies.put('/companies/:company', {
    operationId: 'putCompany',
    summary: 'Set what you know of a company',
    description: [
      'What you set stands above what signals say. What is left out stays as it is; null takes a value of yours',
      'away, so that what signals say shows again. A domain that is not known yet makes a company (201); an id must',
      'be known.',
    ].join(' '),
    scope: 'companies:write',
    params,
    body: companyInputSchema,
    answer: companyDetailSchema,
    statuses: { 200: null, 201: null },
    async handle({ parts, tenantId, params: { company: named }, body: input, created }) {
      const put = await putCompany(parts, tenantId, { named, input });
      if (put.created) created(`/companies/${put.company.id}`);
      return detailText(parts, tenantId, put.company);
    },
  });
}

/** The answer of a single company, its signals spliced in as they are stored; the tests hold it to its schema. */
async function detailText(
  parts: ApiParts,
  tenantId: string,
  company: Awaited<ReturnType<typeof getCompany>>,
): Promise<string> {
  const { resource, signals, contacts } = await readCompanyDetail(parts, tenantId, company);
  const members = `"top_signals":[${signals.join(',')}],"contacts":${JSON.stringify(contacts)}`;
  return `{"data":${JSON.stringify(resource).slice(0, -1)},${members}}}`;
}
