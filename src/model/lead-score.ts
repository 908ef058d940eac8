import { CLASSIFICATIONS } from './constants.ts';
import type { Lead } from './lead.ts';
import type { Signal } from './signal.ts';

// Apart from the lead's schemas: the writer's thread needs this, and is not to load zod.

/** Attaches signals to a lead that did not have them yet. Its score becomes that of the best signal. */
export function attachSignals(
  lead: Lead,
  signals: readonly Pick<Signal, 'icp_score' | 'classification' | 'timestamp'>[],
): Lead {
  let { icp_score, classification, last_signal_at } = lead;
  for (const signal of signals) {
    if (isBetter(signal, { icp_score, classification })) ({ icp_score, classification } = signal);
    if (last_signal_at === null || signal.timestamp > last_signal_at) last_signal_at = signal.timestamp;
  }
  const signal_count = lead.signal_count + signals.length;
  return { ...lead, icp_score, classification, last_signal_at, signal_count };
}

/** A class of a lead's signals, and the highest score among them. */
export interface BestOfClass {
  score: number;
  classification: Signal['classification'];
}

/** The lead with the score of its best signal; null for both if it has none. */
export function scoredBy(lead: Lead, best: readonly BestOfClass[]): Lead {
  let { icp_score, classification }: Pick<Lead, 'icp_score' | 'classification'> = NO_SCORE;
  for (const { score, classification: own } of best) {
    const signal = { icp_score: score, classification: own };
    if (isBetter(signal, { icp_score, classification })) ({ icp_score, classification } = signal);
  }
  return { ...lead, icp_score, classification };
}

const NO_SCORE = { icp_score: null, classification: null };

type Scored = Pick<Signal, 'icp_score' | 'classification'>;

/** An edited signal of a lead, before and after. */
export interface Rescored {
  before: Scored;
  after: Scored;
}

/**
 * The lead after signals of it were edited, in this order. Null if that depends on its other signals: the best one was edited,
 * and none is as good now.
 */
export function rescored(lead: Lead, edits: readonly Rescored[]): Lead | null {
  let { icp_score, classification } = lead;
  let isKnown = true;
  for (const { before, after } of edits) {
    const isBest = before.icp_score === icp_score && before.classification === classification;
    if (icp_score === null || classification === null || !isBetter({ icp_score, classification }, after)) {
      ({ icp_score, classification } = after);
      isKnown = true;
    } else if (isBest) isKnown = false;
  }
  return isKnown ? { ...lead, icp_score, classification } : null;
}

function isBetter(one: Scored, best: Pick<Lead, 'icp_score' | 'classification'>): boolean {
  if (best.icp_score === null || best.classification === null) return true;
  if (one.icp_score !== best.icp_score) return one.icp_score > best.icp_score;
  // Thresholds differ between profiles: if two scores are equal, the hotter one counts.
  return CLASSIFICATIONS.indexOf(one.classification) < CLASSIFICATIONS.indexOf(best.classification);
}
