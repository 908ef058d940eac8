import { createHash } from 'node:crypto';
import { requireRoom } from '../accounts/plans.ts';
import { type Clock, toIso } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { addAll } from '../lib/lists.ts';
import {
  type Campaign,
  type CampaignEventInput,
  type CampaignInput,
  type CampaignPatch,
  type CampaignResource,
  type CampaignSettings,
  type CampaignStatus,
  isAutoReply,
} from '../model/campaign.ts';
import { DomainError, invalidAt, limitBatchTime } from '../model/errors.ts';
import type { RoutedEvent } from '../model/event.ts';
import type { AccountStore } from '../store/account-store.ts';
import type {
  CampaignEventResult,
  CampaignStore,
  NamedPerson,
  NewCampaignEvent,
} from '../store/campaign-store.ts';
import { changeUntilItHolds, type Precondition, UNCONDITIONAL } from '../store/change-until-it-holds.ts';
import {
  commitRouted,
  listReceivers,
  MOST_DELIVERIES_A_COMMIT,
  type RouteDeps,
  type StateChange,
} from '../webhooks/fan-out.ts';

/**
 * Statuses of a campaign:
 *   draft      being written    → scheduled | active | completed
 *   scheduled  starts later     → active | completed
 *   active     running          → paused | completed
 *   paused     stopped          → active | completed
 *   completed  final
 * Staying in the same state is not a transition.
 */
const MOVES: Record<CampaignStatus, readonly CampaignStatus[]> = {
  draft: ['scheduled', 'active', 'completed'],
  scheduled: ['active', 'completed'],
  active: ['paused', 'completed'],
  paused: ['active', 'completed'],
  completed: [],
};

/** Whether `wanted` is a transition from `current`; false if they are the same. @throws DomainError `INVALID_TRANSITION` */
export function movesTo(current: CampaignStatus, wanted: CampaignStatus): boolean {
  if (wanted === current) return false;
  const moves = MOVES[current];
  if (moves.includes(wanted)) return true;
  const detail = `A campaign that is ${current} cannot become ${wanted}.`;
  throw new DomainError('INVALID_TRANSITION', detail, {
    hint:
      moves.length === 0
        ? `"${current}" is final. Create a new campaign instead.`
        : `From "${current}" a campaign can become ${moves.map((status) => `"${status}"`).join(', ')}.`,
    errors: [{ pointer: '/status', detail }],
  });
}

interface CampaignDeps {
  store: CampaignStore & RouteDeps['store'] & Pick<AccountStore, 'countStored'>;
  clock: Clock;
  newId: NewId;
}

/** Creates a campaign as a draft, and changes it to another status immediately if one is given. @throws DomainError */
export async function createCampaign(
  deps: CampaignDeps,
  tenantId: string,
  { name, status, ...settings }: CampaignInput,
): Promise<Campaign> {
  const now = deps.clock.now();
  const draft: Campaign = {
    id: deps.newId('cam'),
    tenantId,
    name,
    status: 'draft',
    settings,
    startedAt: null,
    completedAt: null,
    statusChangedAt: now,
    createdAt: now,
    updatedAt: now,
    version: 1,
  };
  refuseBackwards(settings);
  const campaign = withStatus(draft, status, now);
  const changes = statusChanges(draft, campaign);
  await commitRouted(deps, tenantId, { changes }, (events) => deps.store.createCampaign(campaign, events));
  return campaign;
}

/** Applies a patch, and stores the event of a status change in the same commit. @throws DomainError */
export function changeCampaign(
  deps: CampaignDeps,
  tenantId: string,
  { id, patch, when = UNCONDITIONAL }: { id: string; patch: CampaignPatch; when?: Precondition },
): Promise<Campaign> {
  return changeUntilItHolds('campaign', async () => {
    const current = await findCampaign(deps.store, tenantId, id);
    when(current);
    const campaign = applyPatch(current, patch, deps.clock.now());
    if (campaign === current) return campaign;
    const changes = statusChanges(current, campaign);
    const isStored = await commitRouted(deps, tenantId, { changes }, (events) =>
      deps.store.updateCampaign(campaign, current.version, events),
    );
    return isStored ? campaign : null;
  });
}

/** The tenant's campaign. @throws DomainError `NOT_FOUND` */
export async function findCampaign(store: CampaignStore, tenantId: string, id: string): Promise<Campaign> {
  const campaign = await store.getCampaign(tenantId, id);
  if (campaign === null) throw new DomainError('NOT_FOUND', `There is no campaign "${id}".`);
  return campaign;
}

/** The campaign after a patch; the same object if nothing changes. @throws DomainError */
function applyPatch(current: Campaign, patch: CampaignPatch, now: number): Campaign {
  const { name = current.name, status = current.status } = patch;
  const settings = patchedSettings(current.settings, patch);
  refuseBackwards(settings);
  const moved = withStatus(current, status, now);
  const same = name === current.name && JSON.stringify(settings) === JSON.stringify(current.settings);
  if (same && moved === current) return current;
  return { ...moved, name, settings, updatedAt: now, version: current.version + 1 };
}

