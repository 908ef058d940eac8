import type { Odds } from './judge.ts';
import learnt from './offer-weights.json' with { type: 'json' };

/** What a post's match with an offer comes to, as log-odds for each question. `npm run train:offers` fits it. */
interface OfferJudgement {
  /** Of the general judgement of the post, by both questions. */
  general: Odds;
  /** Of likeness, against that of an average post that wants something. */
  likeness: number;
  /** Given, not learnt: a phrase of the profile, and a competitor of it. */
  phrase: number;
  competitor: number;
  bias: number;
}

interface OfferModel {
  /** What likeness is: cosine of offer and post, and of offer and the sentence that is most like it. */
  whole: number;
  sentence: number;
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

/** What likeness counts for. */
export function likenessOdds({ whole, sentence }: { whole: number; sentence: number }): Odds {
  const { centre, reach, hot, warm } = OFFER_MODEL;
  const likeness = OFFER_MODEL.whole * whole + OFFER_MODEL.sentence * sentence;
  const beyond = Math.max(-reach, Math.min(reach, likeness - centre));
  return { hot: hot.likeness * beyond, warm: warm.likeness * beyond };
}
