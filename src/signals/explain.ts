import { DAY_MS } from '../lib/clock.ts';
import type { Weights } from '../model/icp.ts';
import type { Evidence, Factor, SignalType } from '../model/signal.ts';
import { type CompiledFit, type FitAnswer, isVendorStaff, type ReadFacts } from './fit.ts';
import { GROUP_LABELS, type GroupKey, type Odds, type ScorePart, scoreOf } from './judge.ts';
import type { Origin } from './origin.ts';
import type { Hit } from './phrases.ts';

const MAX_EVIDENCE = 3;
/** Points that a unit of log-odds against a purchase takes away, if the reasons in favour leave room. */
const POINTS_A_DOUBT = 7;
/** Usual maximum of points for parts without a weight in the profile. */
const COMMON_MAX = 20;

/**
 * Splits the score into points: reasons in favour share the points earned, and reasons against share those
 * lost, both in proportion to their log-odds. The sum is the score.
 */
export function partFactors(
  { quote }: { quote: Quote },
  parts: readonly ScorePart[],
  { odds, max, answers }: { odds: Odds; max: Weights; answers: readonly FitAnswer[] },
): { factors: Factor[]; negatives: Factor[] } {
  const score = scoreOf(odds);
  // A hot post is explained by what makes it hot, any other post by both questions.
  const amountOf = (part: ScorePart) =>
    odds.hot >= 0 ? part.odds.hot : (part.odds.hot + part.odds.warm) / 2;
  const amounts = new Map(parts.map((part) => [part.key, amountOf(part)]));
  const adding = pick(amounts, (amount) => amount > 0);
  const taking = pick(amounts, (amount) => amount < 0);
  const doubts = Math.round(POINTS_A_DOUBT * Object.values(taking).reduce((sum, amount) => sum + amount, 0));
  const taken = Object.keys(adding).length === 0 ? 0 : Math.min(doubts, 100 - score);
  const earned = share<string>(score + taken, Object.keys(adding).length === 0 ? { form: 1 } : adding);
  const lost = share<string>(taken, taking);
  const factorOf = (key: GroupKey, points: number, sign: 1 | -1): Factor => ({
    key,
    label: sign === 1 ? GROUP_LABELS[key].adds : GROUP_LABELS[key].takes,
    max: sign === 1 ? Math.max(points, key in max ? max[key as keyof Weights] : COMMON_MAX) : 0,
    points: points * sign,
    evidence: key === 'fit' ? fitEvidence(answers, sign) : evidenceOf(quote, parts, { key, sign }),
  });
  const negatives = strongestFirst(lost).map(([key, points]) => factorOf(key, points, -1));
  const [strongest] = Object.entries(taking).sort(([, a], [, b]) => b - a) as [GroupKey, number][];
  // Parts without points to lose explain the low score.
  if (negatives.length === 0 && strongest !== undefined && Math.max(odds.hot, odds.warm) < 0)
    negatives.push({ ...factorOf(strongest[0], 0, -1), points: 0 });
  return { factors: strongestFirst(earned).map(([key, points]) => factorOf(key, points, 1)), negatives };
}

/** The strongest reason first, without reasons of less than one point. */
function strongestFirst(points: Readonly<Record<string, number>>): [GroupKey, number][] {
  const entries = Object.entries(points) as [GroupKey, number][];
  return entries.filter(([, each]) => each > 0).sort(([, a], [, b]) => b - a);
}

function pick(amounts: ReadonlyMap<GroupKey, number>, test: (amount: number) => boolean) {
  const chosen = [...amounts].filter(([, amount]) => test(amount));
  return Object.fromEntries(chosen.map(([key, amount]) => [key, Math.abs(amount)]));
}

/**
 * Where the features occur that contribute most in the part's direction, in text order and without overlaps.
 */
function evidenceOf(
  quote: Quote,
  parts: readonly ScorePart[],
  { key, sign }: { key: GroupKey; sign: 1 | -1 },
): Evidence[] {
  const features = parts.find((part) => part.key === key)?.features ?? [];
  const places: { start: number; end: number }[] = [];
  for (const { odds, place } of features) {
    if (place === null || odds * sign <= 0 || places.length === MAX_EVIDENCE) continue;
    if (places.some((other) => other.start < place.end && place.start < other.end)) continue;
    places.push(place);
  }
  return places.sort((a, b) => a.start - b.start).map(({ start, end }) => quote(start, end));
}

function fitEvidence(answers: readonly FitAnswer[], sign: 1 | -1): Evidence[] {
  const verdict = sign === 1 ? 'fits' : 'does_not_fit';
  return answers
    .filter((answer) => answer.verdict === verdict)
    .map(({ field, fact }) => ({ field, start: 0, end: Array.from(fact).length, text: fact }));
}

/** The score in one sentence: the strongest reasons for and against. */
export function summarize(score: number, factors: readonly Factor[], negatives: readonly Factor[]): string {
  const strongest = [...factors.slice(0, 3), ...negatives.slice(0, 3)];
  const signed = strongest.map(({ label, points, evidence: [first] }) => {
    const cited = first ? ` (“${first.text}”)` : '';
    const sign = points > 0 ? '+' : '';
    return `${label.toLowerCase()}${cited}${points === 0 ? '' : ` ${sign}${points}`}`;
  });
  return signed.length === 0
    ? `Scored ${score}: nothing suggests a purchase.`
    : `Scored ${score}: ${signed.join('; ')}.`;
}

