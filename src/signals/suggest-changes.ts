import { createHash } from 'node:crypto';
import { inTurns } from '../lib/yielding.ts';
import { type IcpPatch, type IcpProfile, patchProfile, WEIGHT_KEYS, WEIGHT_LABELS } from '../model/icp.ts';
import type { IcpSuggestion } from '../model/icp-draft.ts';
import type { Signal } from '../model/signal.ts';
import type { Judgement, SignalDetail } from '../store/signal-store.ts';
import { type Origin, originOf } from './origin.ts';
import { compilePhrases, ORDINARY_WORDS, type PhraseMatcher } from './phrases.ts';
import { readPartsOf } from './reading/sentences.ts';
import {
  type CompiledProfile,
  compileProfile,
  type PostReading,
  readPost,
  type ScoredPost,
  scorePost,
} from './score.ts';
import { type Tokens, tokenize } from './tokens.ts';

/** Minimum number of posts that support a suggestion. */
const MIN_POSTS = 2;
const MAX_OF_A_KIND = 5;
/** A change keeps nearly all relevant posts, or most of the posts it adds are relevant. */
const MIN_KEPT = 0.9;
const MIN_RIGHT = 0.75;
const MAX_PHRASE_UNITS = 80;

/** Yields when due: computing suggestions from 500 posts takes a second. */
type NextTurn = () => Promise<void>;

/**
 * Suggests changes to a profile, based on feedback on its signals. Within a kind, the most effective one is
 * first. Pure: the same posts give the same suggestions.
 */
export async function suggestChanges(
  profile: IcpProfile,
  posts: readonly JudgedPost[],
  nextTurn: NextTurn,
): Promise<IcpSuggestion[]> {
  const pairs = await tallyOf(posts, nextTurn);
  const drafts = [
    ...mutes(profile, posts),
    ...(await exclusions(profile, pairs, nextTurn)),
    ...(await additions(profile, pairs, nextTurn)),
    ...thresholds(profile, posts),
    ...(await weights(profile, nextTurn)),
  ];
  const judged = await withEffects(profile, drafts, { posts, nextTurn });
  const moves = judged.filter(({ kind }) => kind === 'move_weight');
  // Buyers write "next month", too: a phrase that finds no further buyers does not help.
  const useful = judged.filter(
    ({ kind, effect }) =>
      kind !== 'move_weight' &&
      (kind !== 'add_phrase' || effect.shown_after.relevant > effect.shown_before.relevant),
  );
  return [...useful, ...bestMove(moves)];
}

/** The patch that accepting a suggestion applies. */
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

/** A change, and whether a post would be shown with it. */
interface SuggestionDraft extends Pick<IcpSuggestion, 'kind' | 'member' | 'value' | 'summary'> {
  shows(post: JudgedPost, read: ReadAgain): boolean;
}

/** A post as drafts read it, parsed on first use. */
interface ReadAgain {
  reading(): PostReading;
  pairs(): ReadonlySet<string>;
  /** Its score by words with the current profile. */
  scoreBefore(): number;
}

/**
 * Computes the effect of all drafts in one pass over the posts, so that only one post at a time is in memory.
 */
async function withEffects(
  profile: IcpProfile,
  drafts: readonly SuggestionDraft[],
  { posts, nextTurn }: { posts: readonly JudgedPost[]; nextTurn: NextTurn },
): Promise<IcpSuggestion[]> {
  const before = counted(posts.filter((post) => post.isShown));
  const after = drafts.map(() => ({ relevant: 0, not_relevant: 0 }));
  const scoring = await scoringOf(profile);
  for (const post of posts) {
    const read = readAgain(post, scoring);
    for (const [place, draft] of drafts.entries()) {
      const counts = after[place];
      if (counts && draft.shows(post, read)) counts[post.relevant ? 'relevant' : 'not_relevant']++;
      await nextTurn();
    }
  }
  return drafts.map(({ kind, member, value, summary }, place) => {
    const what = kind === 'move_weight' ? `${member} ${value}` : value;
    const id = createHash('sha256').update(`${kind} ${what}`).digest('hex');
    const effect = { shown_before: before, shown_after: after[place] ?? before };
    return { id: id.slice(0, 16), status: 'open', kind, member, value, summary, effect };
  });
}

