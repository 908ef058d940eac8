import { createHash } from 'node:crypto';
import type { IcpProfile } from '../model/icp.ts';
import type { IcpSuggestion } from '../model/icp-quality.ts';
import type { JudgedPost } from '../store/signal-store.ts';
import { ORDINARY_WORDS } from './ordinary-words.ts';
import { tokenize } from './tokens.ts';

/** A phrase is suggested that so many posts hold which were not relevant, and none that was. */
const MIN_POSTS = 2;
const MAX_PHRASES = 5;
/** A threshold is raised only where it keeps nearly all that was relevant. */
const MIN_KEPT = 0.9;

/** What a profile would do better with, by the feedback on its signals; the most useful first. Pure. */
export function suggestChanges(profile: IcpProfile, posts: readonly JudgedPost[]): IcpSuggestion[] {
  return [...exclusions(profile, posts), ...raisedThreshold(profile, posts)];
}

function exclusions(profile: IcpProfile, posts: readonly JudgedPost[]): IcpSuggestion[] {
  const shown = posts.filter(isShown);
  const wanted = new Set(posts.filter((post) => post.relevant).flatMap((post) => [...pairsOf(post.text)]));
  const holders = new Map<string, number>();
  for (const post of shown.filter(({ relevant }) => !relevant)) {
    for (const pair of pairsOf(post.text)) {
      if (!wanted.has(pair)) holders.set(pair, (holders.get(pair) ?? 0) + 1);
    }
  }
  const taken = new Set(
    [...profile.excludedPhrases, ...profile.phrases].map((phrase) => phrase.toLowerCase()),
  );
  return [...holders]
    .filter(([phrase, count]) => count >= MIN_POSTS && !taken.has(phrase))
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .slice(0, MAX_PHRASES)
    .map(([phrase, count]) => ({
      id: idOf('exclude_phrase', phrase),
      kind: 'exclude_phrase',
      status: 'open',
      summary: `Exclude “${phrase}”: ${count} signals that were not relevant hold it, and none that was.`,
      value: phrase,
      effect: effectOf(shown, (post) => !pairsOf(post.text).has(phrase)),
    }));
}

function raisedThreshold({ thresholds }: IcpProfile, posts: readonly JudgedPost[]): IcpSuggestion[] {
  const shown = posts.filter(({ score }) => score >= thresholds.warm);
  const relevant = shown.filter((post) => post.relevant).map(({ score }) => score);
  relevant.sort((a, b) => a - b);
  if (relevant.length === 0) return [];
  const kept = relevant[Math.floor(relevant.length * (1 - MIN_KEPT))] ?? 0;
  const value = Math.min(kept, thresholds.hot - 1);
  const spared = shown.filter((post) => !post.relevant && post.score < value).length;
  if (value <= thresholds.warm || spared < MIN_POSTS) return [];
  return [
    {
      id: idOf('raise_threshold', String(value)),
      kind: 'raise_threshold',
      status: 'open',
      summary: `Show signals from a score of ${value}: ${spared} that were not relevant lie below.`,
      value,
      effect: effectOf(shown, ({ score }) => score >= value),
    },
  ];
}

function isShown({ classification }: JudgedPost): boolean {
  return classification !== 'cold';
}

function effectOf(
  shown: readonly JudgedPost[],
  stays: (post: JudgedPost) => boolean,
): IcpSuggestion['effect'] {
  const count = (posts: readonly JudgedPost[]) => {
    const relevant = posts.filter((post) => post.relevant).length;
    return { relevant, not_relevant: posts.length - relevant };
  };
  return { shown_before: count(shown), shown_after: count(shown.filter(stays)) };
}

/** Pairs of neighbouring words, ordinary ones left out: they are about nothing. */
function pairsOf(text: string): Set<string> {
  const { words, breaks } = tokenize(text);
  const pairs = words.slice(1).flatMap((word, i) => {
    const before = words[i] ?? '';
    const joined = breaks[i] === breaks[i + 1] && isTelling(before) && isTelling(word);
    return joined && before.length + word.length < 80 ? [`${before} ${word}`] : [];
  });
  return new Set(pairs);
}

function isTelling(word: string): boolean {
  return word.length > 2 && !ORDINARY_WORDS.has(word);
}

function idOf(kind: string, value: string): string {
  return createHash('sha256').update(`${kind} ${value}`).digest('hex').slice(0, 16);
}
