import { dot } from '../lib/lists.ts';
import type { WeightKey } from '../model/icp.ts';
import type { FitAnswer } from './fit.ts';
import offerWeights from './offer-weights.json' with { type: 'json' };
import type { Hit } from './phrases.ts';
import type { Feature, PostFeatures } from './reading/features.ts';
import weights from './weights.json' with { type: 'json' };

/** A linear classifier: log-odds relative to the threshold of its class, which is at 0. */
export interface Linear {
  bias: number;
  /** By feature name. */
  weights: Readonly<Record<string, number>>;
  /** By dimension of the encoder; empty if only words are used. */
  encoder: readonly number[];
}

/** The classifiers of hot against the rest, and of hot or warm against the rest. */
export interface Judge {
  hot: Linear;
  warm: Linear;
}

/** The trained model, written by `npm run train` together with the figures of its evaluation. */
export interface LearntModel {
  version: string;
  /** The day on which thresholds and scores were calibrated on held-out posts. */
  calibratedOn: string;
  /** Without the encoder. */
  words: Judge;
  /** With the encoder. */
  encoder: Judge;
  /** The encoder's log-odds of an average post, which are subtracted from its contribution. */
  encoderCentre: { hot: number; warm: number };
  /** Maximum log-odds that the encoder adds or subtracts. */
  encoderReach: { hot: number; warm: number };
  types: Readonly<Record<string, Linear>>;
}

export const MODEL: LearntModel = weights;

/** Log-odds of a post, for each of the two classifiers. */
export interface Odds {
  hot: number;
  warm: number;
}

/** The contribution of one part of the score, with its most important features. */
export interface ScorePart {
  key: GroupKey;
  odds: Odds;
  /** Strongest first, by their effect on both classifiers. */
  features: { odds: number; place: Feature['place'] }[];
}

/** Sums the weights of features by the part that they belong to. */
export function partsOf(judge: Judge, features: ReadonlyMap<string, Feature>): Map<GroupKey, ScorePart> {
  const parts = new Map<GroupKey, ScorePart>();
  for (const [name, { value, place }] of features) {
    const hot = (judge.hot.weights[name] ?? 0) * value;
    const warm = (judge.warm.weights[name] ?? 0) * value;
    if (hot === 0 && warm === 0) continue;
    addTo(parts, groupOf(name), { hot, warm }, place);
  }
  for (const part of parts.values()) part.features.sort((a, b) => Math.abs(b.odds) - Math.abs(a.odds));
  return parts;
}

function addTo(
  parts: Map<GroupKey, ScorePart>,
  key: GroupKey,
  { hot, warm }: Odds,
  place: Feature['place'],
): void {
  const part = parts.get(key) ?? { key, odds: { hot: 0, warm: 0 }, features: [] };
  parts.set(key, part);
  part.odds.hot += hot;
  part.odds.warm += warm;
  part.features.push({ odds: hot + warm, place });
}

/** Merges parts with the same key. */
export function mergeParts(parts: readonly ScorePart[]): ScorePart[] {
  const merged = new Map<GroupKey, ScorePart>();
  for (const part of parts) {
    const { odds, features } = merged.get(part.key) ?? { odds: { hot: 0, warm: 0 }, features: [] };
    merged.set(part.key, {
      key: part.key,
      odds: { hot: odds.hot + part.odds.hot, warm: odds.warm + part.odds.warm },
      features: [...features, ...part.features],
    });
  }
  return [...merged.values()];
}

/**
 * How much the wording counts beside the encoder, which reads the same words: from .2 to .5, average precision is the same to
 * two digits (newer .66 and .75; .66 and .74 without).
 */
export const WORDING_WEIGHT = 0.35;

/** The contribution of a post's meaning, clamped to its reach: the encoder's output plus a share of the post's `wording`. */
export function meaningOdds(judge: Judge, numbers: Float32Array, wording: Odds): Odds {
  const { encoderCentre: centre, encoderReach: reach } = MODEL;
  const of = (question: 'hot' | 'warm') => {
    const encoded = dot(judge[question].encoder, numbers) - centre[question];
    const odds = encoded + WORDING_WEIGHT * wording[question];
    return Math.max(-reach[question], Math.min(reach[question], odds));
  };
  return { hot: of('hot'), warm: of('warm') };
}

