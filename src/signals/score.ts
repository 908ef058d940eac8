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
  type ReadSoFar,
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
import type { Hit } from './phrases.ts';
import { type Features, type PostFeatures, readFeatures } from './reading/features.ts';
import { type Tokens, tokenize } from './tokens.ts';
import { knownWording } from './wording.ts';

export const MODEL_VERSION = MODEL.version;

/** Maximum score of an off-topic post, if the profile names its topic. */
const OFF_TOPIC_CAP = 30;
/**
 * Posts whose log-odds by words are below both values are not encoded, except single lines, which have few words and are encoded
 * quickly. Of a natural stream's longer posts, 30 % reach one of them (45 % with the values for named features alone). Of 638
 * hot posts that the encoder scores hot, 1 is lost (before: 2), and of 1,929 hot and warm ones that it scores at least
 * warm, 39 are (before: 56). These figures use weights fitted without these posts.
 */
const LEAST_AT_FIRST: Odds = { hot: -2.3, warm: -1 };
const NO_MATCHES: ReadonlyMap<Offer, OfferMatch> = new Map();
/** Minimum log-odds of the class of posts that indicate a purchase without asking for anything. */
const EVENT_ODDS = 0.3;

/** A post to score: its text and the facts sent with it (empty string: unknown). */
export interface ScoredPost extends FitFacts {
  text: string;
  /** Age of the post when it was seen; omitted or null if unknown. */
  ageMs?: number | null;
  /** Origin of the post; if omitted, it cannot be muted. */
  origin?: Origin;
  /** Type given by its source; if omitted, it is derived from the text. */
  type?: SignalType | undefined;
}

/** The encoder's result for a post, and the sentence that contributes most (UTF-16 units). */
export interface Meaning {
  odds: Odds;
  place: { start: number; end: number } | null;
}

/** A post, parsed once for all profiles that it is scored with. */
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
  /** The log-odds by words alone. */
  wordsOdds: Odds;
  /** Log-odds to add for its words and pairs of words; 0 without the encoder. */
  wording: Odds;
  /** Null if words alone decide, or if the result does not depend on the encoder. */
  meaning: Meaning | null;
  /** Its match with offers; offers that it was not compared with are missing. */
  matches: ReadonlyMap<Offer, OfferMatch>;
}

/** A profile, compiled once for all posts that are matched with it. */
export interface CompiledProfile {
  profile: IcpProfile;
  /** Null if the profile has no offer. */
  offer: Offer | null;
  /** Version of what was learned from judgements; 0: nothing yet. */
  lessonVersion: number;
  /** Whether the profile has an offer, phrases or competitors. */
  namesTopic: boolean;
  /** The 100 points, divided by the weights of the profile. */
  max: Weights;
  fit: CompiledFit;
  muted: { authors: ReadonlySet<string>; sources: ReadonlySet<string>; types: ReadonlySet<SignalType> };
}

/**
 * Compiles a profile. Yields between chunks of its criteria.
 * @param learned the lesson of the profile; omitted if it has none
 */
export function* compileProfile(
  profile: IcpProfile,
  learned?: StoredLesson,
  read?: ReadSoFar,
): Generator<void, CompiledProfile> {
  return {
    profile,
    offer: createOffer(profile, learned === undefined ? null : activeLessonOf(learned)),
    lessonVersion: learned?.version ?? 0,
    namesTopic: profile.offer !== '' || profile.phrases.length + profile.competitors.length > 0,
    max: share(100, profile.weights),
    fit: yield* compileFit(profile, read),
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

/** Whether a post without any of its phrases can be warm for the profile, or its best. */
export function needsNoPhrase({ namesTopic, max, profile }: CompiledProfile): boolean {
  return !namesTopic || max.topic === 0 || profile.thresholds.warm <= OFF_TOPIC_CAP;
}

/** Log-odds in favour of a purchase, whatever the offer. */
export function generalOddsOf({ judge, parts, meaning }: PostReading): Odds {
  const share = meaning?.odds ?? { hot: 0, warm: 0 };
  return oddsOf({ hot: judge.hot.bias + share.hot, warm: judge.warm.bias + share.warm }, [...parts.values()]);
}

/**
 * Parses the parts of a post that do not depend on a profile. `encoder`: whether the encoder is available.
 */
export function readPost(post: ScoredPost, encoder = false): PostReading {
  const { text } = post;
  const tokens = tokenize(text);
  const content = readFeatures(text);
  const judge = encoder ? MODEL.encoder : MODEL.words;
  const parts = partsOf(judge, content.features);
  const { hot, warm } = MODEL.words;
  const byWords = encoder ? partsOf(MODEL.words, content.features) : parts;
  return {
    facts: readFacts(post),
    tokens,
    quote: createQuote(text),
    text,
    content,
    type: post.type ?? typeOf(MODEL.types, content.features),
    ageMs: post.ageMs ?? null,
    origin: post.origin ?? null,
    judge,
    parts,
    wordsOdds: oddsOf({ hot: hot.bias, warm: warm.bias }, [...byWords.values()]),
    wording: encoder ? knownWording().oddsOf(tokens.stems) : { hot: 0, warm: 0 },
    meaning: null,
    matches: NO_MATCHES,
  };
}

/**
 * Scores a post from 0 to 100 against a profile and explains the score. Pure: the same post, age, profile and
 * model version give the same explanation, with points that add up to the score. `hits` are the occurrences
 * of the profile's phrases in the post.
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

/**
 * Whether the words of a post leave room for a request at all, which decides whether it is worth encoding for
 * offers.
 */
export function mayBeWish({ wordsOdds, wording, content }: PostReading): boolean {
  if (content.outline.onlyTitle) return true;
  return (
    wordsOdds.hot + wording.hot >= LEAST_AT_FIRST.hot || wordsOdds.warm + wording.warm >= LEAST_AT_FIRST.warm
  );
}

/** Whether the result of the encoder could change the class of a post for the profile. */
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
 * The parts of the score and their sum. Statements that indicate a purchase without asking for anything have
 * a minimum class; the missing log-odds are added to the part of events.
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
  // Someone who fits and wants to buy is worth a look, whatever words they use, but no more than that.
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

/** The parts of a post with the weights of the profile applied; a weight of 0 removes the part. */
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

/** The match of a post with the profile's offer; null if they were not compared. */
function matchOf({ matches }: PostReading, { offer, max }: CompiledProfile): OfferMatch | null {
  return offer === null || max.topic === 0 ? null : (matches.get(offer) ?? null);
}

/** The match by meaning, and the contribution of the profile's own phrases. */
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

/** The weight of the profile that applies to a part. */
function weightOf(key: GroupKey): keyof Weights | null {
  if (key === 'offer' || key === 'learned') return 'topic';
  return key in DEFAULT_WEIGHTS ? (key as keyof Weights) : null;
}

/**
 * Parts about the match with a profile's offer, and further parts that say nothing about a purchase in
 * general.
 */
const MATCH_PARTS: ReadonlySet<GroupKey> = new Set(['offer', 'topic']);
const BESIDE_PARTS: ReadonlySet<GroupKey> = new Set(['learned', 'fit']);

/**
 * The bias of the sum of a post's parts for a profile. With an offer, it includes a deduction if one of
 * intent and match is low.
 */
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

/** The type of a post whose source does not state one: the type with the highest log-odds. */
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
