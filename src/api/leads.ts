import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { pagingQuery, wholeNumber } from '../http/paging.ts';
import { idParams, noQuery } from '../http/path.ts';
import { listOf } from '../http/query.ts';
import { changeLead } from '../leads/change-lead.ts';
import { requireLead } from '../leads/changes.ts';
import { eraseLead } from '../leads/erase-lead.ts';
import { domainFilter } from '../model/domain.ts';
import { type LeadQuery, leadSchema } from '../model/lead.ts';
import { leadPatchSchema } from '../model/lead-input.ts';
import { normaliseEmail } from '../model/person-keys.ts';
import { stageSchema } from '../model/pipeline.ts';
import { classificationSchema } from '../model/signal.ts';
import { leadAnswer, leadCallerOf, sendLead } from './lead-answers.ts';
import { listAnswer, readPage, sendPage } from './list.ts';
import type { ApiParts } from './parts.ts';

type LeadParts = Pick<
  ApiParts,
  'store' | 'clock' | 'matchers' | 'encoder' | 'newId' | 'cursors' | 'baseUrl' | 'endpointChanged'
>;

const MAX_SEARCH_CHARS = 200;

const leadQuerySchema = z.strictObject({
  stage: listOf(stageSchema),
  classification: listOf(classificationSchema).describe('Of the best signal'),
  min_score: wholeNumber(0, 100).nullable().default(null).describe('Leads without a signal have no score'),
  company_domain: listOf(domainFilter),
  source: listOf(z.string().max(300).toLowerCase()).describe('In any case'),
  tag: z.string().trim().min(1).max(50).toLowerCase().optional().describe('In any case'),
  email: z.string().trim().min(1).max(254).optional().describe('The lead that has this address'),
  q: z
    .string()
    .trim()
    .max(MAX_SEARCH_CHARS)
    .transform((text) => (text === '' ? null : text))
    .nullable()
    .default(null)
    .describe('Beginnings of words of name, address, title and company; all must occur'),
  sort: z.enum(['-created_at', 'created_at', '-icp_score']).default('-created_at'),
  ...pagingQuery,
});

/** `/v1/leads`: who they are and what is known of them. */
export function addLeads(app: FastifyInstance, parts: LeadParts): void {
  addList(app, parts);
  addGet(app, parts);
  addPatch(app, parts);
  addDelete(app, parts);
}

function addList(app: FastifyInstance, parts: LeadParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/leads',
    {
      config: { scope: 'leads:read' },
      schema: {
        operationId: 'listLeads',
        summary: 'Leads, newest first',
        description: 'Without their signals, which each lead by itself shows.',
        tags: ['Leads'],
        querystring: leadQuerySchema,
        response: { 200: listAnswer(leadSchema) },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const filters = toFilters(request.query);
      const { page, pagination } = await readPage(
        parts,
        { request, reply },
        {
          name: 'leads',
          filters,
          query: request.query,
          read: (place) => parts.store.listLeads(tenant.id, { ...filters, ...place }),
        },
      );
      return sendPage(reply, Buffer.from(page.rows.join(',')), pagination);
    },
  );
}

function toFilters(query: z.output<typeof leadQuerySchema>): Omit<LeadQuery, 'limit' | 'after'> {
  return {
    stages: query.stage,
    classifications: query.classification,
    minScore: query.min_score,
    companyDomains: query.company_domain,
    sources: query.source,
    tag: query.tag ?? null,
    identity: query.email === undefined ? null : `email:${normaliseEmail(query.email)}`,
    q: query.q,
    sort: query.sort,
  };
}

function addGet(app: FastifyInstance, { store }: LeadParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/leads/:id',
    {
      config: { scope: 'leads:read' },
      schema: {
        operationId: 'getLead',
        summary: 'One lead with its signals',
        tags: ['Leads'],
        params: idParams,
        querystring: noQuery,
        response: { 200: leadAnswer },
      },
    },
    async (request, reply) => {
      const { lead } = await requireLead(store, callerOf(request).tenant.id, request.params.id);
      return sendLead(reply, store, lead);
    },
  );
}

function addPatch(app: FastifyInstance, parts: LeadParts): void {
  app.withTypeProvider<ZodTypeProvider>().patch(
    '/leads/:id',
    {
      config: { scope: 'leads:write', problems: ['CONFLICT'] },
      schema: {
        operationId: 'updateLead',
        summary: 'Change what is known of a lead',
        description:
          'Null or an empty string clears, what is absent stays. Its stage and deal are changed under `/v1/pipeline`.',
        tags: ['Leads'],
        params: idParams,
        querystring: noQuery,
        body: leadPatchSchema,
        response: { 200: leadAnswer },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const lead = await changeLead(parts, leadCallerOf(request), { id, patch: request.body });
      return sendLead(reply, parts.store, lead);
    },
  );
}

function addDelete(app: FastifyInstance, { store, endpointChanged }: LeadParts): void {
  app.withTypeProvider<ZodTypeProvider>().delete(
    '/leads/:id',
    {
      config: { scope: 'leads:write' },
      schema: {
        operationId: 'eraseLead',
        summary: 'Erase a person',
        description:
          'Deletes the lead and takes the person out of everything else that is kept: their signals lose author, text and ' +
          'address (company and score stay), events about them their data, and deliveries their bodies; what still waited ' +
          'to be delivered is discarded. This cannot be undone.',
        tags: ['Leads'],
        params: idParams,
        querystring: noQuery,
        response: { 204: z.undefined().describe('Erased') },
      },
    },
    async (request, reply) => {
      const endpointIds = await eraseLead(store, callerOf(request).tenant.id, request.params.id);
      for (const id of endpointIds) endpointChanged(id);
      return reply.code(204).send();
    },
  );
}
