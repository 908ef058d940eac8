import type { SignalType } from '../model/signal.ts';

const DAY_MS = 86_400_000;

/**
 * Days in which a signal loses half its worth: a wish is met within weeks, a round of funding is spent over months, a new
 * head of something buys in the first half year.
 */
const HALF_LIFE_DAYS: Readonly<Record<SignalType, number>> = {
  intent_post: 14,
  qa_forum: 14,
  review: 30,
  funding_event: 60,
  job_change: 60,
};
/** Three days are no age: sources are read once an hour to once a day, and nobody chooses a supplier over a weekend. */
const FRESH_MS = 3 * DAY_MS;

/** The share of its worth that a post of this age still has. Older is never more. */
export function freshness(type: SignalType, ageMs: number): number {
  return 0.5 ** (Math.max(0, ageMs - FRESH_MS) / (HALF_LIFE_DAYS[type] * DAY_MS));
}

/** An age in words. */
export function ageText(ageMs: number): string {
  const days = Math.floor(Math.max(0, ageMs) / DAY_MS);
  if (days < 60) return `${days} days`;
  return days < 730 ? `${Math.floor(days / 30)} months` : `${Math.floor(days / 365)} years`;
}
