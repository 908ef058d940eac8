import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { pagingQuery, wholeNumber } from '../http/paging.ts';
import { noQuery, pathId } from '../http/path.ts';
import { JSON_TYPE, sendAsIs } from '../http/problems.ts';
import { requireLead } from '../leads/changes.ts';
import { moveLead, setDeal } from '../leads/move-lead.ts';
import { toIso } from '../lib/clock.ts';
import { leadSchema } from '../model/lead.ts';
import {
  boardStageSchema,
  dealInputSchema,
  dealSchema,
  moveInputSchema,
  type StageMove,
  stageMoveSchema,
} from '../model/pipeline.ts';
import type { StageMoveRow } from '../store/lead-store.ts';
import { leadCallerOf } from './lead-answers.ts';
import { cutPage, listAnswer, readPage } from './list.ts';
import type { ApiParts } from './parts.ts';

type PipelineParts = Pick<
  ApiParts,
  'store' | 'clock' | 'matchers' | 'encoder' | 'newId' | 'cursors' | 'baseUrl' | 'nudge'
>;

const leadParams = z.strictObject({ id: pathId.describe("The lead's id") });
const BOARD_LEADS = 10;

/** `/v1/pipeline`: where each lead stands, how it got there, and what it may be worth. */
export function addPipeline(app: FastifyInstance, parts: PipelineParts): void {
  addBoard(app, parts);
  addMove(app, parts);
  addHistory(app, parts);
  addDeal(app, parts);
}

function addBoard(app: FastifyInstance, { store }: PipelineParts): void {
  const column = boardStageSchema.extend({
    leads: z
      .array(leadSchema)
      .describe('The newest; `GET /v1/leads?stage=…` lists them all in the same order'),
  });
  app.withTypeProvider<ZodTypeProvider>().get(
    '/pipeline',
    {
      config: { scope: 'pipeline:read' },
      schema: {
        operationId: 'getPipeline',
        summary: 'The board: every stage with its count, its value and its newest leads',
        tags: ['Pipeline'],
        querystring: z.strictObject({
          limit: wholeNumber(0, 100)
            .default(BOARD_LEADS)
            .describe(`The most leads that a stage shows; ${BOARD_LEADS} where absent`),
        }),
        response: { 200: z.strictObject({ data: z.strictObject({ stages: z.array(column) }) }) },
      },
    },
    async (request, reply) => {
      const board = await store.readBoard(callerOf(request).tenant.id, request.query.limit);
      const stages = board.map(
        ({ leads, ...counts }) => `${JSON.stringify(counts).slice(0, -1)},"leads":[${leads.join(',')}]}`,
      );
      return sendAsIs(reply, JSON_TYPE, `{"data":{"stages":[${stages.join(',')}]}}`);
    },
  );
}

function addMove(app: FastifyInstance, parts: PipelineParts): void {
  app.withTypeProvider<ZodTypeProvider>().put(
    '/pipeline/:id/stage',
    {
      config: { scope: 'pipeline:write', problems: ['STAGE_CONFLICT', 'INVALID_TRANSITION'] },
      schema: {
        operationId: 'moveLead',
        summary: 'Move a lead to another stage',
        description:
          'Any open stage to any other, or to `won` or `lost`; `lost` needs a `reason`, and leaving `won` or `lost` needs ' +
          '`"reopen": true`. The stage it is in already changes nothing. Answers the lead.',
        tags: ['Pipeline'],
        params: leadParams,
        querystring: noQuery,
        body: moveInputSchema,
        response: { 200: z.strictObject({ data: leadSchema }) },
      },
    },
    async (request) => {
      const { id } = request.params;
      const { lead, lanes } = await moveLead(parts, leadCallerOf(request), { id, move: request.body });
      parts.nudge(lanes);
      return { data: lead };
    },
  );
}

function addHistory(app: FastifyInstance, parts: PipelineParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/pipeline/:id/history',
    {
      config: { scope: 'pipeline:read' },
      schema: {
        operationId: 'listStageMoves',
        summary: "A lead's moves through the pipeline, newest first",
        description: 'Who moved it, when, why, and how long it had stayed.',
        tags: ['Pipeline'],
        params: leadParams,
        querystring: z.strictObject(pagingQuery),
        response: { 200: listAnswer(stageMoveSchema) },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const { id } = request.params;
      await requireLead(parts.store, tenant.id, id);
      const { page, pagination } = await readPage(
        parts,
        { request, reply },
        {
          name: 'pipeline history',
          filters: { id },
          query: request.query,
          read: async ({ limit, after }) => {
            const before = Number(after?.[0] ?? Number.MAX_SAFE_INTEGER);
            const found = await parts.store.listStageMoves(id, { before, limit: limit + 1 });
            return cutPage(found, limit, ({ position }) => [position]);
          },
        },
      );
      return { data: page.rows.map((move) => moveResource(id, move)), pagination };
    },
  );
}

function moveResource(leadId: string, move: StageMoveRow): StageMove {
  return {
    lead_id: leadId,
    previous: move.previous,
    current: move.current,
    reason: move.reason,
    actor: move.actor,
    moved_at: toIso(move.movedAt),
    seconds_in_previous: move.stayedMs === null ? null : move.stayedMs / 1_000,
  };
}

function addDeal(app: FastifyInstance, parts: PipelineParts): void {
  app.withTypeProvider<ZodTypeProvider>().put(
    '/pipeline/:id/deal',
    {
      config: { scope: 'pipeline:write' },
      schema: {
        operationId: 'setDeal',
        summary: "Set a lead's deal",
        description: 'Replaces the whole deal; the same deal again changes nothing. Does not move the lead.',
        tags: ['Pipeline'],
        params: leadParams,
        querystring: noQuery,
        body: dealInputSchema,
        response: { 200: z.strictObject({ data: dealSchema.extend({ lead_id: z.string() }) }) },
      },
    },
    async (request) => {
      const { id } = request.params;
      const deal = request.body;
      const { lanes } = await setDeal(parts, leadCallerOf(request), { id, deal });
      parts.nudge(lanes);
      return { data: { lead_id: id, ...deal } };
    },
  );
}
