import type { Deal, MoveInput } from '../model/pipeline.ts';
import type { IntakeParts } from '../signals/plan-posts.ts';
import { changeUntilItHolds, type Precondition, UNCONDITIONAL } from '../store/change-until-it-holds.ts';
import type { LeadChange, StoredLead } from '../store/lead-store.ts';
import { lanesOf, routeChanges, type StateChange } from '../webhooks/state-changes.ts';
import { type LeadCaller, requireLead, updateOf, versionOf } from './changes.ts';
import { decideMove } from './stages.ts';

/** A lead as it was asked to be; `lanes` names the endpoints that now have work. */
export interface ChangedLead extends StoredLead {
  /** False where it was so before. */
  isChanged: boolean;
  lanes: ReturnType<typeof lanesOf>;
}

/**
 * Moves a lead through the pipeline, with the history and the event in one commit. Moves at once are decided one after
 * the other, each on what the one before it left.
 * @throws DomainError `NOT_FOUND`, `STAGE_CONFLICT`, `INVALID_TRANSITION`, `INVALID_REQUEST`
 */
export async function moveLead(
  parts: IntakeParts,
  caller: LeadCaller,
  { id, move, when = UNCONDITIONAL }: { id: string; move: MoveInput; when?: Precondition },
): Promise<ChangedLead> {
  return changeUntilItHolds('lead', async () => {
    const stored = await requireLead(parts.store, caller.tenantId, id);
    when(versionOf(stored));
    const { stage: previous } = stored.lead;
    if (!decideMove(previous, move)) return { ...stored, isChanged: false, lanes: [] };
    const { stage: current, reason } = move;
    const change = updateOf(parts, caller, { stored, lead: { ...stored.lead, stage: current }, reason });
    const data = { previous, current, reason, actor: caller.actor };
    return commitWith(parts, change, { type: 'pipeline.stage_changed', subjectId: id, data });
  });
}

/**
 * Sets what the lead may be worth, with the event in one commit; the same deal again changes nothing.
 * @throws DomainError `NOT_FOUND`
 */
export async function setDeal(
  parts: IntakeParts,
  caller: LeadCaller,
  { id, deal, when = UNCONDITIONAL }: { id: string; deal: Deal; when?: Precondition },
): Promise<ChangedLead> {
  return changeUntilItHolds('lead', async () => {
    const stored = await requireLead(parts.store, caller.tenantId, id);
    when(versionOf(stored));
    const previous = stored.lead.deal;
    if (isSame(previous, deal)) return { ...stored, isChanged: false, lanes: [] };
    const change = updateOf(parts, caller, { stored, lead: { ...stored.lead, deal } });
    const data = { previous, current: deal, actor: caller.actor };
    return commitWith(parts, change, { type: 'deal.changed', subjectId: id, data });
  });
}

/** Commits the change with its event, which carries the lead as it then is; null where it no longer holds. */
async function commitWith(
  parts: IntakeParts,
  change: LeadChange,
  { type, subjectId, data }: StateChange,
): Promise<ChangedLead | null> {
  const { lead, tenantId } = change;
  const told = { type, subjectId, data: { lead_id: subjectId, ...data, lead } };
  const events = await routeChanges(parts, tenantId, [told]);
  const isChanged = await parts.store.commitLead({ ...change, events });
  const version = change.expectedVersion + 1;
  return isChanged ? { lead, version, isChanged, lanes: lanesOf(events) } : null;
}

function isSame(one: StoredLead['lead']['deal'], other: Deal): boolean {
  return (
    one !== null &&
    one.amount_minor === other.amount_minor &&
    one.currency === other.currency &&
    one.status === other.status &&
    one.close_date === other.close_date
  );
}
