import { createHash } from 'node:crypto';
import { type IcpPatch, type IcpProfile, patchProfile, WEIGHT_KEYS } from '../model/icp.ts';
import type { IcpSuggestion } from '../model/icp-quality.ts';
import { changedScores, type JudgedReading } from './judged-reading.ts';
import { ORDINARY_WORDS } from './ordinary-words.ts';
import { tokenize } from './tokens.ts';

/** Nothing is suggested for the sake of fewer posts than this. */
const MIN_POSTS = 2;
const MAX_OF_A_KIND = 5;
/** A change keeps nearly all that was relevant, or most of what it adds is. */
const MIN_KEPT = 0.9;
const MIN_RIGHT = 0.75;
const MAX_PHRASE_UNITS = 80;

/** What a profile would do better with, by the feedback on its signals; what spares most first, within its kind. Pure. */
export function suggestChanges(profile: IcpProfile, posts: readonly JudgedReading[]): IcpSuggestion[] {
  return [
    ...mutes(profile, posts),
    ...exclusions(profile, posts),
    ...additions(profile, posts),
    ...thresholds(profile, posts),
    ...weights(profile, posts),
  ];
}

/** What accepting it changes. */
export function patchOf(
  { kind, member, value }: Pick<IcpSuggestion, 'kind' | 'member' | 'value'>,
  profile: IcpProfile,
): IcpPatch {
  const text = String(value);
  if (kind === 'exclude_phrase') return { excluded_phrases: [...profile.excludedPhrases, text] };
  if (kind === 'add_phrase') return { phrases: [...profile.phrases, text] };
  if (kind === 'mute_author') return { muted_authors: [...profile.mutedAuthors, text] };
  if (kind === 'mute_source') return { muted_sources: [...profile.mutedSources, text] };
  if (kind === 'move_weight') return { weights: { [member.replace('weights.', '')]: Number(value) } };
  return { thresholds: { warm: Number(value) } };
}

type Draft = Pick<IcpSuggestion, 'kind' | 'member' | 'value' | 'summary'>;

function suggestionOf(draft: Draft, effect: IcpSuggestion['effect']): IcpSuggestion {
  const what = draft.kind === 'move_weight' ? `${draft.member} ${draft.value}` : draft.value;
  const id = createHash('sha256').update(`${draft.kind} ${what}`).digest('hex');
  return { id: id.slice(0, 16), status: 'open', ...draft, effect };
}

function mutes(profile: IcpProfile, posts: readonly JudgedReading[]): IcpSuggestion[] {
  const authors = onlyIrrelevant(posts, ({ origin }) => (origin.author === null ? [] : [origin.author]));
  const sources = onlyIrrelevant(posts, ({ origin }) => origin.sources.slice(0, 1));
  const shown = posts.filter((post) => post.isShown);
  const without = (holds: (post: JudgedReading) => boolean) => effectOf(shown, (post) => !holds(post));
  return [
    ...authors
      .filter(([author]) => !profile.mutedAuthors.includes(author))
      .map(([author, count]) =>
        suggestionOf(
          {
            kind: 'mute_author',
            member: 'muted_authors',
            value: author,
            summary: `Mute an author: ${count} of their signals were not relevant, and none was.`,
          },
          without(({ origin }) => origin.author === author),
        ),
      ),
    ...sources
      .filter(([source]) => !profile.mutedSources.includes(source))
      .map(([source, count]) =>
        suggestionOf(
          {
            kind: 'mute_source',
            member: 'muted_sources',
            value: source,
            summary: `Mute ${source}: ${count} signals from there were not relevant, and none was.`,
          },
          without(({ origin }) => origin.sources.includes(source)),
        ),
      ),
  ];
}

function exclusions(profile: IcpProfile, posts: readonly JudgedReading[]): IcpSuggestion[] {
  const taken = new Set([...profile.excludedPhrases, ...profile.phrases].map((each) => each.toLowerCase()));
  const shown = posts.filter((post) => post.isShown);
  return onlyIrrelevant(posts, ({ text }) => pairsOf(text))
    .filter(([phrase]) => !taken.has(phrase))
    .map(([phrase, count]) =>
      suggestionOf(
        {
          kind: 'exclude_phrase',
          member: 'excluded_phrases',
          value: phrase,
          summary: `Exclude “${phrase}”: ${count} signals that were not relevant hold it, and none that was.`,
        },
        effectOf(shown, ({ text }) => !pairsOf(text).has(phrase)),
      ),
    );
}

/** What relevant signals speak of that no irrelevant one does, where the profile does not name it yet. */
function additions(profile: IcpProfile, posts: readonly JudgedReading[]): IcpSuggestion[] {
  if (profile.phrases.length + profile.competitors.length === 0) return [];
  const taken = new Set([...profile.excludedPhrases, ...profile.phrases].map((each) => each.toLowerCase()));
  const unwanted = new Set(
    posts.filter(({ relevant }) => !relevant).flatMap(({ text }) => [...pairsOf(text)]),
  );
  const holders = countsOf(
    posts.filter(({ relevant }) => relevant),
    ({ text }) => pairsOf(text),
  );
  return mostOf(holders, (phrase) => !unwanted.has(phrase) && !taken.has(phrase)).map(([phrase, count]) => {
    const draft = {
      kind: 'add_phrase' as const,
      member: 'phrases',
      value: phrase,
      summary: `Add “${phrase}”: ${count} relevant signals hold it, and none that was not.`,
    };
    return suggestionOf(draft, rescored(profile, posts, draft));
  });
}