function readAgain({ post }: JudgedPost, scoring: Scoring): ReadAgain {
  let reading: PostReading | null = null;
  let pairs: ReadonlySet<string> | null = null;
  let score: number | null = null;
  const read: ReadAgain = {
    reading: () => (reading ??= readPost(post)),
    pairs: () => (pairs ??= pairsOf(read.reading().tokens)),
    scoreBefore: () => (score ??= scoring(read.reading())),
  };
  return read;
}

function mutes(profile: IcpProfile, posts: readonly JudgedPost[]): SuggestionDraft[] {
  const authors = onlyIrrelevant(posts, ({ origin }) => (origin.author === null ? [] : [origin.author]));
  const sources = onlyIrrelevant(posts, ({ origin }) => origin.sources.slice(0, 1));
  return [
    ...authors
      .filter(([author]) => !profile.mutedAuthors.includes(author))
      .map(
        ([author, count]): SuggestionDraft => ({
          kind: 'mute_author',
          member: 'muted_authors',
          value: author,
          summary: `Mute an author: ${count} of their signals were rated not relevant, and none relevant.`,
          shows: ({ isShown, origin }) => isShown && origin.author !== author,
        }),
      ),
    ...sources
      .filter(([source]) => !profile.mutedSources.includes(source))
      .map(
        ([source, count]): SuggestionDraft => ({
          kind: 'mute_source',
          member: 'muted_sources',
          value: source,
          summary: `Mute ${source}: ${count} of its signals were rated not relevant, and none relevant.`,
          shows: ({ isShown, origin }) => isShown && !origin.sources.includes(source),
        }),
      ),
  ];
}

async function exclusions(
  profile: IcpProfile,
  pairs: PairCounts,
  nextTurn: NextTurn,
): Promise<SuggestionDraft[]> {
  const taken = phrasesOf(profile);
  const found = await mostOf(pairs, nextTurn, ({ wanted, shownUnwanted }) =>
    wanted === 0 ? shownUnwanted : 0,
  );
  return found
    .filter(([phrase]) => !taken.has(phrase))
    .map(([phrase, count]) => ({
      kind: 'exclude_phrase',
      member: 'excluded_phrases',
      value: phrase,
      summary: `Exclude “${phrase}”: ${count} signals rated not relevant contain it, and none rated relevant.`,
      shows: ({ isShown }, read) => isShown && !read.pairs().has(phrase),
    }));
}

/** Phrases that occur in relevant signals, in no irrelevant ones, and not yet in the profile. */
async function additions(
  profile: IcpProfile,
  pairs: PairCounts,
  nextTurn: NextTurn,
): Promise<SuggestionDraft[]> {
  if (profile.phrases.length + profile.competitors.length === 0) return [];
  const taken = phrasesOf(profile);
  const found = await mostOf(pairs, nextTurn, ({ wanted, unwanted }, phrase) =>
    unwanted === 0 && !taken.has(phrase) ? wanted : 0,
  );
  const drafts: SuggestionDraft[] = [];
  for (const [phrase, count] of found) {
    const change = { kind: 'add_phrase', member: 'phrases', value: phrase } as const;
    const summary = `Add “${phrase}”: ${count} signals rated relevant contain it, and none rated not relevant.`;
    drafts.push({ ...change, summary, shows: await rescored(profile, change) });
    await nextTurn();
  }
  return drafts;
}

function phrasesOf({ phrases, excludedPhrases }: IcpProfile): ReadonlySet<string> {
  return new Set([...excludedPhrases, ...phrases].map((each) => each.toLowerCase()));
}

