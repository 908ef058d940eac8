import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { findCampaign } from '../campaigns/campaigns.ts';
import { recordEvents } from '../campaigns/record.ts';
import { callerOf } from '../http/auth.ts';
import { runParts } from '../http/idempotency.ts';
import { idParams, noQuery } from '../http/path.ts';
import { type CampaignEventInput, campaignEventSchema, MAX_BATCH_EVENTS } from '../model/campaign-event.ts';
import type { CampaignEventResult } from '../store/campaign-store.ts';
import { answerBatch, BATCH_BODY_BYTES, batchAnswer, batchBody, type ItemOutcome } from './batch.ts';
import type { ApiParts } from './parts.ts';

const COUNTS = { created: 'created', duplicates: 'duplicate', rejected: 'rejected' } as const;
type Outcome = { status: 'created' | 'duplicate' | 'rejected' };
const REJECTED: Outcome = { status: 'rejected' };

/** `POST /v1/campaigns/{id}/events`: what happened in a campaign, as its sending system tells it. */
export function addCampaignEvents(
  app: FastifyInstance,
  parts: Pick<ApiParts, 'store' | 'clock' | 'newId' | 'seededRandom' | 'nudge'>,
): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/campaigns/:id/events',
    {
      bodyLimit: BATCH_BODY_BYTES,
      config: { scope: 'campaigns:write', itemwise: true, batchOf: 'events' },
      schema: {
        operationId: 'recordCampaignEvents',
        summary: `Record up to ${MAX_BATCH_EVENTS} events of a campaign`,
        description: [
          'Each event is taken on its own: one that is refused does not spoil the rest. The first event with an',
          '`event_id` counts; a later one of the same campaign is a `duplicate` and changes nothing, even where its',
          'content differs. Whatever the status of the campaign, events are counted. A classified reply is told by',
          '`reply.classified`.',
        ].join(' '),
        tags: ['Campaigns'],
        params: idParams,
        querystring: noQuery,
        body: batchBody('events', campaignEventSchema, MAX_BATCH_EVENTS),
        response: { 200: batchAnswer(COUNTS, {}) },
      },
    },
    async (request) => {
      const campaign = await findCampaign(parts.store, callerOf(request).tenant.id, request.params.id);
      return answerBatch({
        name: 'events',
        items: request.body.events,
        clock: parts.clock,
        schema: campaignEventSchema,
        counts: COUNTS,
        none: REJECTED,
        run: async (inputs) => {
          const { results, lanes } = await recordEvents(runParts(request, parts), campaign, inputs);
          parts.nudge(lanes);
          return results.map((result, i) => toOutcome(result, inputs[i]));
        },
      });
    },
  );
}

function toOutcome(result: CampaignEventResult, input: CampaignEventInput | undefined): ItemOutcome<Outcome> {
  if (result !== 'unknown_lead') return { status: result };
  return { faults: [{ pointer: '/lead_id', detail: `There is no lead "${input?.lead_id}".` }] };
}
