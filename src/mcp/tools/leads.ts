import { z } from 'zod';
import { allows } from '../../accounts/keys.ts';
import { changeLead } from '../../leads/change-lead.ts';
import { type LeadCaller, requireLead } from '../../leads/changes.ts';
import { moveLead } from '../../leads/move-lead.ts';
import { parseInTurns } from '../../lib/json.ts';
import { DomainError } from '../../model/errors.ts';
import { type Lead, leadPatchSchema, leadSchema } from '../../model/lead.ts';
import { boardStageSchema, moveInputSchema, stageSchema } from '../../model/pipeline.ts';
import { classificationSchema, type ExplainedSignal } from '../../model/signal.ts';
import { domainFilter, idInput } from '../../model/text.ts';
import {
  countFitting,
  defineTool,
  listedInput,
  listedOutput,
  listRows,
  type McpCall,
  signalSummarySchema,
  summaryOfSignal,
  UNTRUSTED_NOTE,
} from '../tool.ts';

const SIGNALS_OF_LEAD = 5;
const BOARD_LEADS = 5;
/** Maximum size of custom fields: a lead may have 50 of 500 characters, and its signals need room, too. */
const MAX_CUSTOM_BYTES = 8_000;

const shownLeadSchema = z.object({
  ...leadSchema.pick({
    id: true,
    name: true,
    title: true,
    email: true,
    stage: true,
    classification: true,
    signal_count: true,
  }).shape,
  company: z.string(),
  icp_score: z.int().nullable().describe('Score of its best signal'),
  last_signal_at: z.string().nullable(),
  created_at: z.string(),
});
type ShownLead = z.output<typeof shownLeadSchema>;

function shownLead(lead: Lead): ShownLead {
  const { id, name, title, email, stage, classification, signal_count } = lead;
  const { icp_score, last_signal_at, created_at } = lead;
  const company = [lead.company.name, lead.company.domain].filter((part) => part !== '').join(', ');
  return {
    ...{ id, name, title, email, company, stage, classification, signal_count },
    ...{ icp_score, last_signal_at, created_at },
  };
}

const listInput = z.strictObject({
  q: z.string().trim().min(1).max(200).optional().describe('Prefixes of words in name, title or company'),
  stage: stageSchema.optional(),
  classification: classificationSchema.optional(),
  min_score: z.int().min(0).max(100).optional(),
  company_domain: domainFilter.optional(),
  sort: z.enum(['newest', 'score']).default('newest'),
  ...listedInput,
});

/** `list_leads` */
export const listLeads = defineTool({
  name: 'list_leads',
  title: 'List leads',
  description: 'People in the pipeline, newest or best first.',
  scope: 'leads:read',
  input: listInput,
  output: z.object({ leads: z.array(shownLeadSchema), ...listedOutput }),
  async handle(call, { limit, cursor, ...filters }) {
    const { store } = call.deps;
    const { rows, ...rest } = await listRows(call, {
      ...{ name: 'leads', bound: filters, limit, cursor },
      async read(place) {
        const page = await store.listLeads(call.tenantId, {
          ...place,
          stages: filters.stage === undefined ? [] : [filters.stage],
          classifications: filters.classification === undefined ? [] : [filters.classification],
          minScore: filters.min_score ?? null,
          companyDomains: filters.company_domain === undefined ? [] : [filters.company_domain],
          sources: [],
          owners: [],
          tag: null,
          identity: null,
          q: filters.q ?? null,
          sort: filters.sort === 'score' ? '-icp_score' : '-created_at',
        });
        return { rows: (await parseInTurns<Lead>(page.rows)).map(shownLead), last: page.last };
      },
    });
    return { leads: rows, ...rest };
  },
});

const leadDetail = z.object({
  ...shownLeadSchema.shape,
  linkedin_url: z.string(),
  company_facts: z.object(leadSchema.shape.company.shape),
  tags: z.array(z.string()),
  custom_fields: z.record(z.string(), z.unknown()),
  deal: z.record(z.string(), z.unknown()).nullable(),
  signals: z.array(signalSummarySchema).describe(`The ${SIGNALS_OF_LEAD} best signals`),
  truncated: listedOutput.truncated.describe('Custom fields or signals were omitted'),
});

/** `get_lead` */
export const getLead = defineTool({
  name: 'get_lead',
  title: 'Get a lead',
  description: `One person: contact, company, stage, deal and best signals. ${UNTRUSTED_NOTE}`,
  scope: 'leads:read',
  input: z.strictObject({ lead_id: idInput }),
  output: leadDetail,
  handle: readLead,
});

