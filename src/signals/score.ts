import { DEFAULT_WEIGHTS } from '../model/constants.ts';
import type { IcpProfile, Weights } from '../model/icp.ts';
import { type Classification, type Explanation, SIGNAL_TYPES, type SignalType } from '../model/signal.ts';
import type { StoredLesson } from '../store/profile-store.ts';
import { createQuote, deductionsOf, partFactors, type Quote, share, summarize } from './explain.ts';
import {
  type CompiledFit,
  compileFit,
  coverageOf,
  type FitAnswer,
  type FitFacts,
  fitAnswers,
  type ReadFacts,
  readFacts,
} from './fit.ts';
import {
  competitorOdds,
  fitFeatures,
  type GroupKey,
  generalOdds,
  type Judge,
  type Linear,
  likenessOdds,
  MODEL,
  mergeParts,
  type Odds,
  offerBias,
  partsOf,
  phraseOdds,
  type ScorePart,
  scoreOf,
  topicFeatures,
} from './judge.ts';
import { activeLessonOf } from './lesson.ts';
import { createOffer, type Offer, type OfferMatch } from './offer.ts';
import type { Origin } from './origin.ts';
import { isKnownToFit, ownWayOf } from './own-ways.ts';
import { type Hit, type ProfilePhrases, readPhrases } from './phrases.ts';
import { type Features, type PostFeatures, readFeatures } from './reading/features.ts';
import { type Tokens, tokenize } from './tokens.ts';

export const MODEL_VERSION = MODEL.version;

/** Points a post keeps at most where a profile names its topic and the post speaks of something else. */
const OFF_TOPIC_CAP = 30;
/**
 * Posts below both by words skip the encoder, except single lines, which have few words and are encoded quickly. Of 24,000
 * posts of business communities 42 % are below; this loses 0.5 % of 209 true hot posts, and 1.7 % of 727 hot and warm ones.
 */
const LEAST_BY_WORDS: Odds = { hot: -2.9, warm: -1.5 };
const NO_MATCHES: ReadonlyMap<Offer, OfferMatch> = new Map();
/** Log-odds of the class that what needs no asking words comes to at least. */
const EVENT_ODDS = 0.3;

/** What is scored: the post's text and the facts that came with it (empty string: unknown). */
export interface ScoredPost extends FitFacts {
  text: string;
  /** How old the post was when it was seen; left out or null: not known. */
  ageMs?: number | null;
  /** Where it comes from; omitted: it cannot be muted. */
  origin?: Origin;
  /** The type given by its source; omitted: derived from the text. */
  type?: SignalType | undefined;
}

/** What the encoder made of a post, and the sentence that carries it (UTF-16 units). */
export interface Meaning {
  odds: Odds;
  place: { start: number; end: number } | null;
}

/** A post read once, for all the profiles that it is scored with. */
export interface PostReading {
  facts: ReadFacts;
  tokens: Tokens;
  quote: Quote;
  text: string;
  content: PostFeatures;
  type: SignalType;
  ageMs: number | null;
  origin: Origin | null;
  judge: Judge;
  parts: ReadonlyMap<GroupKey, ScorePart>;
  /** The judgement of words alone. */
  wordsOdds: Odds;
  /** Null: words alone decide, or nothing hangs on it. */
  meaning: Meaning | null;
  /** How it matches what profiles sell; those that it was not held against have none. */
  matches: ReadonlyMap<Offer, OfferMatch>;
}

/** A profile made ready for matching, once for all posts that meet it. */
export interface CompiledProfile {
  profile: IcpProfile;
  phrases: ProfilePhrases;
  /** What it sells; null: it doesn't say. */
  offer: Offer | null;
  /** Of what was learned from judgements; 0: nothing was. */
  lessonVersion: number;
  /** Whether offer, phrases or competitors tell what it is about. */
  namesTopic: boolean;
  /** The 100 points as the profile's weights share them out. */
  max: Weights;
  fit: CompiledFit;
  muted: { authors: ReadonlySet<string>; sources: ReadonlySet<string>; types: ReadonlySet<SignalType> };
}

