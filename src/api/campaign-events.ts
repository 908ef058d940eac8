import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { findCampaign } from '../campaigns/campaigns.ts';
import { recordEvents } from '../campaigns/record.ts';
import { callerOf } from '../http/auth.ts';
import { check } from '../http/faults.ts';
import { findBadText } from '../http/json-body.ts';
import { type CampaignEventInput, campaignEventSchema, MAX_BATCH_EVENTS } from '../model/campaign-event.ts';
import type { Fault } from '../model/errors.ts';
import type { CampaignEventResult } from '../store/campaign-store.ts';
import type { ApiParts } from './parts.ts';

const BATCH_BODY_BYTES = 5 * 1024 * 1024;

const eventsAnswer = z.strictObject({
  data: z.strictObject({
    results: z.array(
      z.strictObject({
        index: z.int().describe('Place of the event in the request'),
        status: z.enum(['created', 'duplicate', 'rejected']),
        errors: z.array(z.strictObject({ pointer: z.string(), detail: z.string() })),
      }),
    ),
    created: z.int(),
    duplicates: z.int(),
    rejected: z.int(),
  }),
});
type EventResult = z.infer<typeof eventsAnswer>['data']['results'][number];

/** `POST /v1/campaigns/{id}/events`: what happened in a campaign, as its sending system tells it. */
export function addCampaignEvents(
  app: FastifyInstance,
  parts: Pick<ApiParts, 'store' | 'clock' | 'newId' | 'nudge'>,
): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/campaigns/:id/events',
    {
      bodyLimit: BATCH_BODY_BYTES,
      config: { scope: 'campaigns:write', itemwise: true },
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
        params: z.strictObject({ id: z.string() }),
        querystring: z.strictObject({}),
        body: z.strictObject({
          events: z
            .array(z.unknown().meta(describedEvent()))
            .min(1)
            .max(MAX_BATCH_EVENTS)
            .describe('Each is checked on its own'),
        }),
        response: { 200: eventsAnswer },
      },
    },
    async (request) => {
      const campaign = await findCampaign(parts.store, callerOf(request).tenant.id, request.params.id);
      const items = request.body.events.map(checkItem);
      const inputs = items.flatMap((item) => ('input' in item ? [item.input] : []));
      const recorded = await recordEvents(parts, campaign, inputs);
      parts.nudge(recorded.lanes);

      const next = recorded.results.values();
      const results = items.map((item, index) =>
        'input' in item ? toResult(index, item.input, next.next().value) : rejected(index, item.errors),
      );
      const count = (status: EventResult['status']) => results.filter((r) => r.status === status).length;
      return {
        data: {
          results,
          created: count('created'),
          duplicates: count('duplicate'),
          rejected: count('rejected'),
        },
      };
    },
  );
}

/** What an event looks like, told and not enforced: the body is checked item by item. */
function describedEvent(): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(campaignEventSchema, { io: 'input' });
  return schema;
}

function checkItem(item: unknown): { input: CampaignEventInput } | { errors: Fault[] } {
  const badText = findBadText(item);
  if (badText !== null) return { errors: [badText] };
  const checked = check(campaignEventSchema, item, 'body');
  return checked.ok ? { input: checked.value } : { errors: checked.faults };
}

function toResult(
  index: number,
  input: CampaignEventInput,
  result: CampaignEventResult | undefined,
): EventResult {
  if (result === undefined) throw new Error('the store gave too few results');
  if (result !== 'unknown_lead') return { index, status: result, errors: [] };
  return rejected(index, [{ pointer: '/lead_id', detail: `There is no lead "${input.lead_id}".` }]);
}

function rejected(index: number, errors: readonly Fault[]): EventResult {
  return {
    index,
    status: 'rejected',
    errors: errors.map(({ pointer = '', detail }) => ({ pointer: `/events/${index}${pointer}`, detail })),
  };
}
