import type { IcpProfile, Weights } from '../model/icp.ts';
import type { Classification, Explanation, Factor } from '../model/signal.ts';
import { companyFit, type FitFacts, type FitPoints, fitPoints } from './fit.ts';
import { NEGATIVE_GROUPS, POSITIVE_GROUPS } from './lexicon.ts';
import { bestCue, findAll, phrasePattern } from './match.ts';
import { share } from './points.ts';

export const MODEL_VERSION = '2026-11-1';

/** Points a post keeps at most where a profile names its topic and the post speaks of something else. */
const OFF_TOPIC_CAP = 30;
const EXCLUDED_POINTS = 60;
const MAX_EVIDENCE = 5;

/** What is scored: the post's text and the facts that came with it (empty string: unknown). */
export interface ScoredPost extends FitFacts {
  text: string;
}

interface FoundCue {
  group: (typeof POSITIVE_GROUPS)[number];
  best: ReturnType<typeof bestCue>;
}

/** A profile made ready for matching, once for all posts that meet it. */
export interface CompiledProfile {
  profile: IcpProfile;
  /** Phrases and competitors, which tell that a post is about the profile's topic. */
  topic: RegExp[];
  excluded: RegExp[];
  /** The 100 points as the profile's weights share them out. */
  max: Weights;
  fitPoints: FitPoints;
}

export function compileProfile(profile: IcpProfile): CompiledProfile {
  const compile = (phrases: readonly string[]) => phrases.flatMap((phrase) => phrasePattern(phrase) ?? []);
  const max = share(100, profile.weights);
  return {
    profile,
    topic: compile([...profile.phrases, ...profile.competitors]),
    excluded: compile(profile.excludedPhrases),
    max,
    fitPoints: fitPoints(max.fit),
  };
}

/**
 * Scores a post 0 to 100 against a profile and explains it. Pure: the same post, profile and model version give the
 * same explanation, whose points add up to the score.
 */
export function scorePost(post: ScoredPost, compiled: CompiledProfile): Explanation {
  const found = POSITIVE_GROUPS.map((group) => ({ group, best: bestCue(group, post.text) }));
  const asks = found.some(({ group, best }) => group.key === 'intent' && best !== null);
  const cues = cueFactors(found, compiled.max);
  const topic = topicFactor(post, compiled, asks);
  const fit = companyFit(post, compiled.profile, compiled.fitPoints);
  const factors = [...cues, ...(topic ? [topic] : []), ...fit.factors];
  const earned = sum(factors);
  const negatives = limitTo(earned, [
    ...cueNegatives(post.text),
    ...excludedNegative(post, compiled),
    ...fit.negatives,
    ...offTopicNegative(earned, topic, compiled),
  ]);
  const score = earned + sum(negatives);
  const { thresholds } = compiled.profile;
  return {
    score,
    coverage: fit.coverage,
    model_version: MODEL_VERSION,
    thresholds: { hot: thresholds.hot, warm: thresholds.warm },
    factors,
    negatives,
    summary: summarize(score, factors, negatives),
  };
}

export function classify(score: number, thresholds: { hot: number; warm: number }): Classification {
  if (score >= thresholds.hot) return 'hot';
  return score >= thresholds.warm ? 'warm' : 'cold';
}

/** A weight of 0 leaves its kind of reason out. */
function cueFactors(found: readonly FoundCue[], maxima: Weights): Factor[] {
  return found.flatMap(({ group, best }) => {
    const max = maxima[group.key];
    if (max === 0 || best === null) return [];
    const points = Math.round((best.points / group.max) * max);
    return [{ key: group.key, label: group.label, max, points, evidence: [best.evidence] }];
  });
}

function cueNegatives(text: string): Factor[] {
  return NEGATIVE_GROUPS.flatMap((group) => {
    const found = bestCue(group, text);
    if (found === null) return [];
    return [
      { key: group.key, label: group.label, max: 0, points: -found.points, evidence: [found.evidence] },
    ];
  });
}

/** For a profile that names no topic, the topic is buying itself: any request is on it, small talk is not. */
function topicFactor(post: ScoredPost, { topic, max }: CompiledProfile, asks: boolean): Factor | null {
  if (max.topic === 0) return null;
  const evidence = findAll(topic, post.text, MAX_EVIDENCE);
  const onTopic = topic.length > 0 ? evidence.length > 0 : asks;
  if (!onTopic) return null;
  const label =
    topic.length > 0 ? 'Speaks of what the profile looks for' : 'The profile takes a request for anything';
  return { key: 'topic', label, max: max.topic, points: max.topic, evidence };
}

function offTopicNegative(
  earned: number,
  topic: Factor | null,
  { topic: wanted, max }: CompiledProfile,
): Factor[] {
  if (max.topic === 0 || wanted.length === 0 || topic !== null || earned <= OFF_TOPIC_CAP) return [];
  const label = 'Names nothing that the profile looks for';
  return [{ key: 'off_topic', label, max: 0, points: OFF_TOPIC_CAP - earned, evidence: [] }];
}

function excludedNegative(post: ScoredPost, { excluded }: CompiledProfile): Factor[] {
  const evidence = findAll(excluded, post.text, MAX_EVIDENCE);
  if (evidence.length === 0) return [];
  return [
    { key: 'excluded_phrase', label: 'Holds an excluded phrase', max: 0, points: -EXCLUDED_POINTS, evidence },
  ];
}

/** Takes no more away than was earned, so that what is listed adds up to a score that is never below zero. */
function limitTo(earned: number, negatives: Factor[]): Factor[] {
  let left = earned;
  return negatives.map((negative) => {
    const points = Math.max(negative.points, -left);
    left += points;
    return { ...negative, points: points === 0 ? 0 : points };
  });
}

function sum(factors: readonly Factor[]): number {
  return factors.reduce((total, factor) => total + factor.points, 0);
}

function summarize(score: number, factors: readonly Factor[], negatives: readonly Factor[]): string {
  const strongest = [...factors].sort((a, b) => b.points - a.points).slice(0, 3);
  const signed = [...strongest, ...negatives].map((factor) => {
    const quote = factor.evidence[0] ? ` (“${factor.evidence[0].text}”)` : '';
    return `${factor.label.toLowerCase()}${quote} ${factor.points >= 0 ? '+' : ''}${factor.points}`;
  });
  return signed.length === 0
    ? `Scored ${score}: nothing speaks for a purchase.`
    : `Scored ${score}: ${signed.join('; ')}.`;
}