function thresholds(profile: IcpProfile, posts: readonly JudgedPost[]): SuggestionDraft[] {
  const { hot, warm } = profile.thresholds;
  const draft = (
    kind: 'raise_threshold' | 'lower_threshold',
    value: number,
    why: string,
  ): SuggestionDraft => ({
    kind,
    member: 'thresholds.warm',
    value,
    summary: `Show signals from a score of ${value}: ${why}.`,
    shows: ({ score }) => score >= value,
  });
  const found: SuggestionDraft[] = [];
  const shown = posts.filter(({ score }) => score >= warm);
  const kept = shown.filter(({ relevant }) => relevant).map(({ score }) => score);
  kept.sort((a, b) => a - b);
  if (kept.length > 0) {
    const value = Math.min(kept[Math.floor(kept.length * (1 - MIN_KEPT))] ?? 0, hot - 1);
    const spared = shown.filter((post) => !post.relevant && post.score < value).length;
    if (value > warm && spared >= MIN_POSTS)
      found.push(draft('raise_threshold', value, `${spared} signals rated not relevant score lower`));
  }
  const missed = posts.filter(({ score, relevant }) => relevant && score < warm && score > 0);
  missed.sort((a, b) => b.score - a.score);
  const value = missed[MIN_POSTS - 1]?.score;
  if (value !== undefined) {
    const gained = posts.filter(({ score }) => score >= value && score < warm);
    const right = gained.filter(({ relevant }) => relevant).length;
    if (right / gained.length >= MIN_RIGHT)
      found.push(
        draft(
          'lower_threshold',
          value,
          `${right} signals rated relevant score just below the current threshold`,
        ),
      );
  }
  return found;
}

/** Suggests half and double each weight. */
async function weights(profile: IcpProfile, nextTurn: NextTurn): Promise<SuggestionDraft[]> {
  const drafts: SuggestionDraft[] = [];
  for (const key of WEIGHT_KEYS) {
    const now = profile.weights[key];
    for (const value of new Set([Math.round(now / 2), Math.min(100, now * 2)])) {
      if (value === now) continue;
      const change = { kind: 'move_weight', member: `weights.${key}`, value } as const;
      const summary = `Change the weight of “${WEIGHT_LABELS[key]}” from ${now} to ${value}: it separates relevant signals from the others better.`;
      drafts.push({ ...change, summary, shows: await rescored(profile, change) });
      await nextTurn();
    }
  }
  return drafts;
}

/** The change of a weight that separates relevant from irrelevant signals best. */
function bestMove(moves: readonly IcpSuggestion[]): IcpSuggestion[] {
  const worth = ({ effect: { shown_before: before, shown_after: after } }: IcpSuggestion) =>
    before.not_relevant - after.not_relevant - 2 * (before.relevant - after.relevant);
  const [best] = moves.filter((each) => worth(each) >= MIN_POSTS).sort((a, b) => worth(b) - worth(a));
  return best === undefined ? [] : [best];
}

/** Whether a post is shown if the change of its score by words is applied to its stored score. */
async function rescored(
  profile: IcpProfile,
  change: Pick<IcpSuggestion, 'kind' | 'member' | 'value'>,
): Promise<SuggestionDraft['shows']> {
  const scoring = await scoringOf(patchProfile(profile, patchOf(change, profile)));
  return ({ score }, read) => {
    const changed = score + scoring(read.reading()) - read.scoreBefore();
    return Math.max(0, Math.min(100, changed)) >= profile.thresholds.warm;
  };
}

/** The number of posts of each kind that contain a pair of words, packed into one number: there may be {@link MOST_PAIRS} of them. */
type PairCounts = ReadonlyMap<string, number>;

/** Ten bits for each count: there are at most 500 posts. */
const UNWANTED = 2 ** 10;
const SHOWN_UNWANTED = 2 ** 20;

/**
 * Unpacks the number of relevant and irrelevant posts with a pair, and of irrelevant ones that were shown.
 */
function holdersOf(packed: number) {
  return {
    wanted: packed % UNWANTED,
    unwanted: Math.floor(packed / UNWANTED) % UNWANTED,
    shownUnwanted: Math.floor(packed / SHOWN_UNWANTED),
  };
}
type Holders = ReturnType<typeof holdersOf>;

