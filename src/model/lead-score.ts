import { toIso } from '../lib/clock.ts';
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

/** Signals of a lead with the same score and class: their number, and when the newest was detected (Unix milliseconds). */
export interface ScoreGroup {
  score: number;
  classification: Signal['classification'];
  count: number;
  newest: number;
}

/** The lead with exactly these signals. */
export function scoredBy(lead: Lead, groups: readonly ScoreGroup[]): Lead {
  const blank = { ...lead, icp_score: null, classification: null, last_signal_at: null, signal_count: 0 };
  const signals = groups.map(({ score: icp_score, classification, newest }) => ({
    icp_score,
    classification,
    timestamp: toIso(newest),
  }));
  const signal_count = groups.reduce((sum, { count }) => sum + count, 0);
  return { ...attachSignals(blank, signals), signal_count };
}

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
