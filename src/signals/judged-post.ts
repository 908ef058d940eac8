import type { IcpProfile } from '../model/icp.ts';
import type { Signal } from '../model/signal.ts';
import type { Judgement, SignalDetail } from '../store/signal-store.ts';
import { type Origin, originOf } from './origin.ts';
import { compilePhrases, type PhraseMatcher } from './phrases.ts';
import { readPartsOf } from './reading/sentences.ts';
import {
  type CompiledProfile,
  compileProfile,
  type PostReading,
  type ScoredPost,
  scorePost,
} from './score.ts';

/** A post whose signal has feedback. */
export interface JudgedPost {
  score: number;
  /** Whether the signal was hot or warm. */
  isShown: boolean;
  relevant: boolean;
  origin: Origin;
  /** As old as it was when it was found; of a long text the parts that decide. */
  post: ScoredPost;
}

export function judgedPostOf(
  { score, classification, relevant }: Judgement,
  { wire, text: whole }: Pick<SignalDetail, 'wire' | 'text'>,
): JudgedPost {
  const { prospect, company, platform, timestamp, signal_type: type } = JSON.parse(wire) as Signal;
  const ageMs = platform.posted_at === '' ? null : Date.parse(timestamp) - Date.parse(platform.posted_at);
  const origin = originOf(prospect, platform);
  const { name: companyName, industry, headcount, location } = company;
  const text = readPartsOf(whole);
  const post = {
    title: prospect.title,
    companyName,
    industry,
    headcount,
    location,
    text,
    type,
    ageMs,
    origin,
  };
  return { score, isShown: classification !== 'cold', relevant, origin, post };
}

/** Scores posts with one profile, by their words. */
export type Scoring = (reading: PostReading) => number;

export function scoringOf(profile: IcpProfile): Scoring {
  const compiled: CompiledProfile = compileProfile(profile);
  const matcher: PhraseMatcher = compilePhrases([compiled.phrases]);
  return (reading) => scorePost(reading, compiled, matcher.match(reading.tokens).get(0) ?? []).score;
}