/**
 * Splits `total` into integers proportional to `weights` that add up to it, by the largest remainder method.
 */
export function share<K extends string>(
  total: number,
  weights: Readonly<Record<K, number>>,
): Record<K, number> {
  const entries = Object.entries(weights) as [K, number][];
  const sum = entries.reduce((all, [, weight]) => all + weight, 0);
  const exact = entries.map(([key, weight]) => ({ key, part: sum === 0 ? 0 : (total * weight) / sum }));
  const whole = exact.map(({ key, part }) => ({
    key,
    points: Math.floor(part),
    rest: part - Math.floor(part),
  }));
  let left = sum === 0 ? 0 : total - whole.reduce((all, { points }) => all + points, 0);
  // Sorting is stable: of equal remainders, the one named first is rounded up.
  for (const entry of [...whole].sort((a, b) => b.rest - a.rest)) {
    if (left-- > 0) entry.points++;
  }
  return Object.fromEntries(whole.map(({ key, points }) => [key, points])) as Record<K, number>;
}

/** Quotes a range of a text as evidence; takes UTF-16 offsets. */
export type Quote = (start: number, end: number) => Evidence;

/**
 * Creates evidence from `text`. Offsets count Unicode code points, as clients do when they slice the text.
 * They are looked up in a table: counting from the start each time took 0.1 s for the quotes of a thousand
 * profiles in a long text.
 */
export function createQuote(text: string): Quote {
  const points = pointsBefore(text);
  return (from, to) => {
    const { start, end } = wholeWords(text, from, to);
    return {
      field: 'text',
      start: points === null ? start : (points[start] ?? 0),
      end: points === null ? end : (points[end] ?? 0),
      text: text.slice(start, end),
    };
  };
}

/** Extends a quote to whole words and amounts: a cue may match only their beginning ("$4" of "$400"). */
function wholeWords(text: string, from: number, to: number): { start: number; end: number } {
  let [start, end] = [from, to];
  while ((from - start < MAX_WORD_REST && isWithinWord(text, start)) || isWithinPoint(text, start)) start--;
  while ((end - to < MAX_WORD_REST && isWithinWord(text, end)) || isWithinPoint(text, end)) end++;
  return { start, end };
}

/** Whether `at` separates the halves of a code point, such as 𝒜. */
function isWithinPoint(text: string, at: number): boolean {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff;
}

/** Longer runs of letters are not words. */
const MAX_WORD_REST = 40;

function isWithinWord(text: string, at: number): boolean {
  const around = text.slice(Math.max(0, at - 2), at + 2);
  const middle = Math.min(at, 2);
  const [before, after] = [around.slice(0, middle), around.slice(middle)];
  if (/[\p{L}\p{N}]$/u.test(before) && /^[\p{L}\p{N}]/u.test(after)) return true;
  // "1,200" and "4.50" are single numbers.
  return (/\d$/.test(before) && /^[.,]\d/.test(after)) || (/\d[.,]$/.test(before) && /^\d/.test(after));
}

/** The number of code points before each UTF-16 unit; null if both counts are the same. */
function pointsBefore(text: string): Uint32Array | null {
  if (!/[\ud800-\udbff]/.test(text)) return null;
  const points = new Uint32Array(text.length + 1);
  for (let at = 0, count = 0; at < text.length; count++) {
    const width = (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
    points[at + 1] = count + 1;
    points[at + width] = count + 1;
    at += width;
  }
  return points;
}

/** The parts of a post that the rules use. */
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

/** No request outweighs these deductions. */
const EXCLUDED_POINTS = 70;
const VENDOR_POINTS = 70;
const MAX_RULE_EVIDENCE = 5;

/**
 * Points that a profile's rules and the post's age deduct from the earned score, never more than there are.
 * @param cap maximum score of a post that mentions none of the profile's topics
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

  const excluded = ruleEvidenceOf(reading, hits, 'excluded');
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

/** The first occurrence of each phrase of a kind, in text order. */
function ruleEvidenceOf({ quote }: RuledPost, hits: readonly Hit[], kind: Hit['kind']): Evidence[] {
  const seen = new Set<number>();
  return hits
    .filter((hit) => hit.kind === kind && seen.size < seen.add(hit.phrase).size)
    .sort((a, b) => a.start - b.start)
    .slice(0, MAX_RULE_EVIDENCE)
    .map(({ start, end }) => quote(start, end));
}

/**
 * Half-life of a signal in days: requests are settled within weeks, the money of a funding round is spent
 * over months, and a new head of department buys during the first half year.
 */
const HALF_LIFE_DAYS: Readonly<Record<SignalType, number>> = {
  intent_post: 14,
  qa_forum: 14,
  review: 30,
  funding_event: 60,
  job_change: 60,
};
/**
 * Posts count as fresh for three days: sources are read once an hour to once a day, and nobody chooses a
 * supplier over a weekend.
 */
const FRESH_MS = 3 * DAY_MS;

/** The share of its points that a post of this age keeps. It only decreases with age. */
function freshness(type: SignalType, ageMs: number): number {
  return 0.5 ** (Math.max(0, ageMs - FRESH_MS) / (HALF_LIFE_DAYS[type] * DAY_MS));
}

/** An age in words. */
function ageText(ageMs: number): string {
  const days = Math.floor(Math.max(0, ageMs) / DAY_MS);
  if (days < 60) return `${days} days`;
  return days < 730 ? `${Math.floor(days / 30)} months` : `${Math.floor(days / 365)} years`;
}
