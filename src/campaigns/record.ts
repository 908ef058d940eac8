import { createHash } from 'node:crypto';
import { requireRoom } from '../accounts/plans.ts';
import { toIso } from '../lib/clock.ts';
import type { Campaign } from '../model/campaign.ts';
import { type CampaignEventInput, isAutoReply } from '../model/campaign.ts';
import type { CampaignEventResult, NamedPerson, NewCampaignEvent } from '../store/campaign-store.ts';
import { routeChanges, type StateChange } from '../webhooks/fan-out.ts';
import type { CampaignParts } from './campaigns.ts';

/** Stores what happened, and for each classified reply the event that tells of it, in one commit; what became of each. */
export async function recordEvents(
  parts: CampaignParts,
  campaign: Campaign,
  inputs: readonly CampaignEventInput[],
): Promise<CampaignEventResult[]> {
  if (inputs.length === 0) return [];
  await requireRoom(parts, campaign.tenantId, 'campaignEvents');
  const events = await withReplyEvents(parts, campaign, inputs.map(toNewEvent), inputs);
  return await parts.store.recordCampaignEvents(campaign, events);
}

function toNewEvent(input: CampaignEventInput): NewCampaignEvent {
  return {
    key: eventKey(input.event_id),
    type: input.type,
    occurredAt: input.occurred_at,
    leadId: input.lead_id ?? null,
    email: input.email ?? null,
    step: input.step ?? null,
    replyClass: input.reply_class ?? null,
    auto: isAutoReply(input),
    events: [],
  };
}

/** 132 bits of SHA-256: two ids of one campaign never share them, and a key half as long is read a third faster. */
function eventKey(eventId: string): string {
  return createHash('sha256').update(eventId).digest('base64url').slice(0, 22);
}

async function withReplyEvents(
  parts: CampaignParts,
  campaign: Campaign,
  events: NewCampaignEvent[],
  inputs: readonly CampaignEventInput[],
): Promise<NewCampaignEvent[]> {
  const replies = events.flatMap((event, index) => (event.replyClass === null ? [] : [{ event, index }]));
  if (replies.length === 0) return events;
  const people = await parts.store.completePeople(
    campaign.tenantId,
    replies.map(({ event: { leadId, email } }) => ({ leadId, email })),
  );
  const changes = replies.map(({ event, index }, i) =>
    replyChange(campaign, event, { eventId: inputs[index]?.event_id ?? '', ...people[i] }),
  );
  const routed = await routeChanges(parts, campaign.tenantId, changes);
  const byIndex = new Map(replies.map(({ index }, i) => [index, routed[i]]));
  return events.map((event, index) => {
    const own = byIndex.get(index);
    return own === undefined ? event : { ...event, events: [own] };
  });
}

/** `reply.classified`: a reply came to have a class, which it had not before. What is not known is an empty string. */
function replyChange(
  campaign: Campaign,
  event: NewCampaignEvent,
  { eventId, leadId, email }: { eventId: string } & Partial<NamedPerson>,
): StateChange {
  return {
    type: 'reply.classified',
    subjectId: leadId ?? campaign.id,
    data: {
      campaign_id: campaign.id,
      campaign_name: campaign.name,
      event_id: eventId,
      lead_id: leadId ?? '',
      email: email ?? '',
      step: event.step,
      reply_class: event.replyClass,
      auto: event.auto,
      occurred_at: toIso(event.occurredAt),
      previous: null,
      current: event.replyClass,
    },
  };
}
