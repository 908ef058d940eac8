import { fromIso, toIso } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { Lead } from '../model/lead.ts';
import type { Actor } from '../model/pipeline.ts';
import type { IntakeDeps } from '../signals/plan-posts.ts';
import type { LeadChange, StoredLead } from '../store/lead-store.ts';
import type { Store } from '../store/store.ts';

/** The caller of a change. */
export interface LeadCaller {
  tenantId: string;
  actor: Actor;
}

/** The ID and version of a stored lead, for preconditions. */
export function versionOf({ lead, version }: StoredLead): { id: string; version: number } {
  return { id: lead.id, version };
}

/** The lead with this ID. @throws DomainError `NOT_FOUND` */
export async function requireLead(store: Store, tenantId: string, id: string): Promise<StoredLead> {
  const stored = await store.getLead(tenantId, id);
  if (stored === null) throw noLead(id);
  return stored;
}

/** The error for an unknown lead ID. */
function noLead(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no lead "${id}".`);
}

/** The change that creates a lead, with its first stage change. */
export function newLead(caller: LeadCaller, lead: Lead): LeadChange {
  const { actor } = caller;
  const movedAt = fromIso(lead.created_at);
  const move = { previous: null, current: lead.stage, reason: '', actor, movedAt, stayedMs: null };
  return { ...bareChange(caller, lead), move };
}

/** The change of a stored lead into `lead`, with a stage change if it is in another stage. */
export function updateOf(
  { clock }: Pick<IntakeDeps, 'clock'>,
  caller: LeadCaller,
  { stored, lead, reason = '' }: { stored: StoredLead; lead: Lead; reason?: string },
): LeadChange {
  const now = clock.now();
  const change = { ...bareChange(caller, touch(lead, now)), expectedVersion: stored.version };
  const { stage: previous, stage_changed_at } = stored.lead;
  if (lead.stage === previous) return change;
  // The clock may have been set back in the meantime.
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

/** Facts from a provider: added at once if it responds soon, otherwise later, with an event of their own. */
export interface Enrichment {
  /** Enrichment for one request, which waits until `until`, a time of the monotonic clock. */
  patience(until: number): Patience;
  /** Clears its cache, because a person was erased. */
  forget(): void;
  /** Aborts requests in progress; resolves when nothing more will be stored. */
  close(): Promise<void>;
}

/** Enrichment of one lead within a request. */
export interface Patience {
  /** The lead with the provider's additional facts, if they arrive in time. */
  enrich(caller: LeadCaller, lead: Lead): Promise<Lead>;
  /** Call it after the lead is stored: late facts are added to it and announced with `lead.enriched`. */
  follow(caller: LeadCaller, leadId: string): void;
}

/** The dependencies for adding leads. */
export interface LeadDeps extends IntakeDeps {
  /** Null or omitted: only facts derived from known ones. */
  enrichment?: Enrichment | null;
}

/** A delay that users hardly notice. */
export const PATIENCE_MS = 2_000;

const NO_PATIENCE: Patience = { enrich: async (_, lead) => lead, follow: () => {} };

/** Enrichment for one request, from now or until `until`. */
export function patienceOf(
  { enrichment, clock }: LeadDeps,
  until = clock.monotonic() + PATIENCE_MS,
): Patience {
  return enrichment?.patience(until) ?? NO_PATIENCE;
}