/** The contribution of some of the encoder's dimensions to both classifiers, before centring. */
export function leaning(judge: Judge, numbers: Float32Array): number {
  return dot(judge.hot.encoder, numbers) + dot(judge.warm.encoder, numbers);
}

/**
 * The log-odds of hot that cover two thirds of the range from 70 to 100. Three of four posts with a score of
 * 80 or more are hot, see docs/quality.md.
 */
const HOT_SCALE = 5;

/**
 * Maps log-odds to a score: hot from 70, warm from 40, increasing with both. Within warm, the score shows the
 * distance to both limits: an event that is certainly warm and certainly not hot is in the middle, so that a
 * day of age does not make it cold. No score reaches 100.
 */
export function scoreOf({ hot, warm }: Odds): number {
  if (hot >= 0) return Math.floor(70 + 30 * (1 - Math.exp(-hot / HOT_SCALE)));
  if (warm >= 0)
    return Math.floor(40 + 29.99 * (0.5 * Math.exp(hot / 3) + 0.5 * (1 - Math.exp(-warm / 1.5))));
  return Math.floor(39.99 * Math.exp((0.6 * warm + 0.4 * hot) / 2.5));
}

/**
 * The match of a post with an offer, as log-odds for each classifier: that its author buys (`general`,
 * `generalBias`), and that they want this offer (all others). `npm run train:offers` fits them.
 */
interface OfferJudgement {
  /** Weights of the general log-odds of the post, and the bias of their sum. */
  general: Odds;
  generalBias: number;
  /** Weight of the similarity, relative to that of an average post that wants something. */
  likeness: number;
  /** Set manually, not learned: the weights of a phrase of the profile, and of a competitor. */
  phrase: number;
  competitor: number;
  bias: number;
  /** Log-odds of both together at the threshold of the class. */
  cut: number;
}

interface OfferModel {
  /** Weights of the similarities in `OfferMatch` with the same names. */
  sentence: number;
  described: number;
  rivals: number;
  needs: number;
  /**
   * Similarity of an average post that wants something to an average offer, and the maximum deviation that
   * counts.
   */
  centre: number;
  reach: number;
  /**
   * General log-odds of warm from which a post is compared with offers; below it, hardly any author wants
   * anything.
   */
  leastIntent: number;
  hot: OfferJudgement;
  warm: OfferJudgement;
}

export const OFFER_MODEL: OfferModel = offerWeights;

/** General log-odds as they count for a profile with an offer. */
export function generalOdds({ hot, warm }: Odds): Odds {
  const of = ({ general }: OfferJudgement) => general.hot * hot + general.warm * warm;
  return { hot: of(OFFER_MODEL.hot), warm: of(OFFER_MODEL.warm) };
}

/**
 * Deduction from the sum of two log-odds that turns it into the log-odds of both being true: a post suits a
 * seller if its author buys *and* wants what is sold, and much of one does not make up for the other. With a
 * plain sum, the average precision of hot was .36 instead of .41 on 51 unseen sellers, and .52 instead of .61
 * on the six given ones.
 */
function excessOf(buys: number, wantsThis: number): number {
  const most = Math.max(0, buys, wantsThis); // factored out so that no exponential overflows
  return most + Math.log(Math.exp(-most) + Math.exp(buys - most) + Math.exp(wantsThis - most));
}

/**
 * The bias of the sum of a post's parts, for a profile with an offer.
 *
 * @param general log-odds in favour of a purchase, as they count for such a profile
 * @param match log-odds in favour of this offer
 */
export function offerBias(general: Odds, match: Odds): Odds {
  const of = (question: 'hot' | 'warm') => {
    const { generalBias, bias, cut } = OFFER_MODEL[question];
    const excess = excessOf(general[question] + generalBias, match[question] + bias);
    return generalBias + bias - excess - cut;
  };
  return { hot: of('hot'), warm: of('warm') };
}
/** Log-odds that a phrase of the profile and a listed competitor add to a match by meaning. */
export const phraseOdds: Odds = { hot: OFFER_MODEL.hot.phrase, warm: OFFER_MODEL.warm.phrase };
export const competitorOdds: Odds = { hot: OFFER_MODEL.hot.competitor, warm: OFFER_MODEL.warm.competitor };

const LIKENESSES = ['sentence', 'described', 'rivals', 'needs'] as const;