/**
 * Maximum number of different pairs; once it is reached, further posts only count towards pairs already found. A map that grows is copied in one piece: 500 posts of
 * single Korean syllables had 1.5 million pairs, and copying took 300 ms. 500 real posts have 14,000, and the longest 500 of 27,000 have 31,000.
 */
const MOST_PAIRS = 2 ** 17;

/** Counts the pairs of words in the posts, which start with the newest feedback. Exported for tests. */
export async function tallyOf(posts: readonly JudgedPost[], nextTurn: NextTurn): Promise<PairCounts> {
  const tally = new Map<string, number>();
  for (const { post, relevant, isShown } of posts) {
    const one = relevant ? 1 : isShown ? UNWANTED + SHOWN_UNWANTED : UNWANTED;
    for (const pair of pairsOf(tokenize(post.text))) {
      const before = tally.get(pair);
      if (before !== undefined) tally.set(pair, before + one);
      else if (tally.size < MOST_PAIRS) tally.set(pair, one);
    }
    await nextTurn();
  }
  return tally;
}

/** Number of pairs between two yields. */
const PAIRS_A_TURN = 5_000;

/** The most frequent pairs by `count`, which returns 0 for pairs that do not qualify. */
async function mostOf(
  tally: PairCounts,
  nextTurn: NextTurn,
  count: (holders: Holders, pair: string) => number,
): Promise<[string, number][]> {
  const found: [string, number][] = [];
  let looked = 0;
  for (const [pair, packed] of tally) {
    const times = count(holdersOf(packed), pair);
    if (times >= MIN_POSTS) {
      found.push([pair, times]);
      if (found.length > 2 * MAX_OF_A_KIND) found.sort(byCount).splice(MAX_OF_A_KIND);
    }
    looked++;
    if (looked % PAIRS_A_TURN === 0) await nextTurn();
  }
  return found.sort(byCount).slice(0, MAX_OF_A_KIND);
}

function byCount([a, x]: [string, number], [b, y]: [string, number]): number {
  return y - x || (a < b ? -1 : 1);
}

/** Values that shown, irrelevant signals have and no relevant signal has, most frequent first. */
function onlyIrrelevant(
  posts: readonly JudgedPost[],
  of: (post: JudgedPost) => readonly string[],
): [string, number][] {
  const wanted = new Set(posts.filter(({ relevant }) => relevant).flatMap((post) => [...of(post)]));
  const counts = new Map<string, number>();
  for (const post of posts) {
    if (post.relevant || !post.isShown) continue;
    for (const thing of of(post)) counts.set(thing, (counts.get(thing) ?? 0) + 1);
  }
  return [...counts]
    .filter(([thing, count]) => count >= MIN_POSTS && !wanted.has(thing))
    .sort(byCount)
    .slice(0, MAX_OF_A_KIND);
}

function counted(posts: readonly JudgedPost[]): { relevant: number; not_relevant: number } {
  const relevant = posts.filter((post) => post.relevant).length;
  return { relevant, not_relevant: posts.length - relevant };
}

/** Pairs of adjacent words, without ordinary words, which carry no topic. */
function pairsOf({ words, breaks }: Tokens): Set<string> {
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

/** A post whose signal has feedback. */
export interface JudgedPost {
  score: number;
  /** Whether the signal was hot or warm. */
  isShown: boolean;
  relevant: boolean;
  origin: Origin;
  /** With the age at which it was found; of a long text, only the parts that decide. */
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

/** Scores posts with one profile, by words. */
type Scoring = (reading: PostReading) => number;

async function scoringOf(profile: IcpProfile): Promise<Scoring> {
  const compiled: CompiledProfile = await inTurns(compileProfile(profile));
  const matcher: PhraseMatcher = await inTurns(compilePhrases([profile]));
  return (reading) => scorePost(reading, compiled, matcher.match(reading.tokens).get(0) ?? []).score;
}
