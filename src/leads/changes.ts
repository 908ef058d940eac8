import { fromIso, toIso } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { Lead } from '../model/lead.ts';
import type { Actor } from '../model/pipeline.ts';
import type { IntakeDeps } from '../signals/plan-posts.ts';
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
  { clock }: Pick<IntakeDeps, 'clock'>,
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

/** What a provider adds to leads: at once where it answers soon, else with an event of its own. */
export interface Enrichment {
  /** A request's way of asking; it waits until then, a moment of the clock that never steps. */
  patience(until: number): Patience;
  /** Forgets its answers, because a person was erased. */
  forget(): void;
  /** Cuts off what is under way, and resolves when nothing is stored any more. */
  close(): Promise<void>;
}

/** One lead's way of asking. */
export interface Patience {
  /** The lead with what the provider knows beyond it, as far as that comes in time. */
  enrich(caller: LeadCaller, lead: Lead): Promise<Lead>;
  /** Once the lead is stored: late answers are added to it and announced with `lead.enriched`. */
  follow(caller: LeadCaller, leadId: string): void;
}

/** What adding leads needs of the process. */
export interface LeadDeps extends IntakeDeps {
  /** Null or left out: what follows from the facts themselves is all. */
  enrichment?: Enrichment | null;
}

/** A delay that a waiting user hardly notices. */
export const PATIENCE_MS = 2_000;

const NO_PATIENCE: Patience = { enrich: async (_, lead) => lead, follow: () => {} };

/** What one lead of a request may wait for, from now or until `until`. */
export function patienceOf(
  { enrichment, clock }: LeadDeps,
  until = clock.monotonic() + PATIENCE_MS,
): Patience {
  return enrichment?.patience(until) ?? NO_PATIENCE;
}