/** @param learned what its tenant's judgements taught; left out: nothing */
export function compileProfile(profile: IcpProfile, learned?: StoredLesson): CompiledProfile {
  return {
    profile,
    phrases: readPhrases(profile),
    offer: createOffer(profile, learned === undefined ? null : activeLessonOf(learned)),
    lessonVersion: learned?.version ?? 0,
    namesTopic: profile.offer !== '' || profile.phrases.length + profile.competitors.length > 0,
    max: share(100, profile.weights),
    fit: compileFit(profile),
    muted: {
      authors: new Set(profile.mutedAuthors),
      sources: new Set(profile.mutedSources),
      types: new Set(
        profile.signalTypes.length === 0
          ? []
          : SIGNAL_TYPES.filter((type) => !profile.signalTypes.includes(type)),
      ),
    },
  };
}

/** Whether a post can be warm for it, or its best, without any of its phrases. */
export function needsNoPhrase({ namesTopic, max, profile }: CompiledProfile): boolean {
  return !namesTopic || max.topic === 0 || profile.thresholds.warm <= OFF_TOPIC_CAP;
}

/** What speaks for a post whatever is sold. */
export function generalOddsOf({ judge, parts, meaning }: PostReading): Odds {
  const share = meaning?.odds ?? { hot: 0, warm: 0 };
  return oddsOf({ hot: judge.hot.bias + share.hot, warm: judge.warm.bias + share.warm }, [...parts.values()]);
}

/** Finds in a post what does not depend on any profile. `encoder`: whether the encoder will be asked where it matters. */
export function readPost(post: ScoredPost, encoder = false): PostReading {
  const { text } = post;
  const content = readFeatures(text);
  const judge = encoder ? MODEL.encoder : MODEL.words;
  const parts = partsOf(judge, content.features);
  const { hot, warm } = MODEL.words;
  const byWords = encoder ? partsOf(MODEL.words, content.features) : parts;
  return {
    facts: readFacts(post),
    tokens: tokenize(text),
    quote: createQuote(text),
    text,
    content,
    type: post.type ?? typeOf(MODEL.types, content.features),
    ageMs: post.ageMs ?? null,
    origin: post.origin ?? null,
    judge,
    parts,
    wordsOdds: oddsOf({ hot: hot.bias, warm: warm.bias }, [...byWords.values()]),
    meaning: null,
    matches: NO_MATCHES,
  };
}

/**
 * Scores a post 0 to 100 against a profile and explains it. Pure: the same post, age, profile and model version give the
 * same explanation, whose points add up to the score. `hits` are where the profile's phrases stand in the post.
 */
export function scorePost(
  reading: PostReading,
  compiled: CompiledProfile,
  hits: readonly Hit[],
): Explanation {
  const answers = fitAnswers(reading.facts, compiled.fit);
  const { parts, odds, cap } = judged(reading, compiled, { hits, answers });
  const { factors, negatives: doubts } = partFactors(reading, parts, { odds, max: compiled.max, answers });
  const earned = sum(factors) + sum(doubts);
  const negatives = [...doubts, ...deductionsOf(reading, compiled, { hits, earned, cap })];
  const score = sum(factors) + sum(negatives);
  const { thresholds } = compiled.profile;
  return {
    score,
    coverage: coverageOf(answers),
    model_version: MODEL_VERSION,
    thresholds: { hot: thresholds.hot, warm: thresholds.warm },
    factors,
    negatives,
    summary: summarize(score, factors, negatives),
  };
}

/** Log-odds of a post for a profile. */
export function oddsFor(reading: PostReading, compiled: CompiledProfile, hits: readonly Hit[]): Odds {
  return judged(reading, compiled, { hits, answers: fitAnswers(reading.facts, compiled.fit) }).odds;
}

/** Whether a post's words leave room for a wish at all: they decide whether it is worth encoding for what is sold. */
export function mayBeWish({ wordsOdds, content }: PostReading): boolean {
  if (content.outline.onlyTitle) return true;
  return wordsOdds.hot >= LEAST_BY_WORDS.hot || wordsOdds.warm >= LEAST_BY_WORDS.warm;
}

