import type { Feature } from '../reading/features.ts';
import { type GroupKey, groupOf } from './groups.ts';
import type { Judge } from './learnt.ts';
import learnt from './offer-weights.json' with { type: 'json' };

/** Log-odds for each of the two questions that are asked of a post. */
export interface Odds {
  hot: number;
  warm: number;
}

/** What one part of the score comes to, and which of its features do most. */
export interface Part {
  key: GroupKey;
  odds: Odds;
  /** Strongest first, by what they do to both questions. */
  features: { odds: number; place: Feature['place'] }[];
}

/** Sums what features are worth, by the part they belong to. */
export function partsOf(judge: Judge, features: ReadonlyMap<string, Feature>): Map<GroupKey, Part> {
  const parts = new Map<GroupKey, Part>();
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
  parts: Map<GroupKey, Part>,
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

/** Parts of one key made one. */
export function mergeParts(parts: readonly Part[]): Part[] {
  const merged = new Map<GroupKey, Part>();
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

/** What the encoder's numbers come to, within its reach. */
export function encoderOdds(
  judge: Judge,
  numbers: Float32Array,
  { centre, reach }: { centre: Odds; reach: Odds },
): Odds {
  const within = (value: number, most: number) => Math.max(-most, Math.min(most, value));
  return {
    hot: within(dot(judge.hot.encoder, numbers) - centre.hot, reach.hot),
    warm: within(dot(judge.warm.encoder, numbers) - centre.warm, reach.warm),
  };
}

/** What some of the encoder's numbers bring to both questions together, against an average post's. */
export function leaning(judge: Judge, numbers: Float32Array): number {
  return dot(judge.hot.encoder, numbers) + dot(judge.warm.encoder, numbers);
}

function dot(weights: readonly number[], numbers: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) sum += (weights[i] ?? 0) * (numbers[i] ?? 0);
  return sum;
}

/** Log-odds of hot that cover two thirds of 70 to 100. Chosen so that from 80 three of four are hot, see docs/quality.md. */
const HOT_SCALE = 5;

/**
 * The score that log-odds come to: hot from 70, warm from 40, rising with both. Within a class it tells how far the post
 * is from its two ends: an event that is surely warm and surely not hot stands in the middle, so that a day of age does not
 * end it. Nothing is so sure that it comes to 100.
 */
export function scoreOf({ hot, warm }: Odds): number {
  if (hot >= 0) return Math.floor(70 + 30 * (1 - Math.exp(-hot / HOT_SCALE)));
  if (warm >= 0)
    return Math.floor(40 + 29.99 * (0.5 * Math.exp(hot / 3) + 0.5 * (1 - Math.exp(-warm / 1.5))));
  return Math.floor(39.99 * Math.exp((0.6 * warm + 0.4 * hot) / 2.5));
}

/** What a post's match with an offer comes to, as log-odds for each question. `npm run train:offers` fits it. */
interface OfferJudgement {
  /** Of the general judgement of the post, by both questions. */
  general: Odds;
  /** Of likeness, against that of an average post that wants something. */
  likeness: number;
  /** Set by hand, not learned: a phrase of the profile, and a competitor. */
  phrase: number;
  competitor: number;
  bias: number;
}

interface OfferModel {
  /** What likeness is made of: see the members of the same names in `OfferMatch`. */
  whole: number;
  sentence: number;
  described: number;
  rivals: number;
  /** Likeness of an average post that wants something to an average offer, and the most that it counts for. */
  centre: number;
  reach: number;
  /** General log-odds of warm from which on a post is held against offers: below it hardly anybody wants anything. */
  leastIntent: number;
  hot: OfferJudgement;
  warm: OfferJudgement;
}

export const OFFER_MODEL: OfferModel = learnt;

/** General odds as they count for a profile with an offer. */
export function generalOdds({ hot, warm }: Odds): Odds {
  const of = ({ general }: OfferJudgement) => general.hot * hot + general.warm * warm;
  return { hot: of(OFFER_MODEL.hot), warm: of(OFFER_MODEL.warm) };
}

/** Where the sum begins. */
export const OFFER_BIAS: Odds = { hot: OFFER_MODEL.hot.bias, warm: OFFER_MODEL.warm.bias };
/** What a phrase of the profile, and a competitor that it lists, add to a match by meaning. */
export const phraseOdds: Odds = { hot: OFFER_MODEL.hot.phrase, warm: OFFER_MODEL.warm.phrase };
export const competitorOdds: Odds = { hot: OFFER_MODEL.hot.competitor, warm: OFFER_MODEL.warm.competitor };

const LIKENESSES = ['whole', 'sentence', 'described', 'rivals'] as const;

/** What likeness counts for. */
export function likenessOdds(match: Record<(typeof LIKENESSES)[number], number>): Odds {
  const { centre, reach, hot, warm } = OFFER_MODEL;
  const likeness = LIKENESSES.reduce((sum, name) => sum + OFFER_MODEL[name] * match[name], 0);
  const beyond = Math.max(-reach, Math.min(reach, likeness - centre));
  return { hot: hot.likeness * beyond, warm: warm.likeness * beyond };
}
