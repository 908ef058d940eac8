import { plainText } from '../lib/markdown-text.ts';
import { excerpt, parseUrl } from '../lib/text.ts';
import type { Factor, Signal } from '../model/signal.ts';
import type { Sentence } from './reading/sentences.ts';
import {
  asks,
  nameAt,
  type ParsedPost,
  SAYS,
  type SignalToExplain,
  type StatedFact,
  sentencesOf,
  sliceOf,
  statedFacts,
  whenOf,
} from './stated-facts.ts';

const MAX_HEADLINE = 140;
const MIN_HEADLINE = 30;
const MAX_SENTENCE = 150;
const MAX_REASONS = 3;
const MAX_QUOTE = 160;

/** The explanation of a signal in plain words. */
export interface Why {
  /** "Leaving Freshdesk this quarter and asking which tool to buy" */
  sentence: string;
  /** At most three, strongest first, each with a quote from the post if there is one. */
  reasons: Reason[];
  /** Reasons against, if the signal would have been in a better class without them. */
  against: string[];
}

export interface Reason {
  text: string;
  quote: string | null;
}

/**
 * The headline of a post, as plain text on one line: its title, otherwise the sentence that asks, otherwise
 * its beginning.
 */
export function headlineOf(text: string): string {
  const plain = plainText(text.slice(0, 4_000)).trim();
  const [title] = /^[^\n]{3,200}(?=\n)/.exec(plain) ?? [];
  const chosen = title ?? untitled(plain);
  const oneLine = chosen.replace(/\s+/g, ' ').trim();
  return oneLine === '' ? 'Untitled post' : excerpt(oneLine, MAX_HEADLINE);
}

function untitled(plain: string): string {
  const sentences = sentencesOf(plain);
  const asking = sentences.filter((sentence) => asks(sentence) && saysWhat(sentence));
  const chosen = asking.find(({ isQuestion }) => isQuestion) ?? asking[0];
  if (chosen !== undefined) return sliceOf(plain, chosen);
  // "Two stars." is too short for a headline.
  const start = sentences[0]?.start ?? 0;
  const last = sentences.find(({ end }) => end - start >= MIN_HEADLINE) ?? sentences.at(-1);
  return plain.slice(start, last?.end);
}

/** Whether a sentence names anything; "What do you all use?" and "Any recommendations?" do not. */
function saysWhat({ text }: Pick<Sentence, 'text'>): boolean {
  return (text.match(/[\p{L}\p{N}]+/gu) ?? []).some((word) => !OF_ANY_QUESTION.has(word));
}

const OF_ANY_QUESTION = new Set(
  (
    'a advice all alternative alternatives an and anybody anyone any are at be best better buy can choose could d do does ' +
    'else everybody everyone experience experiences folks for good got guys has have help here how i idea ideas if instead ' +
    'is it know like looking ll me most my need of on one ones option options or our ours people please product re recommend ' +
    'recommendation recommendations recommended s should solution some somebody someone something suggest suggestion ' +
    'suggestions t thank thanks that the them these they thing things this thoughts to tool tools try u us use used using ve ' +
    'want we welcome what whats which who with would y you your'
  ).split(' '),
);

const PLATFORMS: Readonly<Record<string, string>> = {
  reddit: 'Reddit',
  hackernews: 'Hacker News',
  hackernews_hiring: 'Hacker News',
  github: 'GitHub',
  lemmy: 'Lemmy',
  lobsters: 'Lobsters',
  bluesky: 'Bluesky',
  linkedin: 'LinkedIn',
  g2: 'G2',
  x: 'X',
  sec_form_d: 'SEC Form D',
  youtube: 'YouTube',
};

/** The display name of a platform; unknown names are returned unchanged. */
export function platformName(name: string): string {
  return PLATFORMS[name] ?? name;
}

/** The display name of a post's place: "r/SaaS on Reddit", otherwise its platform, otherwise its site. */
export function whereOf({ name, post_url }: Pick<Signal['platform'], 'name' | 'post_url'>): string {
  const url = parseUrl(post_url);
  const path = url?.pathname ?? '';
  const platform = PLATFORMS[name];
  const group = /^\/([rc]\/[\w.@-]{1,80})/.exec(path)?.[1];
  if (group !== undefined && (name === 'reddit' || name === 'lemmy')) return `${group} on ${platform}`;
  const repository = /^\/([\w.-]{1,80}\/[\w.-]{1,100})/.exec(path)?.[1];
  if (name === 'github' && repository !== undefined) return `${repository} on GitHub`;
  if (platform !== undefined) return platform;
  if (url !== null && /^https?:$/.test(url.protocol)) return url.hostname.replace(/^www\./, '');
  return capitalized(name.replace(/[-_.]+/g, ' '));
}

/**
 * Explains a signal in a sentence. Pure: derived from the stored factors, their evidence and the text of the
 * post.
 */
