import { z } from 'zod';
import { pathId } from '../http/path.ts';
import { requireLead, versionOf } from '../leads/changes.ts';
import { moveLead, setDeal } from '../leads/move-lead.ts';
import { toIso } from '../lib/clock.ts';
import { wholeNumber } from '../model/filters.ts';
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
import { leadCallerOf, leadText } from './lead-answers.ts';
import { addList } from './list.ts';
import type { Routes, RoutesOf } from './routes.ts';

const params = { id: pathId.describe("The lead's id") };
const BOARD_LEADS = 10;

const boardSchema = z.strictObject({
  stages: z.array(
    boardStageSchema.extend({
      leads: z
        .array(leadSchema)
        .describe('The newest; `GET /v1/leads?stage=…` lists them all in the same order'),
    }),
  ),
});

/** `/v1/pipeline`: where each lead stands, how it got there, and what it may be worth. */
export function addPipeline(routesOf: RoutesOf): void {
  const pipeline = routesOf('Pipeline');
  pipeline.get('/pipeline', {
    operationId: 'getPipeline',
    summary: 'The board: every stage with its count, its value and its newest leads',
    scope: 'pipeline:read',
    query: {
      limit: wholeNumber(0, 100)
        .default(BOARD_LEADS)
        .describe(`The most leads that a stage shows; ${BOARD_LEADS} where absent`),
    },
    answer: boardSchema,
    async handle({ parts: { store }, tenantId, query }) {
      const board = await store.readBoard(tenantId, query.limit);
      const stages = board.map(
        ({ leads, ...counts }) => `${JSON.stringify(counts).slice(0, -1)},"leads":[${leads.join(',')}]}`,
      );
      return `{"data":{"stages":[${stages.join(',')}]}}`;
    },
  });
  pipeline.put('/pipeline/:id/stage', {
    operationId: 'moveLead',
    summary: 'Move a lead to another stage',
    description:
      'Any open stage to any other, or to `won` or `lost`; `lost` needs a `reason`, and leaving `won` or `lost` needs ' +
      '`"reopen": true`. The stage it is in already changes nothing. Its deal is won, lost or open with it. Answers the lead.',
    scope: 'pipeline:write',
    versioned: true,
    problems: ['STAGE_CONFLICT', 'INVALID_TRANSITION'],
    params,
    body: moveInputSchema,
    answer: leadSchema,
    async handle({ parts, caller, params: { id }, body: move, when, tag }) {
      const moved = await moveLead(parts, leadCallerOf(caller), { id, move, when });
      parts.nudge(moved.lanes);
      tag(versionOf(moved), await leadText(parts.store, moved.lead));
      return moved.lead;
    },
  });
  addHistory(pipeline);
  pipeline.put('/pipeline/:id/deal', {
    operationId: 'setDeal',
    summary: "Set a lead's deal",
    description:
      'Replaces the whole deal; the same deal again changes nothing. A deal is won or lost exactly where its lead is: ' +
      '`"status": "won"` moves the lead to `won`, `lost` needs a `reason`, and a status other than that of a closed lead ' +
      'needs `"reopen": true`; `open` takes it back to its last open stage.',
    scope: 'pipeline:write',
    versioned: true,
    problems: ['INVALID_TRANSITION'],
    params,
    body: dealInputSchema,
    answer: dealSchema.extend({ lead_id: z.string() }),
    async handle({ parts, caller, params: { id }, body: deal, when, tag }) {
      const changed = await setDeal(parts, leadCallerOf(caller), { id, deal, when });
      parts.nudge(changed.lanes);
      tag(versionOf(changed), await leadText(parts.store, changed.lead));
      return { lead_id: id, ...changed.deal };
    },
  });
}

function addHistory(pipeline: Routes): void {
  addList(pipeline, '/pipeline/:id/history', {
    operationId: 'listStageMoves',
    summary: "A lead's moves through the pipeline, newest first",
    description: 'Who moved it, when, why, and how long it had stayed.',
    scope: 'pipeline:read',
    params,
    item: stageMoveSchema,
    name: 'pipeline history',
    async filters({ parts, tenantId, params: { id } }) {
      await requireLead(parts.store, tenantId, id);
      return { id };
    },
    read: ({ parts: { store } }, { id, ...place }) => store.pageStageMoves(id, place),
    show: ({ rows }, call) => rows.map((move) => moveResource(call.params.id, move)),
  });
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
