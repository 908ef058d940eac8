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

/** The lead without any signals. */
export function withoutSignals(lead: Lead): Lead {
  return { ...lead, icp_score: null, classification: null, last_signal_at: null, signal_count: 0 };
}

function isBetter(
  one: Pick<Signal, 'icp_score' | 'classification'>,
  best: Pick<Lead, 'icp_score' | 'classification'>,
): boolean {
  if (best.icp_score === null || best.classification === null) return true;
  if (one.icp_score !== best.icp_score) return one.icp_score > best.icp_score;
  // Thresholds differ between profiles: if two scores are equal, the hotter one counts.
  return CLASSIFICATIONS.indexOf(one.classification) < CLASSIFICATIONS.indexOf(best.classification);
}
