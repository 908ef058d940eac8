import { DAY_MS } from '../lib/clock.ts';
import type { Weights } from '../model/icp.ts';
import type { Evidence, Factor, SignalType } from '../model/signal.ts';
import type { Quote } from './explain.ts';
import { type CompiledFit, isVendorStaff, type ReadFacts } from './fit.ts';
import type { Origin } from './origin.ts';
import type { Hit } from './phrases.ts';

/** What of a post and a profile these rules look at. */
interface RuledPost {
  facts: ReadFacts;
  quote: Quote;
  type: SignalType;
  ageMs: number | null;
  origin: Origin | null;
}
interface RulingProfile {
  fit: CompiledFit;
  namesTopic: boolean;
  max: Weights;
  muted: { authors: ReadonlySet<string>; sources: ReadonlySet<string>; types: ReadonlySet<SignalType> };
}

/** No request outweighs these. */
const EXCLUDED_POINTS = 70;
const VENDOR_POINTS = 70;
const MAX_EVIDENCE = 5;

/**
 * What is taken off a score that was earned by what the post says: rules of the profile, and age. Never more than there
 * is. @param cap points that a post keeps which names nothing of the profile's topic
 */
export function deductionsOf(
  reading: RuledPost,
  compiled: RulingProfile,
  { hits, earned, cap }: { hits: readonly Hit[]; earned: number; cap: number },
): Factor[] {
  const negatives: Factor[] = [];
  let left = earned;
  const take = (key: string, wanted: number, { label, evidence }: Pick<Factor, 'label' | 'evidence'>) => {
    const points = Math.min(wanted, left);
    if (points <= 0) return;
    left -= points;
    negatives.push({ key, label, max: 0, points: -points, evidence });
  };

  const excluded = evidenceOf(reading, hits, 'excluded');
  if (excluded.length > 0) {
    take('excluded_phrase', EXCLUDED_POINTS, { label: 'Contains an excluded phrase', evidence: excluded });
  }
  if (reading.origin !== null && isMuted(reading.origin, compiled.muted)) {
    take('muted', left, { label: 'Author or source muted', evidence: [] });
  }
  if (compiled.muted.types.has(reading.type)) {
    take('type_off', left, { label: 'Signal type turned off in this profile', evidence: [] });
  }
  if (isVendorStaff(reading.facts, compiled.fit)) {
    const text = reading.facts.companyName;
    const evidence = [{ field: 'company.name', start: 0, end: Array.from(text).length, text }];
    take('vendor_staff', VENDOR_POINTS, { label: 'Works for a competitor', evidence });
  }
  const onTopic = hits.some(({ kind }) => kind !== 'excluded');
  if (compiled.namesTopic && compiled.max.topic > 0 && !onTopic) {
    take('off_topic', left - cap, { label: 'Mentions none of your topics', evidence: [] });
  }
  if (reading.ageMs !== null) {
    const worth = Math.round(left * freshness(reading.type, reading.ageMs));
    take('age', left - worth, { label: `Posted ${ageText(reading.ageMs)} ago`, evidence: [] });
  }
  return negatives;
}

function isMuted({ author, sources }: Origin, muted: Omit<RulingProfile['muted'], 'types'>): boolean {
  return (author !== null && muted.authors.has(author)) || sources.some((each) => muted.sources.has(each));
}

/** The first place of each phrase of a kind, in the order of the text. */
function evidenceOf({ quote }: RuledPost, hits: readonly Hit[], kind: Hit['kind']): Evidence[] {
  const seen = new Set<number>();
  return hits
    .filter((hit) => hit.kind === kind && seen.size < seen.add(hit.phrase).size)
    .sort((a, b) => a.start - b.start)
    .slice(0, MAX_EVIDENCE)
    .map(({ start, end }) => quote(start, end));
}

/**
 * Half-life of a signal in days: a wish is met within weeks, a funding round is spent over months, a new head of a
 * department buys in the first half year.
 */
const HALF_LIFE_DAYS: Readonly<Record<SignalType, number>> = {
  intent_post: 14,
  qa_forum: 14,
  review: 30,
  funding_event: 60,
  job_change: 60,
};
/** Up to three days count as fresh: sources are read once an hour to once a day, and suppliers are not chosen over a weekend. */
const FRESH_MS = 3 * DAY_MS;

/** The share of its worth that a post of this age still has. Older is never more. */
function freshness(type: SignalType, ageMs: number): number {
  return 0.5 ** (Math.max(0, ageMs - FRESH_MS) / (HALF_LIFE_DAYS[type] * DAY_MS));
}

/** An age in words. */
function ageText(ageMs: number): string {
  const days = Math.floor(Math.max(0, ageMs) / DAY_MS);
  if (days < 60) return `${days} days`;
  return days < 730 ? `${Math.floor(days / 30)} months` : `${Math.floor(days / 365)} years`;
}
