import type { Lead } from '../model/lead.ts';
import type { IntakeParts } from '../signals/plan-posts.ts';
import type { LeadCaller } from './changes.ts';

/** What a provider adds to leads: at once where it answers soon, else with an event of its own. */
export interface Enrichment {
  /** A request's way of asking; it waits until then, a moment of the clock that never steps. */
  patience(until: number): Patience;
  /** Forgets what it heard: somebody was erased. */
  forget(): void;
  /** Cuts off what is under way, and resolves when nothing is stored any more. */
  close(): Promise<void>;
}

/** One lead's way of asking. */
export interface Patience {
  /** The lead with what the provider knows beyond it, as far as that comes in time. */
  enrich(caller: LeadCaller, lead: Lead): Promise<Lead>;
  /** Once the lead is stored: what came too late is added to it, and told by `lead.enriched`. */
  follow(caller: LeadCaller, leadId: string): void;
}

/** What adding leads needs of the process. */
export interface LeadParts extends IntakeParts {
  /** Null or left out: what follows from the facts themselves is all. */
  enrichment?: Enrichment | null;
}

/** What somebody who waits for an answer hardly notices. */
export const PATIENCE_MS = 2_000;

const NO_PATIENCE: Patience = { enrich: async (_, lead) => lead, follow: () => {} };

/** What one lead of a request may wait for, from now or until `until`. */
export function patienceOf(
  { enrichment, clock }: LeadParts,
  until = clock.monotonic() + PATIENCE_MS,
): Patience {
  return enrichment?.patience(until) ?? NO_PATIENCE;
}
