import type { Clock } from '../lib/clock.ts';
import { createTurns } from '../lib/turns.ts';
import type { IcpProfile } from '../model/icp.ts';
import type { Signal } from '../model/signal.ts';
import type { JudgedPost } from '../store/signal-store.ts';
import { type Origin, originOf } from './origin.ts';
import { compilePhrases } from './phrases.ts';
import { compileProfile, type PostReading, readPost, scorePost } from './score.ts';

/** A signal with feedback, read again. */
export interface JudgedReading {
  score: number;
  /** Whether it was hot or warm. */
  isShown: boolean;
  relevant: boolean;
  text: string;
  origin: Origin;
  reading: PostReading;
}

/** Reads signals by their words, as old as they were when they were found; others are served between two of them. */
export async function readJudged(posts: readonly JudgedPost[], clock: Clock): Promise<JudgedReading[]> {
  const nextTurn = createTurns(clock);
  const read: JudgedReading[] = [];
  for (const { score, classification, text, wire, relevant } of posts) {
    const { prospect, company, platform, timestamp, signal_type: type } = JSON.parse(wire) as Signal;
    const ageMs = platform.posted_at === '' ? null : Date.parse(timestamp) - Date.parse(platform.posted_at);
    const origin = originOf(prospect, platform);
    const { name: companyName, industry, headcount, location } = company;
    const facts = { title: prospect.title, companyName, industry, headcount, location };
    const reading = readPost({ ...facts, text, type, ageMs, origin });
    read.push({ score, isShown: classification !== 'cold', relevant, text, origin, reading });
    await nextTurn();
  }
  return read;
}

/** The scores of signals with a profile that was changed: what they have, and what the change does to it by their words. */
export function changedScores(
  before: IcpProfile,
  after: IcpProfile,
  posts: readonly JudgedReading[],
): number[] {
  const compiled = [compileProfile(before), compileProfile(after)];
  const matcher = compilePhrases(compiled.map(({ phrases }) => phrases));
  return posts.map(({ score, reading }) => {
    const hits = matcher.match(reading.tokens);
    const [was = 0, is = 0] = compiled.map(
      (each, place) => scorePost(reading, each, hits.get(place) ?? []).score,
    );
    return Math.max(0, Math.min(100, score + is - was));
  });
}