function patchedSettings(settings: CampaignSettings, patch: CampaignPatch): CampaignSettings {
  return {
    description: patch.description ?? settings.description,
    channel: patch.channel ?? settings.channel,
    steps: patch.steps ?? settings.steps,
    // These can be set to null.
    starts_at: patch.starts_at === undefined ? settings.starts_at : patch.starts_at,
    ends_at: patch.ends_at === undefined ? settings.ends_at : patch.ends_at,
  };
}

/** A campaign as every API shows it. */
export function campaignResource(campaign: Campaign): CampaignResource {
  const { settings } = campaign;
  return {
    id: campaign.id,
    name: campaign.name,
    description: settings.description,
    channel: settings.channel,
    status: campaign.status,
    steps: settings.steps,
    starts_at: settings.starts_at,
    ends_at: settings.ends_at,
    started_at: campaign.startedAt === null ? null : toIso(campaign.startedAt),
    completed_at: campaign.completedAt === null ? null : toIso(campaign.completedAt),
    status_changed_at: toIso(campaign.statusChangedAt),
    created_at: toIso(campaign.createdAt),
    updated_at: toIso(campaign.updatedAt),
  };
}

function withStatus(campaign: Campaign, status: CampaignStatus, now: number): Campaign {
  if (!movesTo(campaign.status, status)) return campaign;
  return {
    ...campaign,
    status,
    statusChangedAt: now,
    startedAt: campaign.startedAt ?? (status === 'active' ? now : null),
    completedAt: status === 'completed' ? now : null,
  };
}

function refuseBackwards({ starts_at, ends_at }: Pick<CampaignResource, 'starts_at' | 'ends_at'>): void {
  // Both have the same format, which sorts correctly as text.
  if (starts_at === null || ends_at === null || ends_at > starts_at) return;
  throw invalidAt('/ends_at', `"ends_at" must be after "starts_at" (${starts_at}).`);
}

function statusChanges(before: Campaign, after: Campaign): StateChange[] {
  if (before.status === after.status) return [];
  const data = {
    campaign_id: after.id,
    campaign_name: after.name,
    previous: before.status,
    current: after.status,
  };
  return [{ type: 'campaign.status_changed', subjectId: after.id, data }];
}

/**
 * Records campaign events, with a `reply.classified` event for each classified reply. Returns the result of each.
 * @throws DomainError `PLAN_REQUIRED`; `UNAVAILABLE` if it takes too long, with part of them recorded
 */
export async function recordEvents(
  deps: CampaignDeps,
  campaign: Campaign,
  inputs: readonly CampaignEventInput[],
): Promise<CampaignEventResult[]> {
  if (inputs.length === 0) return [];
  const { tenantId } = campaign;
  await requireRoom(deps, tenantId, 'campaignEvents');
  const receivers = await listReceivers(deps, tenantId);
  const mostReplies = Math.ceil(MOST_DELIVERIES_A_COMMIT / (receivers.length + 1));
  const results: CampaignEventResult[] = [];
  const checkTime = limitBatchTime(deps.clock);
  // A repeated request gets the results of its first run, whose commits may have been larger or smaller.
  while (results.length < inputs.length) {
    const part = firstOf(inputs.slice(results.length), mostReplies);
    const events = part.map(toNewEvent);
    const changes = await replyChanges(deps, campaign, events, part);
    const recorded = await commitRouted(deps, tenantId, { changes, waits: results.length > 0 }, (routed) =>
      deps.store.recordCampaignEvents(campaign, withReplyEvents(events, routed)),
    );
    addAll(results, recorded);
    if (results.length < inputs.length) checkTime();
  }
  return results;
}

/** Up to `mostReplies` classified replies, which are routed to all endpoints, and the events between them. */
function firstOf(inputs: readonly CampaignEventInput[], mostReplies: number): readonly CampaignEventInput[] {
  let replies = 0;
  const end = inputs.findIndex((input) => input.reply_class != null && ++replies > mostReplies);
  return end === -1 ? inputs : inputs.slice(0, end);
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

/** 132 bits of SHA-256: enough to avoid collisions within a campaign; a key half as long is read a third faster. */
function eventKey(eventId: string): string {
  return createHash('sha256').update(eventId).digest('base64url').slice(0, 22);
}

/** The changes for classified replies, in order. */
async function replyChanges(
  deps: CampaignDeps,
  campaign: Campaign,
  events: readonly NewCampaignEvent[],
  inputs: readonly CampaignEventInput[],
): Promise<StateChange[]> {
  const replies = events.flatMap((event, index) => (event.replyClass === null ? [] : [{ event, index }]));
  if (replies.length === 0) return [];
  const people = await deps.store.completePeople(
    campaign.tenantId,
    replies.map(({ event: { leadId, email } }) => ({ leadId, email })),
  );
  return replies.map(({ event, index }, i) =>
    replyChange(campaign, event, { eventId: inputs[index]?.event_id ?? '', ...people[i] }),
  );
}

/** Adds its event to each classified reply. */
function withReplyEvents(
  events: readonly NewCampaignEvent[],
  routed: readonly RoutedEvent[],
): NewCampaignEvent[] {
  let place = 0;
  return events.map((event) => {
    const own = event.replyClass === null ? undefined : routed[place++];
    return own === undefined ? event : { ...event, events: [own] };
  });
}

/** `reply.classified`: a reply got a classification. Unknown values are empty strings. */
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