/** The log-odds of the similarity. */
export function likenessOdds(match: Record<(typeof LIKENESSES)[number], number>): Odds {
  const { centre, reach, hot, warm } = OFFER_MODEL;
  const likeness = LIKENESSES.reduce((sum, name) => sum + OFFER_MODEL[name] * match[name], 0);
  const beyond = Math.max(-reach, Math.min(reach, likeness - centre));
  return { hot: hot.likeness * beyond, warm: warm.likeness * beyond };
}

/** The named parts of a score. Parts with a weight in the profile have the name of the weight. */
export type GroupKey =
  | WeightKey
  | 'offer'
  | 'learned'
  | 'circumstances'
  | 'form'
  | 'meaning'
  | 'trigger'
  | 'seller'
  | 'job'
  | 'private'
  | 'decided'
  | 'talk';

/** Labels of the parts, for and against a purchase. */
export const GROUP_LABELS: Readonly<Record<GroupKey, { adds: string; takes: string }>> = {
  intent: { adds: 'Asks for something to buy', takes: 'Not asking to buy anything' },
  topic: { adds: 'On your topic', takes: 'Only loosely on your topic' },
  offer: { adds: 'Wants what you offer', takes: 'Wants something else' },
  learned: {
    adds: 'Like signals you marked relevant',
    takes: 'Like signals you marked not relevant',
  },
  urgency: { adds: 'Mentions a deadline', takes: 'Mentions dates, but no deadline' },
  budget: { adds: 'Mentions a budget', takes: 'Mentions cost, not budget' },
  pain: { adds: 'Describes a problem', takes: 'Complains without asking' },
  fit: { adds: 'Fits your audience', takes: 'Outside your audience' },
  circumstances: { adds: 'Writes on behalf of a business', takes: 'Not about a business need' },
  form: { adds: 'Phrased as a request', takes: 'Not phrased as a request' },
  meaning: { adds: 'Sounds like a buyer', takes: 'Does not sound like a buyer' },
  trigger: { adds: 'Buying trigger', takes: 'News, not a request' },
  seller: { adds: 'Not promoting anything', takes: 'Promotes its own product' },
  job: { adds: 'Looks for an outside supplier', takes: 'About a job, not a purchase' },
  private: { adds: 'For business use', takes: 'For private use' },
  decided: { adds: 'Still undecided', takes: 'Already decided' },
  talk: { adds: 'More than general discussion', takes: 'General discussion' },
};

const BY_NAME: readonly (readonly [RegExp, GroupKey])[] = [
  [/\.done$/, 'decided'],
  [/^(?:topical|topic_and\.only_title)$/, 'form'],
  [/^topic/, 'topic'],
  [/^(?:fit|misfit)$/, 'fit'],
  [/^(?:thing_and\.)?(?:date)(?:\.title)?$/, 'urgency'],
  [/^(?:thing_and\.)?(?:money|budget|willing_to_pay|how_much)(?:\.|$)/, 'budget'],
  [/^(?:thing_and\.)?(?:pain|price_pain|bad_review|outrage|vendor|vendor_and_complaint)(?:\.|$)/, 'pain'],
  [/^(?:round|funding|appointment|growth|board_only|news|thing_and\.news)(?:\.|$)/, 'trigger'],
  [
    /^(?:thing_and\.)?(?:maker|seller|links|feedback_wanted|good_review|review_form)(?:\.|$)|^pitch$/,
    'seller',
  ],
  [
    /^(?:thing_and\.)?(?:job_seeker|job_ad|full_time_job|thread|job)(?:\.|$)|\.job$|^(?:contract_work|gig_title)/,
    'job',
  ],
  [/^(?:thing_and\.)?(?:private_money|home|student)(?:\.|$)|\.home$/, 'private'],
  [/^(?:thing_and\.)?already_bought(?:\.|$)|^settled_after$/, 'decided'],
  [
    /^(?:thing_and\.)?(?:survey|how_to|programming|story|opinion|hearsay|legal|learning|audience|politeness)(?:\.|$)|\.(?:learning|audience)$/,
    'talk',
  ],
  [/^(?:thing_and\.)?(?:business|current_tool|team_size|requirements)(?:\.|$)/, 'circumstances'],
  [
    /^(?:long|short|only_title|first_person(?:\.told)?|first_plural(?:\.told)?|second_person(?:\.told)?|german|ask_hn|ends_with_question|title_question|question_marks|topical|thing_and\.only_title)$/,
    'form',
  ],
];