/** Whether what the encoder would say could change the post's class for the profile. */
export function hangsOnMeaning(
  reading: PostReading,
  compiled: CompiledProfile,
  hits: readonly Hit[],
): boolean {
  const answers = fitAnswers(reading.facts, compiled.fit);
  const { odds, cap } = judged(reading, compiled, { hits, answers });
  const { hot, warm } = MODEL.encoderReach;
  const classAt = (sign: 1 | 0 | -1) => {
    const earned = scoreOf({ hot: odds.hot + sign * hot, warm: odds.warm + sign * warm });
    const left = earned + sum(deductionsOf(reading, compiled, { hits, earned, cap }));
    return classify(left, compiled.profile.thresholds);
  };
  const isNamed = hits.some(({ kind }) => kind !== 'excluded');
  if (!isNamed && !mayBeWish(reading) && classAt(0) === 'cold') return false;
  return classAt(1) !== classAt(-1);
}

export function classify(score: number, thresholds: { hot: number; warm: number }): Classification {
  if (score >= thresholds.hot) return 'hot';
  return score >= thresholds.warm ? 'warm' : 'cold';
}

/**
 * What speaks for and against a post, and what it comes to. What makes a company buy without asking has a class that it comes
 * to at least: what it lacks to that is given to the part of events.
 */
function judged(
  reading: PostReading,
  compiled: CompiledProfile,
  { hits, answers }: { hits: readonly Hit[]; answers: readonly FitAnswer[] },
): { parts: ScorePart[]; odds: Odds; cap: number } {
  const parts = weighedParts(reading, compiled, { hits, answers });
  const bias = biasOf(reading, compiled, parts);
  const odds = oddsOf(bias, parts);
  const way = ownWayOf(reading, { titles: compiled.profile.titles, hits, answers });
  // Who fits and means to buy is worth a look, whatever words they use, but no more than that.
  const isHeld = matchOf(reading, compiled) !== null;
  const offTopic = isKnownToFit(answers) ? compiled.profile.thresholds.hot - 1 : OFF_TOPIC_CAP;
  const cap = isHeld ? Number.POSITIVE_INFINITY : offTopic;
  if (way === null) return { parts, odds, cap };
  const lacks = {
    hot: way.atLeast === 'hot' ? Math.max(0, EVENT_ODDS - odds.hot) : 0,
    warm: Math.max(0, EVENT_ODDS - odds.warm),
  };
  const event: ScorePart = { key: 'trigger', odds: lacks, features: [{ odds: 1, place: way.place }] };
  const all = mergeParts([event, ...parts]);
  return { parts: all, odds: oddsOf(bias, all), cap: Number.POSITIVE_INFINITY };
}

/** The parts of a post for a profile, as the profile weighs them; a weight of 0 leaves its kind of reason out. */
function weighedParts(
  reading: PostReading,
  compiled: CompiledProfile,
  { hits, answers }: { hits: readonly Hit[]; answers: readonly FitAnswer[] },
): ScorePart[] {
  const { namesTopic, max } = compiled;
  const match = matchOf(reading, compiled);
  const fit = partsOf(reading.judge, fitFeatures(answers)).get('fit');
  const meaning = reading.meaning && {
    key: 'meaning' as const,
    odds: reading.meaning.odds,
    features: [{ odds: 1, place: reading.meaning.place }],
  };
  const general = [...reading.parts.values(), meaning].filter((part) => part !== null);
  const own = match === null ? general : general.map((part) => ({ ...part, odds: generalOdds(part.odds) }));
  const words = () => [...partsOf(reading.judge, topicFeatures(reading.content, hits)).values()];
  const topic = match === null ? (namesTopic && max.topic > 0 ? words() : []) : matchParts(match, hits);
  const parts = [...own, ...topic, fit].flatMap((part) => {
    if (part === undefined) return [];
    const weighed = weightOf(part.key);
    const weight = weighed === null ? 1 : max[weighed] / DEFAULT_WEIGHTS[weighed];
    if (weight === 0) return [];
    return [{ ...part, odds: { hot: part.odds.hot * weight, warm: part.odds.warm * weight } }];
  });
  return mergeParts(parts);
}

