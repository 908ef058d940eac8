import { dealStatusIn } from '../model/constants.ts';
import { DomainError, invalidAt } from '../model/errors.ts';
import type { Lead } from '../model/lead.ts';
import type { Deal, DealInput, MoveInput, Stage } from '../model/pipeline.ts';
import type { IntakeDeps } from '../signals/plan-posts.ts';
import { changeUntilItHolds, type Precondition, UNCONDITIONAL } from '../store/change-until-it-holds.ts';
import type { StoredLead } from '../store/lead-store.ts';
import { commitRouted, type StateChange, signalsOfLead } from '../webhooks/fan-out.ts';
import { type LeadCaller, requireLead, updateOf, versionOf } from './changes.ts';

/**
 * Stages of a lead in the pipeline:
 *   new, contacted, engaged, qualified, proposal   open: each to each other, to won, and with a reason to lost
 *   won, lost                                      closed: to any other, lost with a reason, where `reopen` is true
 */
const CLOSED: readonly Stage[] = ['won', 'lost'];

/**
 * Whether the lead moves (true) or already is in that stage (false). `expected_stage` is checked first, so that a caller who has
 * not seen the latest move learns about it.
 * @throws DomainError `STAGE_CONFLICT`, `INVALID_TRANSITION`, `INVALID_REQUEST`
 */
export function decideMove(current: Stage, { stage, expected_stage, reason, reopen }: MoveInput): boolean {
  if (expected_stage !== null && expected_stage !== current) {
    throw new DomainError('STAGE_CONFLICT', `The lead is in "${current}", not in "${expected_stage}".`, {
      hint: 'Read the lead again and decide based on its current stage.',
      members: { current_stage: current, expected_stage },
    });
  }
  if (stage === current) return false;
  if (CLOSED.includes(current) && !reopen) {
    throw new DomainError('INVALID_TRANSITION', `The lead is closed as "${current}".`, {
      hint: 'Send "reopen": true to move it anyway.',
      members: { current_stage: current },
    });
  }
  if (stage === 'lost' && reason === '') {
    throw invalidAt('/reason', 'Add a "reason" for losing this lead.');
  }
  return true;
}

/** More than anyone closes and reopens a lead without an open stage in between. */
const MOVES_LOOKED_AT = 50;

/** The lead after the request. */
export interface ChangedLead extends StoredLead {
  /** False if nothing changed. */
  isChanged: boolean;
}

/**
 * Moves a lead through the pipeline, with its deal, history and events in one commit. Concurrent moves are decided one after the
 * other, each based on the result of the previous one.
 * @throws DomainError `NOT_FOUND`, `STAGE_CONFLICT`, `INVALID_TRANSITION`, `INVALID_REQUEST`
 */
export async function moveLead(
  deps: IntakeDeps,
  caller: LeadCaller,
  { id, move, when = UNCONDITIONAL }: { id: string; move: MoveInput; when?: Precondition },
): Promise<ChangedLead> {
  return changeUntilItHolds('lead', async () => {
    const stored = await requireLead(deps.store, caller.tenantId, id);
    when(versionOf(stored));
    const { stage: previous } = stored.lead;
    if (!decideMove(previous, move)) return { ...stored, isChanged: false };
    const { stage, reason } = move;
    const { deal } = stored.lead;
    const lead = { ...stored.lead, stage, deal: deal && { ...deal, status: dealStatusIn(stage) } };
    return commit(deps, caller, { stored, lead, reason });
  });
}

/**
 * Sets the deal of a lead. A deal is won or lost exactly when its lead is, so its status moves the lead, by the rules of any
 * move; setting the same deal again changes nothing.
 * @throws DomainError `NOT_FOUND`, `INVALID_TRANSITION`, `INVALID_REQUEST`
 */
export async function setDeal(
  deps: IntakeDeps,
  caller: LeadCaller,
  { id, deal: input, when = UNCONDITIONAL }: { id: string; deal: DealInput; when?: Precondition },
): Promise<ChangedLead & { deal: Deal }> {
  const { status: wanted, reason, reopen, ...worth } = input;
  return changeUntilItHolds('lead', async () => {
    const stored = await requireLead(deps.store, caller.tenantId, id);
    when(versionOf(stored));
    const { stage } = stored.lead;
    const deal = { ...worth, status: wanted ?? dealStatusIn(stage) };
    let next = stage;
    if (deal.status !== dealStatusIn(stage)) {
      next = deal.status === 'open' ? await lastOpenStage(deps, id) : deal.status;
      decideMove(stage, { stage: next, reason, reopen, expected_stage: null });
    } else if (isSame(stored.lead.deal, deal)) {
      return { ...stored, deal, isChanged: false };
    }
    const changed = await commit(deps, caller, {
      stored,
      lead: { ...stored.lead, stage: next, deal },
      reason,
    });
    return changed && { ...changed, deal };
  });
}

/** The last open stage of a closed lead; `new` if it was closed from the start. */
async function lastOpenStage({ store }: IntakeDeps, id: string): Promise<Stage> {
  const { rows } = await store.pageStageMoves(id, { after: null, limit: MOVES_LOOKED_AT });
  const stages = rows.flatMap(({ previous }) => (previous === null ? [] : [previous]));
  return stages.find((stage) => dealStatusIn(stage) === 'open') ?? 'new';
}

/** Commits a lead with the events of its changes, which contain its new state; null if it has changed since it was read. */
async function commit(
  deps: IntakeDeps,
  caller: LeadCaller,
  wanted: { stored: StoredLead; lead: Lead; reason: string },
): Promise<ChangedLead | null> {
  const { id: subjectId, stage: fromStage, deal: fromDeal } = wanted.stored.lead;
  const change = updateOf(deps, caller, wanted);
  const { lead } = change;
  const { actor } = caller;
  const about = { lead_id: subjectId };
  const changes: StateChange[] = [];
  if (lead.stage !== fromStage) {
    const data = { ...about, previous: fromStage, current: lead.stage, reason: wanted.reason, actor, lead };
    const signals = () => signalsOfLead(deps.store, subjectId);
    changes.push({ type: 'pipeline.stage_changed', subjectId, data, signals });
  }
  if (lead.deal !== null && !isSame(fromDeal, lead.deal)) {
    const data = { ...about, previous: fromDeal, current: lead.deal, actor, lead };
    changes.push({ type: 'deal.changed', subjectId, data });
  }
  const isChanged = await commitRouted(deps, caller.tenantId, { changes }, (events) =>
    deps.store.commitLead({ ...change, events }),
  );
  const version = change.expectedVersion + 1;
  return isChanged ? { lead, version, isChanged } : null;
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