function thresholds(profile: IcpProfile, posts: readonly JudgedReading[]): IcpSuggestion[] {
  const { hot, warm } = profile.thresholds;
  const draft = (kind: 'raise_threshold' | 'lower_threshold', value: number, why: string) =>
    suggestionOf(
      {
        kind,
        member: 'thresholds.warm',
        value,
        summary: `Show signals from a score of ${value}: ${why}.`,
      },
      effectsOf(posts, ({ score }) => score >= value),
    );
  const found: IcpSuggestion[] = [];
  const shown = posts.filter(({ score }) => score >= warm);
  const kept = shown.filter(({ relevant }) => relevant).map(({ score }) => score);
  kept.sort((a, b) => a - b);
  if (kept.length > 0) {
    const value = Math.min(kept[Math.floor(kept.length * (1 - MIN_KEPT))] ?? 0, hot - 1);
    const spared = shown.filter((post) => !post.relevant && post.score < value).length;
    if (value > warm && spared >= MIN_POSTS)
      found.push(draft('raise_threshold', value, `${spared} that were not relevant lie below`));
  }
  const missed = posts.filter(({ score, relevant }) => relevant && score < warm && score > 0);
  missed.sort((a, b) => b.score - a.score);
  const value = missed[MIN_POSTS - 1]?.score;
  if (value !== undefined) {
    const gained = posts.filter(({ score }) => score >= value && score < warm);
    const right = gained.filter(({ relevant }) => relevant).length;
    if (right / gained.length >= MIN_RIGHT)
      found.push(draft('lower_threshold', value, `${right} that were relevant lie just below`));
  }
  return found;
}

/** Of the weights the one whose half or double would have told most apart. */
function weights(profile: IcpProfile, posts: readonly JudgedReading[]): IcpSuggestion[] {
  const moves = WEIGHT_KEYS.flatMap((key) => {
    const now = profile.weights[key];
    return [...new Set([Math.round(now / 2), Math.min(100, now * 2)])]
      .filter((value) => value !== now)
      .map((value) => ({
        kind: 'move_weight' as const,
        member: `weights.${key}`,
        value,
        summary: `Give ${key} a weight of ${value} instead of ${now}: it tells relevant signals from others better.`,
      }));
  });
  const judged = moves.map((move) => suggestionOf(move, rescored(profile, posts, move)));
  const worth = ({ effect: { shown_before: before, shown_after: after } }: IcpSuggestion) =>
    before.not_relevant - after.not_relevant - 2 * (before.relevant - after.relevant);
  const [best] = judged.filter((each) => worth(each) >= MIN_POSTS).sort((a, b) => worth(b) - worth(a));
  return best === undefined ? [] : [best];
}

/** What a change would have done: the score that a signal has, and what the change does to it by its words. */
function rescored(
  profile: IcpProfile,
  posts: readonly JudgedReading[],
  draft: Pick<IcpSuggestion, 'kind' | 'member' | 'value'>,
): IcpSuggestion['effect'] {
  const changed = changedScores(profile, patchProfile(profile, patchOf(draft, profile)), posts);
  return effectsOf(posts, (post, i) => (changed[i] ?? post.score) >= profile.thresholds.warm);
}

/** The things that irrelevant signals that were shown have, and no relevant one has; the most frequent first. */
function onlyIrrelevant(
  posts: readonly JudgedReading[],
  of: (post: JudgedReading) => Iterable<string>,
): [string, number][] {
  const wanted = new Set(posts.filter(({ relevant }) => relevant).flatMap((post) => [...of(post)]));
  const holders = countsOf(
    posts.filter(({ relevant, isShown }) => isShown && !relevant),
    of,
  );
  return mostOf(holders, (thing) => !wanted.has(thing));
}

function countsOf(
  posts: readonly JudgedReading[],
  of: (post: JudgedReading) => Iterable<string>,
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const post of posts) for (const thing of of(post)) counts.set(thing, (counts.get(thing) ?? 0) + 1);
  return counts;
}

function mostOf(counts: ReadonlyMap<string, number>, test: (thing: string) => boolean): [string, number][] {
  return [...counts]
    .filter(([thing, count]) => count >= MIN_POSTS && test(thing))
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .slice(0, MAX_OF_A_KIND);
}

function effectOf(
  shown: readonly JudgedReading[],
  stays: (post: JudgedReading) => boolean,
): IcpSuggestion['effect'] {
  return { shown_before: counted(shown), shown_after: counted(shown.filter(stays)) };
}

function effectsOf(
  posts: readonly JudgedReading[],
  isShown: (post: JudgedReading, place: number) => boolean,
): IcpSuggestion['effect'] {
  const before = posts.filter((post) => post.isShown);
  return { shown_before: counted(before), shown_after: counted(posts.filter(isShown)) };
}

function counted(posts: readonly JudgedReading[]): { relevant: number; not_relevant: number } {
  const relevant = posts.filter((post) => post.relevant).length;
  return { relevant, not_relevant: posts.length - relevant };
}

/** Pairs of neighbouring words, ordinary ones left out: they are about nothing. */
function pairsOf(text: string): Set<string> {
  const { words, breaks } = tokenize(text);
  const pairs = words.slice(1).flatMap((word, i) => {
    const before = words[i] ?? '';
    const joined = breaks[i] === breaks[i + 1] && isTelling(before) && isTelling(word);
    return joined && before.length + word.length < MAX_PHRASE_UNITS ? [`${before} ${word}`] : [];
  });
  return new Set(pairs);
}

function isTelling(word: string): boolean {
  return word.length > 2 && !ORDINARY_WORDS.has(word);
}