/** How a post matches what a profile sells; null: it was not held against it. */
function matchOf({ matches }: PostReading, { offer, max }: CompiledProfile): OfferMatch | null {
  return offer === null || max.topic === 0 ? null : (matches.get(offer) ?? null);
}

/** The match by meaning, and what the profile's own words add to it. */
function matchParts(match: OfferMatch, hits: readonly Hit[]): ScorePart[] {
  const parts: ScorePart[] = [
    { key: 'offer', odds: likenessOdds(match), features: [{ odds: 1, place: match.place }] },
  ];
  if (match.learned !== 0)
    parts.push({
      key: 'learned',
      odds: { hot: match.learned, warm: match.learned },
      features: [{ odds: 1, place: match.place }],
    });
  const phrases = hits.filter(({ kind }) => kind === 'phrase');
  const competitors = hits.filter(({ kind }) => kind === 'competitor');
  const partOf = (odds: Odds, found: readonly Hit[]): ScorePart => ({
    key: 'topic',
    odds,
    features: found.map((hit) => ({ odds: 1, place: hit })),
  });
  if (phrases.length > 0) parts.push(partOf(phraseOdds, phrases));
  if (competitors.length > 0) parts.push(partOf(competitorOdds, competitors));
  return parts;
}

/** The profile's weight that a part is weighed by. */
function weightOf(key: GroupKey): keyof Weights | null {
  if (key === 'offer' || key === 'learned') return 'topic';
  return key in DEFAULT_WEIGHTS ? (key as keyof Weights) : null;
}

/** Parts that say whether a post is about what a profile offers, and parts that have nothing to do with a purchase either. */
const MATCH_PARTS: ReadonlySet<GroupKey> = new Set(['offer', 'topic']);
const BESIDE_PARTS: ReadonlySet<GroupKey> = new Set(['learned', 'fit']);

/** Where the sum of a post's parts begins for a profile: with an offer, what the post lacks of either half is taken from it. */
function biasOf(reading: PostReading, compiled: CompiledProfile, parts: readonly ScorePart[]): Odds {
  const { hot, warm } = reading.judge;
  const bias = { hot: hot.bias, warm: warm.bias };
  if (matchOf(reading, compiled) === null) return bias;
  const start = generalOdds(bias);
  const general = oddsOf(
    start,
    parts.filter(({ key }) => !MATCH_PARTS.has(key) && !BESIDE_PARTS.has(key)),
  );
  const match = oddsOf(
    { hot: 0, warm: 0 },
    parts.filter(({ key }) => MATCH_PARTS.has(key)),
  );
  const own = offerBias(general, match);
  return { hot: start.hot + own.hot, warm: start.warm + own.warm };
}

function oddsOf(bias: Odds, parts: readonly ScorePart[]): Odds {
  return parts.reduce(
    (odds, part) => ({ hot: odds.hot + part.odds.hot, warm: odds.warm + part.odds.warm }),
    bias,
  );
}

function sum(factors: readonly { points: number }[]): number {
  return factors.reduce((total, factor) => total + factor.points, 0);
}

/** What kind of signal a post is, where its source does not say: the type with the best odds. */
export function typeOf(types: Readonly<Record<string, Linear>>, features: Features): SignalType {
  const odds = (type: SignalType) => {
    const linear = types[type];
    if (linear === undefined) return Number.NEGATIVE_INFINITY;
    let sum = linear.bias;
    for (const [name, { value }] of features) sum += (linear.weights[name] ?? 0) * value;
    return sum;
  };
  const order: SignalType[] = ['intent_post', 'qa_forum', 'review', 'funding_event', 'job_change'];
  const best = order
    .map((type) => ({ type, odds: odds(type) }))
    .reduce((best, other) => (other.odds > best.odds ? other : best));
  return best.type;
}