/**
 * For all features in the model: testing every pattern for each feature of a post took a tenth of its
 * planning time.
 */
const GROUPS: ReadonlyMap<string, GroupKey> = new Map(
  [MODEL.words, MODEL.encoder]
    .flatMap(({ hot, warm }) => [hot, warm])
    .flatMap(({ weights }) => Object.keys(weights))
    .map((feature) => [feature, groupByName(feature)]),
);

/** The part that a feature belongs to. */
function groupOf(feature: string): GroupKey {
  return GROUPS.get(feature) ?? groupByName(feature);
}

function groupByName(feature: string): GroupKey {
  return BY_NAME.find(([pattern]) => pattern.test(feature))?.[1] ?? 'intent';
}

/** Features that mean more in posts on topic. */
const BESIDE_TOPIC = [
  ...['thing', 'business', 'pain', 'price_pain', 'current_tool', 'seek.own', 'seek.implied', 'need.own'],
  ...[
    'consider.own',
    'switch.own',
    'recommend',
    'alternative',
    'which',
    'seller',
    'maker',
    'job_seeker',
    'job_ad',
  ],
  ...[
    'full_time_job',
    'already_bought',
    'how_to',
    'story',
    'news',
    'survey',
    'student',
    'budget',
    'date',
    'money',
  ],
  ...['requirements', 'team_size', 'first_plural', 'only_title', 'asking_sentences'],
];

/** Features of how a post mentions the topic of a profile. Profiles without a topic have no such features. */
export function topicFeatures(post: PostFeatures, hits: readonly Hit[]): Map<string, Feature> {
  const features = new Map<string, Feature>([['topical', { value: 1, place: null }]]);
  const phrases = hits.filter(({ kind }) => kind === 'phrase');
  const competitors = hits.filter(({ kind }) => kind === 'competitor');
  const [first] = [...phrases, ...competitors];
  if (first === undefined) {
    features.set('topic.none', { value: 1, place: null });
    return features;
  }
  addCounts(features, 'topic.phrase', phrases);
  addCounts(features, 'topic.competitor', competitors);
  addPlaces(features, post, [...phrases, ...competitors]);
  for (const name of BESIDE_TOPIC) {
    const said = post.features.get(name);
    if (said === undefined) continue;
    features.set(`topic_and.${name}`, { value: Math.min(1, said.value), place: said.place });
  }
  return features;
}

function addCounts(features: Map<string, Feature>, name: string, hits: readonly Hit[]): void {
  const [first] = hits;
  if (first === undefined) return;
  const kinds = new Set(hits.map(({ phrase }) => phrase)).size;
  features.set(name, { value: 1, place: first });
  if (kinds > 1) features.set(`${name}s`, { value: Math.min(1.5, Math.log(kinds)), place: first });
}

/** A topic in the title, or in the sentence that asks, is what the post is about. */
function addPlaces(
  features: Map<string, Feature>,
  { outline, asks }: PostFeatures,
  hits: readonly Hit[],
): void {
  let asked = 0;
  outline.sentences.forEach((sentence, index) => {
    const hit = hits.find(({ start }) => start >= sentence.start && start < sentence.end);
    if (hit === undefined) return;
    if (sentence.isTitle) features.set('topic.title', { value: 1, place: hit });
    if (asks[index] !== true) return;
    asked++;
    if (asked === 1) features.set('topic.asked', { value: 1, place: hit });
  });
  if (asked > 1) features.set('topic.asked_again', { value: Math.min(1, (asked - 1) / 2), place: null });
}

/** Features of known criteria. Unknown facts are not a feature, so they change nothing. */
export function fitFeatures(answers: readonly FitAnswer[]): Map<string, Feature> {
  const features = new Map<string, Feature>();
  const count = (verdict: FitAnswer['verdict']) =>
    answers.filter((answer) => answer.verdict === verdict).length;
  if (count('fits') > 0) features.set('fit', { value: count('fits') / 2, place: null });
  if (count('does_not_fit') > 0) features.set('misfit', { value: count('does_not_fit') / 2, place: null });
  return features;
}
