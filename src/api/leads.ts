import { z } from 'zod';
import type { Caller } from '../http/request-context.ts';
import { type AddedLead, addLead, addLeads as addLeadsOf } from '../leads/add-lead.ts';
import { changeLead } from '../leads/change-lead.ts';
import { type LeadCaller, requireLead, versionOf } from '../leads/changes.ts';
import { eraseLead } from '../leads/erase-lead.ts';
import { DomainError } from '../model/errors.ts';
import {
  type Lead,
  leadDetailSchema,
  leadFilters,
  leadInputSchema,
  leadPatchSchema,
  leadSchema,
  MAX_BATCH_LEADS,
  SHOWN_SIGNALS,
} from '../model/lead.ts';
import type { Store } from '../store/store.ts';
import { addBatch, type ItemOutcome } from './batch.ts';
import { addList } from './list.ts';
import type { Routes, RoutesOf } from './routes.ts';

/** `/v1/leads`: people, and the known facts about them. */
export function addLeads(routesOf: RoutesOf): void {
  const leads = routesOf('Leads');
  addList(leads, '/leads', {
    operationId: 'listLeads',
    summary: 'List leads',
    description: 'Newest first by default. Their signals are returned by `GET /v1/leads/{id}`.',
    scope: 'leads:read',
    query: leadFilters.query.shape,
    item: leadSchema,
    filters: ({ query }) => leadFilters.toFilters(query),
    read: ({ deps: { store }, tenantId }, asked) => store.listLeads(tenantId, asked),
    show: ({ rows }) => ({ json: rows }),
  });
  leads.get('/leads/:id', {
    operationId: 'getLead',
    summary: 'Get a lead',
    description: 'Returns the lead with its best signals.',
    scope: 'leads:read',
    versioned: true,
    answer: leadDetailSchema,
    async handle({ deps: { store }, tenantId, params, tag }) {
      const stored = await requireLead(store, tenantId, params.id);
      return tag(versionOf(stored), await leadText(store, stored.lead));
    },
  });
  leads.patch('/leads/:id', {
    operationId: 'updateLead',
    summary: 'Update a lead',
    description:
      'Omitted members stay as they are; `null` or an empty string clears a member. Change stage and deal with `/v1/pipeline`.',
    scope: 'leads:write',
    versioned: true,
    problems: ['CONFLICT'],
    body: leadPatchSchema,
    answer: leadDetailSchema,
    async handle({ deps, caller, params, body, when, tag }) {
      const stored = await changeLead(deps, leadCallerOf(caller), { id: params.id, patch: body, when });
      return tag(versionOf(stored), await leadText(deps.store, stored.lead));
    },
  });
  leads.remove('/leads/:id', {
    operationId: 'eraseLead',
    summary: 'Erase a person',
    description:
      'Deletes the lead and erases the person from all stored data: author, text and URL of their signals (company and score remain), ' +
      'the data of events about them, and the payloads of deliveries. Pending deliveries are discarded. If it takes longer than 90 s, ' +
      'the response comes before the last of them is erased. This cannot be undone.',
    scope: 'leads:write',
    versioned: true,
    gone: 'Erased',
    async handle({ deps, tenantId, params, when }) {
      await eraseLead(deps, tenantId, params.id, when);
    },
  });
  addLeadWrites(leads);
}

/** `POST /v1/leads` and its batch: enriched, merged and in the pipeline before the response. */
function addLeadWrites(leads: Routes): void {
  leads.post('/leads', {
    operationId: 'createLead',
    summary: 'Create a lead',
    description:
      'Enriches a person and adds them to the pipeline. The person is identified by `email`, `linkedin_url`, `name` with ' +
      '`company.domain`, `signal_ids` or `signal`. If the person already is a lead, the data is merged into it (200): known facts and ' +
      'the stage stay, unknown facts are filled in, and tags are combined. A request that matches two leads fails with 409 and names both.',
    scope: 'leads:write',
    versioned: true,
    problems: ['CONFLICT'],
    body: leadInputSchema,
    answer: leadDetailSchema,
    statuses: { 200: 'Merged into an existing lead', 201: 'Created' },
    async handle({ deps, caller, body, created, tag }) {
      const added = await addLead(deps, leadCallerOf(caller), body);
      if (added.status === 'created') created(`/leads/${added.lead.id}`);
      return tag(versionOf(added), await leadText(deps.store, added.lead));
    },
  });
  addBatch(leads, '/leads/batch', {
    operationId: 'createLeads',
    summary: 'Create a batch of leads',
    description: `Takes up to ${MAX_BATCH_LEADS} people, each as in \`createLead\`, in the given order. A rejected one does not affect the others.`,
    scope: 'leads:write',
    name: 'leads',
    item: leadInputSchema,
    maxItems: MAX_BATCH_LEADS,
    counts: { created: 'created', merged: 'merged', rejected: 'rejected' },
    own: { lead_id: z.string().nullable().describe('ID of the lead; `null` if the item was rejected.') },
    none: { status: 'rejected', lead_id: null } as LeadOutcome,
    async run({ depsOf, caller }, inputs) {
      const added = await addLeadsOf(depsOf, leadCallerOf(caller), inputs);
      return added.map(toOutcome);
    },
  });
}

type LeadOutcome = { status: 'created' | 'merged' | 'rejected'; lead_id: string | null };

function toOutcome(result: AddedLead | DomainError): ItemOutcome<LeadOutcome> {
  if (result instanceof DomainError) return { faults: result.extra.errors ?? [{ detail: result.message }] };
  return { status: result.status, lead_id: result.lead.id };
}

/** The actor of a change: the key, as named in the history. */
export function leadCallerOf({ tenant, key }: Caller): LeadCaller {
  return { tenantId: tenant.id, actor: { id: key.id, name: key.name } };
}

/** The response of a lead with its best signals, concatenated from stored JSON. */
export async function leadText(store: Store, lead: Lead): Promise<string> {
  const signals = lead.signal_count === 0 ? [] : await store.listSignalsOfLead(lead.id, SHOWN_SIGNALS);
  return `{"data":${JSON.stringify(lead).slice(0, -1)},"signals":[${signals.join(',')}]}}`;
}
