import { fromIso, toIso } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { Lead } from '../model/lead.ts';
import type { Actor } from '../model/pipeline.ts';
import type { IntakeParts } from '../signals/plan-posts.ts';
import type { LeadChange, StoredLead } from '../store/lead-store.ts';
import type { Store } from '../store/store.ts';

/** Who asks. */
export interface LeadCaller {
  tenantId: string;
  actor: Actor;
}

/** What is shown to a precondition of a stored lead. */
export function versionOf({ lead, version }: StoredLead): { id: string; version: number } {
  return { id: lead.id, version };
}

/** The lead of that id. @throws DomainError `NOT_FOUND` */
export async function requireLead(store: Store, tenantId: string, id: string): Promise<StoredLead> {
  const stored = await store.getLead(tenantId, id);
  if (stored === null) throw noLead(id);
  return stored;
}

/** The refusal of an id that no lead of the tenant has. */
function noLead(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no lead "${id}".`);
}

/** The change that makes a lead, with its first move. */
export function newLead(caller: LeadCaller, lead: Lead): LeadChange {
  const { actor } = caller;
  const movedAt = fromIso(lead.created_at);
  const move = { previous: null, current: lead.stage, reason: '', actor, movedAt, stayedMs: null };
  return { ...bareChange(caller, lead), move };
}

/** The change of a stored lead into `lead`; where that is in another stage, with the move. */
export function updateOf(
  { clock }: Pick<IntakeParts, 'clock'>,
  caller: LeadCaller,
  { stored, lead, reason = '' }: { stored: StoredLead; lead: Lead; reason?: string },
): LeadChange {
  const now = clock.now();
  const change = { ...bareChange(caller, touch(lead, now)), expectedVersion: stored.version };
  const { stage: previous, stage_changed_at } = stored.lead;
  if (lead.stage === previous) return change;
  // The clock may have been set back meanwhile.
  const stayedMs = Math.max(0, now - fromIso(stage_changed_at));
  const move = { previous, current: lead.stage, reason, actor: caller.actor, movedAt: now, stayedMs };
  return { ...change, lead: { ...change.lead, stage_changed_at: toIso(now) }, move };
}

function bareChange({ tenantId }: LeadCaller, lead: Lead): LeadChange {
  return {
    tenantId,
    lead,
    expectedVersion: 0,
    seen: [],
    keys: null,
    newSignals: [],
    attach: [],
    move: null,
    events: [],
  };
}

function touch(lead: Lead, now: number): Lead {
  return { ...lead, updated_at: toIso(now) };
}