/** @throws DomainError `NOT_FOUND` */
export async function readLead(
  { deps: { store }, tenantId }: McpCall,
  { lead_id }: { lead_id: string },
): Promise<z.output<typeof leadDetail>> {
  const { lead } = await requireLead(store, tenantId, lead_id);
  const rows = lead.signal_count === 0 ? [] : await store.listSignalsOfLead(lead_id, SIGNALS_OF_LEAD);
  const signals = rows.map((row) => summaryOfSignal(JSON.parse(row) as ExplainedSignal));
  const hasRoom = Buffer.byteLength(JSON.stringify(lead.custom_fields)) <= MAX_CUSTOM_BYTES;
  const detail = {
    ...shownLead(lead),
    linkedin_url: lead.linkedin_url,
    company_facts: lead.company,
    tags: lead.tags,
    custom_fields: hasRoom ? lead.custom_fields : {},
    deal: lead.deal,
  };
  const fitting = countFitting([detail, ...signals]) - 1;
  return {
    ...detail,
    signals: signals.slice(0, Math.max(0, fitting)),
    truncated: !hasRoom || fitting < signals.length,
  };
}

const updateInput = z.strictObject({
  lead_id: idInput,
  stage: stageSchema.optional(),
  reason: moveInputSchema.shape.reason.describe('Reason for the move; required for "lost"'),
  reopen: moveInputSchema.shape.reopen,
  title: leadPatchSchema.shape.title,
  tags: z.array(z.string().trim().min(1).max(50)).max(100).optional().describe('Replaces all tags'),
  custom_fields: z
    .record(z.string().max(64), z.union([z.string().max(500), z.number(), z.boolean(), z.null()]))
    .refine((fields) => Object.keys(fields).length <= 50, 'must have at most 50 members')
    .optional()
    .describe('Merged by name, such as "owner" or "note"; null removes one'),
});

/** `update_lead` */
export const updateLead = defineTool({
  name: 'update_lead',
  title: 'Update a lead',
  description:
    'Moves a lead to another stage, and changes title, tags and custom fields. Only on behalf of a person who asked for it; leaving "won" or "lost" needs reopen.',
  scope: 'leads:write',
  writes: { again: true },
  input: updateInput,
  output: shownLeadSchema,
  async handle(call, { lead_id: id, stage, reason, reopen, ...patch }) {
    const { deps, caller } = call;
    if (stage !== undefined && !allows(caller.key.scopes, 'pipeline:write')) {
      throw new DomainError('INSUFFICIENT_SCOPE', 'To move a lead, the key needs "pipeline:write".');
    }
    const by = leadCallerOf(call);
    let { lead } = await requireLead(deps.store, call.tenantId, id);
    if (stage !== undefined) {
      // The move comes first: if it is rejected, nothing changes.
      const move = { stage, reason, reopen, expected_stage: null };
      const moved = await moveLead(deps, by, { id, move });
      lead = moved.lead;
    }
    const given = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
    if (Object.keys(given).length > 0) ({ lead } = await changeLead(deps, by, { id, patch: given }));
    return shownLead(lead);
  },
});

/** The author of a change in the history: the key. */
function leadCallerOf({ caller: { tenant, key } }: McpCall): LeadCaller {
  return { tenantId: tenant.id, actor: { id: key.id, name: key.name } };
}

const boardLeadSchema = shownLeadSchema.pick({
  id: true,
  name: true,
  company: true,
  classification: true,
  icp_score: true,
});

/** `get_pipeline` */
export const getPipeline = defineTool({
  name: 'get_pipeline',
  title: 'Get the pipeline',
  description: `Every stage with its number of leads, the value of their deals, and its ${BOARD_LEADS} newest leads.`,
  scope: 'pipeline:read',
  input: z.strictObject({}),
  output: z.object({
    stages: z.array(
      z.object({
        stage: stageSchema,
        count: z.int(),
        value: z.array(z.object(boardStageSchema.shape.value.element.shape)),
        leads: z.array(boardLeadSchema),
      }),
    ),
    truncated: listedOutput.truncated.describe('Leads were omitted'),
  }),
  async handle({ deps: { store }, tenantId }) {
    const board = await store.readBoard(tenantId, BOARD_LEADS);
    const leads = await parseInTurns<Lead>(board.flatMap((column) => column.leads));
    const stages = board.map(({ stage, count, value }) => ({
      ...{ stage, count, value },
      leads: leads.filter((lead) => lead.stage === stage).map(boardLead),
    }));
    const truncated = countFitting(stages) < stages.length;
    return { stages: truncated ? stages.map((stage) => ({ ...stage, leads: [] })) : stages, truncated };
  },
});

function boardLead(lead: Lead): z.output<typeof boardLeadSchema> {
  const { id, name, company, classification, icp_score } = shownLead(lead);
  return { id, name, company, classification, icp_score };
}
