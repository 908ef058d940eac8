import { DEFAULT_WEIGHTS } from '../model/constants.ts';
import type { IcpProfile, Weights } from '../model/icp.ts';
import { type Classification, type Explanation, SIGNAL_TYPES, type SignalType } from '../model/signal.ts';
import { deductionsOf } from './deductions.ts';
import { partFactors, summarize } from './explain.ts';
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
import { fitFeatures } from './model/fit-features.ts';
import type { GroupKey } from './model/groups.ts';
import { mergeParts, type Odds, type Part, partsOf, scoreOf } from './model/judge.ts';
import { type Judge, MODEL } from './model/learnt.ts';
import { topicFeatures } from './model/topic-features.ts';
import type { Origin } from './origin.ts';
import { isKnownToFit, ownWayOf } from './own-ways.ts';
import { type Hit, type ProfilePhrases, readPhrases } from './phrases.ts';
import { share } from './points.ts';
import { createQuote, type Quote } from './quote.ts';
import { type PostFeatures, readFeatures } from './reading/features.ts';
import { typeOf } from './signal-type.ts';
import { type Tokens, tokenize } from './tokens.ts';

export const MODEL_VERSION = MODEL.version;

/** Points a post keeps at most where a profile names its topic and the post speaks of something else. */
const OFF_TOPIC_CAP = 30;
/** Log-odds of the class that what needs no asking words comes to at least. */
const EVENT_ODDS = 0.3;

/** What is scored: the post's text and the facts that came with it (empty string: unknown). */
export interface ScoredPost extends FitFacts {
  text: string;
  /** How old the post was when it was seen; left out or null: not known. */
  ageMs?: number | null;
  /** Where it comes from; left out: nobody mutes it. */
  origin?: Origin;
  /** What its source says it is; left out: it is told from the text. */
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
  parts: ReadonlyMap<GroupKey, Part>;
  /** Null: words alone decide, or nothing hangs on it. */
  meaning: Meaning | null;
}

/** A profile made ready for matching, once for all posts that meet it. */
export interface CompiledProfile {
  profile: IcpProfile;
  phrases: ProfilePhrases;
  /** Whether phrases or competitors tell what it is about. */
  namesTopic: boolean;
  /** The 100 points as the profile's weights share them out. */
  max: Weights;
  fit: CompiledFit;
  muted: { authors: ReadonlySet<string>; sources: ReadonlySet<string>; types: ReadonlySet<SignalType> };
}

export function compileProfile(profile: IcpProfile): CompiledProfile {
  return {
    profile,
    phrases: readPhrases(profile),
    namesTopic: profile.phrases.length + profile.competitors.length > 0,
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

/** Finds in a post what does not depend on any profile. `encoder`: whether the encoder will be asked where it matters. */
export function readPost(post: ScoredPost, encoder = false): PostReading {
  const { text } = post;
  const content = readFeatures(text);
  const judge = encoder ? MODEL.encoder : MODEL.words;
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
    parts: partsOf(judge, content.features),
    meaning: null,
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

/** Whether what the encoder would say could change the post's class for the profile. */
export function hangsOnMeaning(
  reading: PostReading,
  compiled: CompiledProfile,
  hits: readonly Hit[],
): boolean {
  const answers = fitAnswers(reading.facts, compiled.fit);
  const { odds, cap } = judged(reading, compiled, { hits, answers });
  const { hot, warm } = MODEL.encoderReach;
  const classAt = (sign: 1 | -1) => {
    const earned = scoreOf({ hot: odds.hot + sign * hot, warm: odds.warm + sign * warm });
    const left = earned + sum(deductionsOf(reading, compiled, { hits, earned, cap }));
    return classify(left, compiled.profile.thresholds);
  };
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
): { parts: Part[]; odds: Odds; cap: number } {
  const parts = weighedParts(reading, compiled, { hits, answers });
  const odds = oddsOf(reading.judge, parts);
  const way = ownWayOf(reading, { titles: compiled.profile.titles, hits, answers });
  // Who fits and means to buy is worth a look, whatever words they use, but no more than that.
  const cap = isKnownToFit(answers) ? compiled.profile.thresholds.hot - 1 : OFF_TOPIC_CAP;
  if (way === null) return { parts, odds, cap };
  const lacks = {
    hot: way.atLeast === 'hot' ? Math.max(0, EVENT_ODDS - odds.hot) : 0,
    warm: Math.max(0, EVENT_ODDS - odds.warm),
  };
  const event: Part = { key: 'trigger', odds: lacks, features: [{ odds: 1, place: way.place }] };
  const all = mergeParts([event, ...parts]);
  return { parts: all, odds: oddsOf(reading.judge, all), cap: Number.POSITIVE_INFINITY };
}

/** The parts of a post for a profile, as the profile weighs them; a weight of 0 leaves its kind of reason out. */
function weighedParts(
  reading: PostReading,
  { namesTopic, max }: CompiledProfile,
  { hits, answers }: { hits: readonly Hit[]; answers: readonly FitAnswer[] },
): Part[] {
  const own = [...reading.parts.values()];
  const topic =
    namesTopic && max.topic > 0
      ? [...partsOf(reading.judge, topicFeatures(reading.content, hits)).values()]
      : [];
  const fit = partsOf(reading.judge, fitFeatures(answers)).get('fit');
  const meaning = reading.meaning && {
    key: 'meaning' as const,
    odds: reading.meaning.odds,
    features: [{ odds: 1, place: reading.meaning.place }],
  };
  const parts = [...own, ...topic, fit, meaning].flatMap((part) => {
    if (part === undefined || part === null) return [];
    const weight = isWeighed(part.key) ? max[part.key] / DEFAULT_WEIGHTS[part.key] : 1;
    if (weight === 0) return [];
    return [{ ...part, odds: { hot: part.odds.hot * weight, warm: part.odds.warm * weight } }];
  });
  return mergeParts(parts);
}

function isWeighed(key: GroupKey): key is GroupKey & keyof Weights {
  return key in DEFAULT_WEIGHTS;
}

function oddsOf(judge: Judge, parts: readonly Part[]): Odds {
  return parts.reduce((odds, part) => ({ hot: odds.hot + part.odds.hot, warm: odds.warm + part.odds.warm }), {
    hot: judge.hot.bias,
    warm: judge.warm.bias,
  });
}

function sum(factors: readonly { points: number }[]): number {
  return factors.reduce((total, factor) => total + factor.points, 0);
}