export function whyOf(signal: SignalToExplain): Why {
  const text = plainText(signal.text);
  const reading = { text, sentences: sentencesOf(text), signal };
  const facts = statedFacts(reading);
  const isCold = signal.explanation.score < signal.explanation.thresholds.warm;
  const against = decisive(signal.explanation, facts);
  const shown = isCold && against.length > 0 ? [] : facts;
  const covered = new Set<string>(facts.flatMap(({ kind }) => SAYS[kind]));
  const labels = labelled(signal.explanation.factors.filter(({ key }) => !covered.has(key)));
  const sentence = shown.some(({ isMain }) => isMain)
    ? inOneSentence(reading, shown)
    : withoutMain({ labels, facts: shown, against, isCold });
  const reasons = [
    ...facts.map(({ clause, sentence: from }) => ({
      text: capitalized(clause),
      quote: from === null ? null : excerpt(sliceOf(text, from), MAX_QUOTE),
    })),
    ...labels.map((clause) => ({ text: capitalized(clause), quote: null })),
  ].slice(0, MAX_REASONS);
  return { sentence: capitalized(sentence), reasons, against };
}

/** The first two statements, the time and the budget, in one sentence. */
function inOneSentence(reading: ParsedPost, facts: readonly StatedFact[]): string {
  const [first, second] = facts.filter(({ isMain }) => isMain);
  if (first === undefined) return '';
  const when = whenOf(
    reading,
    facts.filter(({ isMain }) => isMain),
  );
  const isSame =
    second === undefined ||
    second.clause === 'asking what to choose' ||
    (first.clause.startsWith('looking for') && second.clause.startsWith('looking for'));
  const has = (clause: string) => when !== '' && clause.toLowerCase().includes(when.trim().toLowerCase());
  const own = has(first.clause) ? first.clause : first.clause + when;
  const third = facts.filter(({ isMain }) => isMain)[2];
  const weak = facts.find(({ isMain }) => !isMain) ?? (third?.kind === 'pain' ? third : undefined);
  const joined = isSame ? own : `${own} and ${second.clause}`;
  const whole = weak === undefined || weak.clause.startsWith('fits') ? joined : `${joined}, ${weak.clause}`;
  return [whole, joined, own].find((one) => one.length <= MAX_SENTENCE) ?? excerpt(own, MAX_SENTENCE);
}

/** The sentence for a post without a main statement. */
function withoutMain(about: {
  labels: readonly string[];
  facts: readonly StatedFact[];
  against: readonly string[];
  isCold: boolean;
}): string {
  const { labels, facts, against, isCold } = about;
  if (isCold && against.length > 0) return against[0] ?? '';
  const [weak] = facts;
  const summary = labels.slice(0, 2).join(' and ');
  if (summary === '') return weak?.clause ?? 'nothing in the post asks to buy anything';
  return weak === undefined || weak.clause.startsWith('fits') ? summary : `${summary}, ${weak.clause}`;
}

/** What the parts of a score say about the author, as the end of "The author …"; other parts are omitted. */
const CLAUSES: Readonly<Record<string, string>> = {
  intent: 'asks for something to buy',
  offer: 'wants what you offer',
  topic: 'writes about your topic',
  pain: 'describes a problem',
  trigger: 'names a reason to buy now',
  meaning: 'sounds like a buyer',
  budget: 'mentions a budget',
  urgency: 'mentions a deadline',
  circumstances: 'writes for a business',
};
/** Minimum number of points that matter. */
const LEAST_POINTS = 4;

function labelled(factors: readonly Factor[]): string[] {
  return factors.flatMap(({ key, points, evidence }) => {
    const clause = CLAUSES[key];
    if (clause === undefined || points < LEAST_POINTS) return [];
    const name =
      key === 'pain'
        ? evidence.flatMap(({ text }) => (/(?:ing|ed)$/i.test(text) ? [] : (nameAt(text, 0) ?? [])))[0]
        : undefined;
    return [name === undefined ? clause : `${clause} with ${name}`];
  });
}

/** Parts about the form of a post, which do not count against a post that asks. */
const OF_FORM = new Set(['form', 'topic', 'talk', 'circumstances', 'intent', 'meaning']);

/**
 * The reasons that cost a signal its class; for a cold one without points to lose, the strongest reason
 * against it.
 */
function decisive(
  { score, thresholds, negatives }: SignalToExplain['explanation'],
  facts: readonly StatedFact[],
): string[] {
  const isAsked = facts.some(({ isMain }) => isMain);
  const counted = negatives.filter(({ key }) => !(isAsked && OF_FORM.has(key)));
  const isCold = score < thresholds.warm;
  const next = isCold ? thresholds.warm : thresholds.hot;
  if (score >= thresholds.hot) return [];
  const lost = [...counted].sort((a, b) => a.points - b.points);
  const decided: string[] = [];
  for (let left = score, at = 0; left < next && at < lost.length && at < MAX_REASONS; at++) {
    const factor = lost[at] as Factor;
    decided.push(factor.label);
    left -= factor.points;
    if (left >= next) return decided;
  }
  return isCold && lost[0] !== undefined ? [lost[0].label] : [];
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
