import { z } from 'zod';
import { pathId } from '../http/request-path.ts';
import { requireLead, versionOf } from '../leads/changes.ts';
import { moveLead, setDeal } from '../leads/move-lead.ts';
import { toIso } from '../lib/clock.ts';
import { commaSeparated } from '../lib/json.ts';
import { concatInTurns } from '../lib/yielding.ts';
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
import { leadCallerOf, leadText } from './leads.ts';
import { addList, fewAtOnce } from './list.ts';
import type { Routes, RoutesOf } from './routes.ts';

const params = { id: pathId.describe('ID of the lead.') };
const BOARD_LEADS = 10;

const boardSchema = z.strictObject({
  stages: z
    .array(
      boardStageSchema.extend({
        leads: z
          .array(leadSchema)
          .describe('Newest leads in the stage. `GET /v1/leads?stage=…` lists them all, in the same order.'),
      }),
    )
    .describe('Stages of the pipeline, in order.'),
});

/** `/v1/pipeline`: the stage, history and deal of each lead. */
export function addPipeline(routesOf: RoutesOf): void {
  const pipeline = routesOf('Pipeline');
  pipeline.get('/pipeline', {
    operationId: 'getPipeline',
    summary: 'Get the pipeline',
    description:
      'Returns every stage with its number of leads, the value of their deals, and its newest leads.',
    scope: 'pipeline:read',
    query: {
      limit: wholeNumber(0, 100).default(BOARD_LEADS).describe('Maximum number of leads per stage.'),
    },
    answer: boardSchema,
    async handle({ deps: { store, clock }, tenantId, query }) {
      return fewAtOnce(tenantId, async () => {
        const board = await store.readBoard(tenantId, query.limit);
        const stages = board.flatMap(({ leads, ...counts }, place) => [
          Buffer.from(`${place === 0 ? '' : ','}${JSON.stringify(counts).slice(0, -1)},"leads":[`),
          ...commaSeparated(leads),
          Buffer.from(']}'),
        ]);
        return concatInTurns([Buffer.from('{"data":{"stages":['), ...stages, Buffer.from(']}}')], clock);
      });
    },
  });
  pipeline.put('/pipeline/:id/stage', {
    operationId: 'moveLead',
    summary: 'Move a lead to a stage',
    description:
      'A lead can move from any open stage to any other, and to `won` or `lost`. Moving to `lost` requires a `reason`, and leaving ' +
      '`won` or `lost` requires `"reopen": true`. Moving to the current stage changes nothing. The status of its deal changes with ' +
      'it. Returns the lead.',
    scope: 'pipeline:write',
    versioned: true,
    problems: ['STAGE_CONFLICT', 'INVALID_TRANSITION'],
    params,
    body: moveInputSchema,
    answer: leadSchema,
    async handle({ deps, caller, params: { id }, body: move, when, tag }) {
      const moved = await moveLead(deps, leadCallerOf(caller), { id, move, when });
      tag(versionOf(moved), await leadText(deps.store, moved.lead));
      return moved.lead;
    },
  });
  addHistory(pipeline);
  pipeline.put('/pipeline/:id/deal', {
    operationId: 'setDeal',
    summary: 'Set the deal of a lead',
    description:
      'Replaces the whole deal. The status of a deal follows the stage of its lead: `"status": "won"` moves the lead to `won`, `lost` ' +
      'moves it to `lost` and requires a `reason`, and another status than that of a closed lead requires `"reopen": true`; `open` ' +
      'moves the lead back to its last open stage.',
    scope: 'pipeline:write',
    versioned: true,
    problems: ['INVALID_TRANSITION'],
    params,
    body: dealInputSchema,
    answer: dealSchema.extend({ lead_id: z.string().describe('ID of the lead.') }),
    async handle({ deps, caller, params: { id }, body: deal, when, tag }) {
      const changed = await setDeal(deps, leadCallerOf(caller), { id, deal, when });
      tag(versionOf(changed), await leadText(deps.store, changed.lead));
      return { lead_id: id, ...changed.deal };
    },
  });
}

function addHistory(pipeline: Routes): void {
  addList(pipeline, '/pipeline/:id/history', {
    operationId: 'listStageMoves',
    summary: 'List the stage moves of a lead',
    description: 'Newest first: who moved the lead, when and why, and how long it had been in its stage.',
    scope: 'pipeline:read',
    params,
    item: stageMoveSchema,
    name: 'pipeline history',
    async filters({ deps, tenantId, params: { id } }) {
      await requireLead(deps.store, tenantId, id);
      return { id };
    },
    read: ({ deps: { store } }, { id, ...place }) => store.pageStageMoves(id, place),
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
