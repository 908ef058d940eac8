import { findCampaign } from '../campaigns/campaigns.ts';
import { recordEvents } from '../campaigns/record.ts';
import { type CampaignEventInput, campaignEventSchema, MAX_BATCH_EVENTS } from '../model/campaign-event.ts';
import type { CampaignEventResult } from '../store/campaign-store.ts';
import { addBatch, type ItemOutcome } from './batch.ts';
import type { Routes } from './routes.ts';

type Outcome = { status: 'created' | 'duplicate' | 'rejected' };

/** `POST /v1/campaigns/{id}/events`: what happened in a campaign, as the sending system reports it. */
export function addCampaignEvents(campaigns: Routes): void {
  addBatch(campaigns, '/campaigns/:id/events', {
    operationId: 'recordCampaignEvents',
    summary: 'Record events of a campaign',
    description: [
      `Takes up to ${MAX_BATCH_EVENTS} events. A rejected event does not affect the others. The first event with an \`event_id\` counts;`,
      'later ones in the same campaign are a `duplicate` and change nothing, even if their content differs. Events are counted in any',
      'status of the campaign. A classified reply triggers `reply.classified`.',
    ].join(' '),
    scope: 'campaigns:write',
    name: 'events',
    item: campaignEventSchema,
    maxItems: MAX_BATCH_EVENTS,
    counts: { created: 'created', duplicates: 'duplicate', rejected: 'rejected' },
    own: {},
    none: { status: 'rejected' } as Outcome,
    async run({ parts, tenantId, params }, inputs) {
      const campaign = await findCampaign(parts.store, tenantId, params.id);
      const results = await recordEvents(parts, campaign, inputs);
      return results.map((result, i) => toOutcome(result, inputs[i]));
    },
  });
}

function toOutcome(result: CampaignEventResult, input: CampaignEventInput | undefined): ItemOutcome<Outcome> {
  if (result !== 'unknown_lead') return { status: result };
  return { faults: [{ pointer: '/lead_id', detail: `There is no lead "${input?.lead_id}".` }] };
}
