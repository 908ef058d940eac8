import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { activitySince, companyResources, getCompany, putCompany } from '../companies/companies.ts';
import { callerOf } from '../http/auth.ts';
import { pagingQuery } from '../http/paging.ts';
import { noQuery } from '../http/path.ts';
import { JSON_TYPE, sendAsIs } from '../http/problems.ts';
import { listOf } from '../http/query.ts';
import { fold } from '../lib/text.ts';
import {
  companyDetailSchema,
  companyInputSchema,
  companySchema,
  MAX_CONTACTS,
  MAX_TOP_SIGNALS,
} from '../model/company.ts';
import { domainFilter } from '../model/domain.ts';
import { MAX_URL_CHARS } from '../model/text.ts';
import { listAnswer, readPage } from './list.ts';
import type { ApiParts } from './parts.ts';

type CompanyRouteParts = Pick<ApiParts, 'store' | 'clock' | 'newId' | 'cursors' | 'baseUrl'>;

const companyParams = z.strictObject({
  company: z
    .string()
    .meta({ maxLength: MAX_URL_CHARS })
    .describe('Its id (`cmp_…`) or its domain; `www.` and the rest of an address are left out'),
});

const listQuery = z.strictObject({
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
  ...pagingQuery,
});

/** `/v1/companies`: who the signals come from. */
export function addCompanies(app: FastifyInstance, parts: CompanyRouteParts): void {
  addList(app, parts);
  addGet(app, parts);
  addPut(app, parts);
}

function addList(app: FastifyInstance, parts: CompanyRouteParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/companies',
    {
      config: { scope: 'companies:read' },
      schema: {
        operationId: 'listCompanies',
        summary: 'Companies that signals named or that you added',
        tags: ['Companies'],
        querystring: listQuery,
        response: { 200: listAnswer(companySchema) },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const asked = request.query;
      const filters = {
        domains: asked.domain,
        industries: asked.industry.map(fold),
        search: asked.q ? fold(asked.q) : null,
        sort: asked.sort,
      };
      const { page, pagination } = await readPage(
        parts,
        { request, reply },
        {
          name: 'companies',
          filters,
          query: asked,
          read: (place) => parts.store.listCompanies(tenant.id, { ...filters, ...place }),
        },
      );
      return { data: await companyResources(parts, tenant.id, page.rows), pagination };
    },
  );
}

function addGet(app: FastifyInstance, parts: CompanyRouteParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/companies/:company',
    {
      config: { scope: 'companies:read' },
      schema: {
        operationId: 'getCompany',
        summary: 'One company: what it is, what it signals, who is known there',
        tags: ['Companies'],
        params: companyParams,
        querystring: noQuery,
        response: { 200: z.strictObject({ data: companyDetailSchema }) },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const company = await getCompany(parts.store, tenant.id, request.params.company);
      return sendAsIs(reply, JSON_TYPE, await detailText(parts, tenant.id, company));
    },
  );
}

function addPut(app: FastifyInstance, parts: CompanyRouteParts): void {
  const answer = z.strictObject({ data: companyDetailSchema });
  app.withTypeProvider<ZodTypeProvider>().put(
    '/companies/:company',
    {
      config: { scope: 'companies:write' },
      schema: {
        operationId: 'putCompany',
        summary: 'Set what you know of a company',
        description: [
          'What you set stands above what signals say. What is left out stays as it is; null takes a value of yours',
          'away, so that what signals say shows again. A domain that is not known yet makes a company (201); an id must',
          'be known.',
        ].join(' '),
        tags: ['Companies'],
        params: companyParams,
        querystring: noQuery,
        body: companyInputSchema,
        response: { 200: answer, 201: answer },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const change = { named: request.params.company, input: request.body };
      const { company, created } = await putCompany(parts, tenant.id, change);
      if (created) reply.code(201).header('location', `${parts.baseUrl}/v1/companies/${company.id}`);
      return sendAsIs(reply, JSON_TYPE, await detailText(parts, tenant.id, company));
    },
  );
}

/** The answer of a single company, its signals spliced in as they are stored; the tests hold it to its schema. */
async function detailText(
  { store, clock }: CompanyRouteParts,
  tenantId: string,
  company: Awaited<ReturnType<typeof getCompany>>,
): Promise<string> {
  const since = Math.min(...activitySince(clock.now()));
  const [[resource], signals, contacts] = await Promise.all([
    companyResources({ store, clock }, tenantId, [company]),
    store.listTopSignals(tenantId, company.domain, { since, limit: MAX_TOP_SIGNALS }),
    store.listCompanyContacts(tenantId, company.domain, MAX_CONTACTS),
  ]);
  const members = `"top_signals":[${signals.join(',')}],"contacts":${JSON.stringify(contacts)}`;
  return `{"data":${JSON.stringify(resource).slice(0, -1)},${members}}}`;
}
