import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { check } from '../http/faults.ts';
import { findBadText } from '../http/json-body.ts';
import { type AddedLead, addLead } from '../leads/add-lead.ts';
import { addLeads } from '../leads/add-leads.ts';
import { DomainError, type Fault } from '../model/errors.ts';
import { type LeadInput, leadInputSchema, MAX_BATCH_LEADS } from '../model/lead-input.ts';
import { leadAnswer, leadCallerOf, sendLead } from './lead-answers.ts';
import type { ApiParts } from './parts.ts';

type WriteParts = Pick<ApiParts, 'store' | 'clock' | 'newId' | 'baseUrl' | 'nudge'>;

const BATCH_BODY_BYTES = 5 * 1024 * 1024;

const faultSchema = z.strictObject({ pointer: z.string(), detail: z.string() });
const resultSchema = z.strictObject({
  index: z.int(),
  status: z.enum(['created', 'merged', 'rejected']),
  lead_id: z.string().nullable().describe('null where it was rejected'),
  errors: z.array(faultSchema),
});
type BatchResult = z.infer<typeof resultSchema>;

const batchAnswer = z.strictObject({
  data: z.strictObject({
    results: z.array(resultSchema),
    created: z.int(),
    merged: z.int(),
    rejected: z.int(),
  }),
});

/** `POST /v1/leads` and its batch: people in; enriched, merged and in the pipeline before the answer. */
export function addLeadWrites(app: FastifyInstance, parts: WriteParts): void {
  addOne(app, parts);
  addBatch(app, parts);
}

function addOne(app: FastifyInstance, parts: WriteParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/leads',
    {
      config: { scope: 'leads:write', problems: ['CONFLICT'] },
      schema: {
        operationId: 'createLead',
        summary: 'Enrich a person and add them to the pipeline',
        description:
          'Who it is follows from `email`, `linkedin_url`, `name` with `company.domain`, `signal_ids` or `signal`. A person ' +
          'who is a lead already is merged into it (200): what is filled stays, tags are united, the stage does not move. ' +
          'A request that matches two leads is refused, and names both.',
        tags: ['Leads'],
        querystring: z.strictObject({}),
        body: leadInputSchema,
        response: { 200: leadAnswer.describe('Merged into a lead'), 201: leadAnswer.describe('A new lead') },
      },
    },
    async (request, reply) => {
      const { status, lead, lanes } = await addLead(parts, leadCallerOf(request), request.body);
      parts.nudge(lanes);
      reply.code(status === 'created' ? 201 : 200);
      if (status === 'created') reply.header('location', `${parts.baseUrl}/v1/leads/${lead.id}`);
      return sendLead(reply, parts.store, lead);
    },
  );
}

function addBatch(app: FastifyInstance, parts: WriteParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/leads/batch',
    {
      bodyLimit: BATCH_BODY_BYTES,
      config: { scope: 'leads:write', itemwise: true },
      schema: {
        operationId: 'createLeads',
        summary: `Enrich up to ${MAX_BATCH_LEADS} people and add them to the pipeline`,
        description:
          'Each stands on its own, in the order they are given; a rejected one does not spoil the rest.',
        tags: ['Leads'],
        querystring: z.strictObject({}),
        body: z.strictObject({
          leads: z
            .array(z.unknown())
            .min(1)
            .max(MAX_BATCH_LEADS)
            .describe('People as of createLead; each is checked on its own'),
        }),
        response: { 200: batchAnswer },
      },
    },
    async (request) => {
      const items = request.body.leads.map(checkItem);
      const inputs = items.flatMap((item) => ('input' in item ? [item.input] : []));
      const added = (await addLeads(parts, leadCallerOf(request), inputs)).values();
      const results = items.map((item, index) =>
        'input' in item ? toResult(parts, index, added.next().value) : rejected(index, item.errors),
      );
      const count = (status: BatchResult['status']) => results.filter((r) => r.status === status).length;
      return {
        data: {
          results,
          created: count('created'),
          merged: count('merged'),
          rejected: count('rejected'),
        },
      };
    },
  );
}

function checkItem(item: unknown): { input: LeadInput } | { errors: Fault[] } {
  const badText = findBadText(item);
  if (badText !== null) return { errors: [badText] };
  const checked = check(leadInputSchema, item, 'body');
  return checked.ok ? { input: checked.value } : { errors: checked.faults };
}

function toResult(
  { nudge }: WriteParts,
  index: number,
  result: AddedLead | DomainError | undefined,
): BatchResult {
  if (result === undefined) throw new Error('the batch gave too few results');
  if (result instanceof DomainError) {
    return rejected(index, result.extra.errors ?? [{ detail: result.message }]);
  }
  nudge(result.lanes);
  return { index, status: result.status, lead_id: result.lead.id, errors: [] };
}

function rejected(index: number, faults: readonly Fault[]): BatchResult {
  const errors = faults.map(({ pointer = '', detail }) => ({ pointer: `/leads/${index}${pointer}`, detail }));
  return { index, status: 'rejected', lead_id: null, errors };
}
