import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { runParts } from '../http/idempotency.ts';
import { noQuery } from '../http/path.ts';
import { type AddedLead, addLead } from '../leads/add-lead.ts';
import { addLeads } from '../leads/add-leads.ts';
import { DomainError } from '../model/errors.ts';
import { leadInputSchema, MAX_BATCH_LEADS } from '../model/lead-input.ts';
import { answerBatch, BATCH_BODY_BYTES, batchAnswer, batchBody, type ItemOutcome } from './batch.ts';
import { leadAnswer, leadCallerOf, sendLead } from './lead-answers.ts';
import type { ApiParts } from './parts.ts';

type WriteParts = Pick<
  ApiParts,
  'store' | 'clock' | 'matchers' | 'encoder' | 'newId' | 'seededRandom' | 'baseUrl' | 'nudge'
>;

const COUNTS = { created: 'created', merged: 'merged', rejected: 'rejected' } as const;
const batchedAnswer = batchAnswer(COUNTS, {
  lead_id: z.string().nullable().describe('null where it was rejected'),
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
        querystring: noQuery,
        body: leadInputSchema,
        response: { 200: leadAnswer.describe('Merged into a lead'), 201: leadAnswer.describe('A new lead') },
      },
    },
    async (request, reply) => {
      const { status, lead, lanes } = await addLead(
        runParts(request, parts),
        leadCallerOf(request),
        request.body,
      );
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
      config: { scope: 'leads:write', itemwise: true, batchOf: 'leads' },
      schema: {
        operationId: 'createLeads',
        summary: `Enrich up to ${MAX_BATCH_LEADS} people and add them to the pipeline`,
        description:
          'Each stands on its own, in the order they are given; a rejected one does not spoil the rest.',
        tags: ['Leads'],
        querystring: noQuery,
        body: batchBody('leads', leadInputSchema, MAX_BATCH_LEADS),
        response: { 200: batchedAnswer },
      },
    },
    async (request) =>
      answerBatch({
        name: 'leads',
        items: request.body.leads,
        clock: parts.clock,
        schema: leadInputSchema,
        counts: COUNTS,
        none: { status: 'rejected', lead_id: null },
        run: async (inputs) => {
          const added = await addLeads(
            (item) => runParts(request, parts, item),
            leadCallerOf(request),
            inputs,
          );
          return added.map((result) => toOutcome(parts, result));
        },
      }),
  );
}

type Outcome = { status: 'created' | 'merged' | 'rejected'; lead_id: string | null };

function toOutcome({ nudge }: WriteParts, result: AddedLead | DomainError): ItemOutcome<Outcome> {
  if (result instanceof DomainError) return { faults: result.extra.errors ?? [{ detail: result.message }] };
  nudge(result.lanes);
  return { status: result.status, lead_id: result.lead.id };
}
