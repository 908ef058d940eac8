import { z } from 'zod';
import { companyResources, getCompany, putCompany, readCompanyDetail } from '../companies/companies.ts';
import { listOf } from '../http/query.ts';
import { fold } from '../lib/text.ts';
import { companyDetailSchema, companyInputSchema, companySchema } from '../model/company.ts';
import { domainFilter } from '../model/domain.ts';
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

const listQuery = {
  domain: listOf(domainFilter).describe('Only companies at one of these'),
  industry: listOf(z.string().max(300)).describe('Only companies of one of these, in any case'),
  q: z
    .string()
    .trim()
    .max(200)
    .optional()
    .describe('A part of the name or the domain, in any case, with or without diacritics'),
  sort: z
    .enum(['-created_at', '-last_signal_at'])
    .default('-created_at')
    .describe(
      '`-last_signal_at` is exact to the hour; a company whose signal comes while you page may move to a page you have seen',
    ),
};

/** `/v1/companies`: who the signals come from. */
export function addCompanies(routesOf: RoutesOf): void {
  const companies = routesOf('Companies');
  addList(companies, '/companies', {
    operationId: 'listCompanies',
    summary: 'Companies that signals named or that you added',
    scope: 'companies:read',
    query: listQuery,
    item: companySchema,
    filters: ({ query }) => ({
      domains: query.domain,
      industries: query.industry.map(fold),
      search: query.q ? fold(query.q) : null,
      sort: query.sort,
    }),
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
