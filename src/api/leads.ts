import { z } from 'zod';
import { type AddedLead, addLead } from '../leads/add-lead.ts';
import { addLeads as addLeadsOf } from '../leads/add-leads.ts';
import { changeLead } from '../leads/change-lead.ts';
import { requireLead, versionOf } from '../leads/changes.ts';
import { eraseLead } from '../leads/erase-lead.ts';
import { DomainError } from '../model/errors.ts';
import { leadDetailSchema, leadFilters, leadSchema } from '../model/lead.ts';
import { leadInputSchema, leadPatchSchema, MAX_BATCH_LEADS } from '../model/lead-input.ts';
import { addBatch, type ItemOutcome } from './batch.ts';
import { leadCallerOf, leadText } from './lead-answers.ts';
import { addList } from './list.ts';
import type { ApiParts } from './parts.ts';
import type { Routes, RoutesOf } from './routes.ts';

/** `/v1/leads`: who they are and what is known of them. */
export function addLeads(routesOf: RoutesOf): void {
  const leads = routesOf('Leads');
  addList(leads, '/leads', {
    operationId: 'listLeads',
    summary: 'Leads, newest first',
    description: 'Without their signals, which each lead by itself shows.',
    scope: 'leads:read',
    query: leadFilters.query.shape,
    item: leadSchema,
    filters: ({ query }) => leadFilters.toFilters(query),
    read: ({ parts: { store }, tenantId }, asked) => store.listLeads(tenantId, asked),
    show: ({ rows }) => Buffer.from(rows.join(',')),
  });
  leads.get('/leads/:id', {
    operationId: 'getLead',
    summary: 'One lead with its signals',
    scope: 'leads:read',
    versioned: true,
    answer: leadDetailSchema,
    async handle({ parts: { store }, tenantId, params, tag }) {
      const stored = await requireLead(store, tenantId, params.id);
      return tag(versionOf(stored), await leadText(store, stored.lead));
    },
  });
  leads.patch('/leads/:id', {
    operationId: 'updateLead',
    summary: 'Change what is known of a lead',
    description:
      'Null or an empty string clears, what is absent stays. Its stage and deal are changed under `/v1/pipeline`.',
    scope: 'leads:write',
    versioned: true,
    problems: ['CONFLICT'],
    body: leadPatchSchema,
    answer: leadDetailSchema,
    async handle({ parts, caller, params, body, when, tag }) {
      const stored = await changeLead(parts, leadCallerOf(caller), { id: params.id, patch: body, when });
      return tag(versionOf(stored), await leadText(parts.store, stored.lead));
    },
  });
  leads.remove('/leads/:id', {
    operationId: 'eraseLead',
    summary: 'Erase a person',
    description:
      'Deletes the lead and takes the person out of everything else that is kept: their signals lose author, text and ' +
      'address (company and score stay), events about them their data, and deliveries their bodies; what still waited ' +
      'to be delivered is discarded. This cannot be undone.',
    scope: 'leads:write',
    versioned: true,
    gone: 'Erased',
    async handle({ parts, tenantId, params, when }) {
      await eraseLead(parts, tenantId, params.id, when);
    },
  });
  addLeadWrites(leads);
}

/** People in; enriched, merged and in the pipeline before the answer. */
function addLeadWrites(leads: Routes): void {
  leads.post('/leads', {
    operationId: 'createLead',
    summary: 'Enrich a person and add them to the pipeline',
    description:
      'Who it is follows from `email`, `linkedin_url`, `name` with `company.domain`, `signal_ids` or `signal`. A person ' +
      'who is a lead already is merged into it (200): what is filled stays, tags are united, the stage does not move. ' +
      'A request that matches two leads is refused, and names both.',
    scope: 'leads:write',
    versioned: true,
    problems: ['CONFLICT'],
    body: leadInputSchema,
    answer: leadDetailSchema,
    statuses: { 200: 'Merged into a lead', 201: 'A new lead' },
    async handle({ parts, caller, body, created, tag }) {
      const added = await addLead(parts, leadCallerOf(caller), body);
      parts.nudge(added.lanes);
      if (added.status === 'created') created(`/leads/${added.lead.id}`);
      return tag(versionOf(added), await leadText(parts.store, added.lead));
    },
  });
  addBatch(leads, '/leads/batch', {
    operationId: 'createLeads',
    summary: `Enrich up to ${MAX_BATCH_LEADS} people and add them to the pipeline`,
    description:
      'Each stands on its own, in the order they are given; a rejected one does not spoil the rest.',
    scope: 'leads:write',
    name: 'leads',
    item: leadInputSchema,
    maxItems: MAX_BATCH_LEADS,
    counts: { created: 'created', merged: 'merged', rejected: 'rejected' },
    own: { lead_id: z.string().nullable().describe('null where it was rejected') },
    none: { status: 'rejected', lead_id: null } as Outcome,
    async run({ parts, partsOf, caller }, inputs) {
      const added = await addLeadsOf(partsOf, leadCallerOf(caller), inputs);
      return added.map((result) => toOutcome(parts, result));
    },
  });
}

type Outcome = { status: 'created' | 'merged' | 'rejected'; lead_id: string | null };

function toOutcome({ nudge }: ApiParts, result: AddedLead | DomainError): ItemOutcome<Outcome> {
  if (result instanceof DomainError) return { faults: result.extra.errors ?? [{ detail: result.message }] };
  nudge(result.lanes);
  return { status: result.status, lead_id: result.lead.id };
}
