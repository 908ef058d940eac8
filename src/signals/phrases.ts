import { readWordTable, wordsSchema } from '../lib/word-table.ts';
import type { IcpProfile } from '../model/icp.ts';
import { type Automaton, buildAutomaton } from './automaton.ts';
import { type Tokens, tokenize } from './tokens.ts';

/** Ordinary words that are names or acronyms in capitals: IT, SAP, ACT, LEAN. */
export const ORDINARY_WORDS: ReadonlySet<string> = new Set(readWordTable('ordinary-words', wordsSchema));

const HIT_KINDS = ['phrase', 'competitor', 'excluded'] as const;
type HitKind = (typeof HIT_KINDS)[number];

/** An occurrence of a profile's phrase in a text. */
export interface Hit {
  kind: HitKind;
  /** Index in the profile's list of that kind. */
  phrase: number;
  /** UTF-16 offsets into the text. */
  start: number;
  end: number;
}

/** The phrases of a profile, parsed once per version. */
export interface ProfilePhrases {
  /** By kind, in the order of {@link HIT_KINDS}; null if a phrase contains no word. */
  lists: (Phrase | null)[][];
  count: number;
}

/** Finds the phrases of many profiles in one pass over a text. */
export interface PhraseMatcher {
  /** Hits by the profile's index in the compiled list, in text order; profiles without hits are omitted. */
  match(tokens: Tokens): Map<number, Hit[]>;
}

/** Maximum occurrences reported per phrase, and phrases per kind. */
const MAX_PLACES = 3;
const MAX_HITS_A_KIND = 16;

export function readPhrases({ phrases, competitors, excludedPhrases }: IcpProfile): ProfilePhrases {
  const lists = [phrases, competitors, excludedPhrases].map((list) => list.map(readPhrase));
  return { lists, count: lists.reduce((total, list) => total + list.length, 0) };
}

/** A phrase in one spelling, and the profiles that look for it. */
interface Wanted {
  phrase: Phrase;
  /** Triples of indexes: the profile, the kind, the phrase. */
  targets: number[];
}

/**
 * All phrases with the same words, by the symbols around them, so that an occurrence is not compared with each: a
 * profile can have "C", "C+", "C#+" and so on, and a text their word ten thousand times.
 */
interface Spellings {
  /** Number of words. */
  length: number;
  hasSigns: boolean;
  /** By {@link signsKey}, for occurrences whose words are not separated. */
  joined: ReadonlyMap<number, readonly Wanted[]>;
  /** By {@link signsKey} and {@link GapHashes}, for those that are. */
  parted: ReadonlyMap<number, ReadonlyMap<number, readonly Wanted[]>>;
}

/** Compiles the phrases, competitors and exclusions of all `profiles`. */
export function compilePhrases(profiles: readonly ProfilePhrases[]): PhraseMatcher {
  const symbols: Symbols = new Map();
  return matcherOf([{ first: 0, part: compilePart(profiles, symbols) }], symbols);
}

/**
 * The number of each word. Automata that read the same texts share it, so that the words of a text are looked
 * up once.
 */
export type Symbols = Map<string, number>;

/** One automaton of the phrases of adjacent profiles. */
export interface PhrasePart {
  automaton: Automaton;
  /** By sequence of the automaton. */
  spellings: readonly Spellings[];
}

/** Compiles the phrases of adjacent profiles; new words are added to `symbols`. */
export function compilePart(profiles: readonly ProfilePhrases[], symbols: Symbols): PhrasePart {
  const wanted = gather(profiles);
  const automaton = buildAutomaton(
    [...wanted.keys()].map((words) => words.split(' ').map((word) => symbolOf(symbols, word))),
  );
  return { automaton, spellings: [...wanted.values()].map((each) => bySigns([...each.values()])) };
}

/** Searches all parts; `first` is the index of a part's first profile in the whole list. */
export function matcherOf(
  parts: readonly { first: number; part: PhrasePart }[],
  symbols: Symbols,
): PhraseMatcher {
  return {
    match(tokens) {
      const found = createFindings();
      const words = Int32Array.from(tokens.stems, (word) => symbols.get(word) ?? 0);
      const text = { tokens, words, signs: null, gaps: createGapHashes(tokens) };
      for (const { first, part } of parts)
        search(part, text, (targets, place) => found.add(first, targets, place));
      return found.hits;
    },
  };
}

/** All phrases by their words, then by {@link spellingKey}. */
function gather(profiles: readonly ProfilePhrases[]): Map<string, Map<string, Wanted>> {
  const wanted = new Map<string, Map<string, Wanted>>();
  profiles.forEach(({ lists }, profile) => {
    lists.forEach((list, kind) => {
      list.forEach((phrase, place) => {
        if (phrase === null) return;
        const words = phrase.stems.join(' ');
        const spellings = wanted.get(words) ?? new Map<string, Wanted>();
        wanted.set(words, spellings);
        const key = spellingKey(phrase);
        const known = spellings.get(key);
        if (known === undefined) spellings.set(key, { phrase, targets: [profile, kind, place] });
        else known.targets.push(profile, kind, place);
      });
    });
  });
  return wanted;
}

function bySigns(all: readonly Wanted[]): Spellings {
  const joined = new Map<number, Wanted[]>();
  const parted = new Map<number, Map<number, Wanted[]>>();
  for (const wanted of all) {
    const { before, after, gaps } = wanted.phrase;
    const key = signsKey(codeBefore(before, before.length), codeAfter(after, 0));
    valueAt(joined, key, () => []).push(wanted);
    if (gaps === null) continue;
    const byGaps = valueAt(parted, key, () => new Map<number, Wanted[]>());
    valueAt(byGaps, gaps.reduce(nextHash, 0), () => []).push(wanted);
  }
  const length = all[0]?.phrase.stems.length ?? 0;
  return { length, hasSigns: joined.size > 1 || !joined.has(0), joined, parted };
}

function valueAt<Value>(map: Map<number, Value>, key: number, create: () => Value): Value {
  const value = map.get(key) ?? create();
  map.set(key, value);
  return value;
}

function symbolOf(symbols: Symbols, word: string): number {
  const known = symbols.get(word);
  if (known !== undefined) return known;
  symbols.set(word, symbols.size + 1);
  return symbols.size;
}

interface SearchedText {
  tokens: Tokens;
  words: Int32Array;
  /** Computed for the first phrase that needs them, like the hashes of the gaps. */
  signs: Signs | null;
  gaps: GapHashes;
}

function search(
  { automaton, spellings }: PhrasePart,
  text: SearchedText,
  add: (targets: readonly number[], place: { start: number; end: number }) => void,
): void {
  const { tokens, words, gaps } = text;
  const times = new Map<Wanted, number>();
  /** The phrases of a list that have not occurred often enough yet. */
  const left = new Map<readonly Wanted[], Wanted[]>();
  const findAll = (list: readonly Wanted[], last: number) => {
    const open = left.get(list) ?? [...list];
    if (open.length === 0) return;
    const still = open.filter((wanted) => {
      const place = placeOf(wanted.phrase, tokens, last - wanted.phrase.stems.length + 1, last);
      if (place !== null) add(wanted.targets, place);
      // Other gaps with the same hash count, too: with a thousand phrases made to have one, a post took 1.2 s.
      else if (wanted.phrase.gaps === null) return true;
      const count = (times.get(wanted) ?? 0) + 1;
      times.set(wanted, count);
      return count < MAX_PLACES;
    });
    left.set(list, still);
  };
  automaton.scan(words, (sequence, last) => {
    const found = spellings[sequence];
    if (found === undefined) return;
    const first = last - found.length + 1;
    const isParted = tokens.breaks[first] !== tokens.breaks[last];
    if (isParted && found.parted.size === 0) return;
    const look = (key: number) => {
      const list = isParted ? found.parted.get(key)?.get(gaps.of(first, last)) : found.joined.get(key);
      if (list !== undefined) findAll(list, last);
    };
    if (!found.hasSigns) return look(0);
    text.signs ??= signsOf(tokens);
    eachKey(text.signs.before[first] ?? 0, text.signs.after[last] ?? 0, look);
  });
}

function createFindings() {
  const hits = new Map<number, Hit[]>();
  /** Number of hits by profile and kind. */
  const counts = new Map<number, number>();
  return {
    hits,
    add(first: number, targets: readonly number[], place: { start: number; end: number }): void {
      for (let i = 0; i < targets.length; i += 3) {
        const [own = 0, kind = 0, phrase = 0] = [targets[i], targets[i + 1], targets[i + 2]];
        const profile = first + own;
        const slot = profile * HIT_KINDS.length + kind;
        const count = counts.get(slot) ?? 0;
        if (count >= MAX_HITS_A_KIND) continue;
        counts.set(slot, count + 1);
        const list = hits.get(profile);
        const hit: Hit = { kind: HIT_KINDS[kind] ?? 'phrase', phrase, ...place };
        if (list === undefined) hits.set(profile, [hit]);
        else list.push(hit);
      }
    },
  };
}

/** A phrase prepared for search: the stems of its words, and the requirements of its spelling. */
interface Phrase {
  stems: string[];
  /**
   * Symbols required right before the first and after the last word: the `.` of ".NET", the `++` of "C++".
   */
  before: string;
  after: string;
  /**
   * The text between its words, if it would usually separate words ("Yahoo! Mail", "Dr. Oetker"); otherwise
   * null.
   */
  gaps: string[] | null;
  /** The exact spelling of an acronym that is an ordinary word in lower case, such as IT; otherwise null. */
  exact: string | null;
}

/**
 * Symbols that distinguish names, at most three on each side. Quotes, brackets and the end of a sentence are not part of
 * a name.
 */
const [BEFORE, AFTER] = ['.#@$€£&+', '+#!%&$°'];
const SIGNS_BEFORE = new RegExp(`[${BEFORE}]{0,3}$`, 'u');
const SIGNS_AFTER = new RegExp(`^[${AFTER}]{0,3}`, 'u');
/** Selects the signs next to a word: none, one, two, three, at four bits each. */
const SIGN_MASKS = [0, 0xf, 0xff, 0xfff];

/** The signs before and after a phrase as one number. */
function signsKey(before: number, after: number): number {
  return (before << 12) | after;
}

function codeBefore(text: string, at: number): number {
  let code = 0;
  for (let i = 0; i < 3; i++) {
    const sign = at - i < 1 ? 0 : BEFORE.indexOf(text.charAt(at - i - 1)) + 1;
    if (sign === 0) break;
    code |= sign << (4 * i);
  }
  return code;
}

function codeAfter(text: string, at: number): number {
  let code = 0;
  for (let i = 0; i < 3; i++) {
    const sign = at + i >= text.length ? 0 : AFTER.indexOf(text.charAt(at + i)) + 1;
    if (sign === 0) break;
    code |= sign << (4 * i);
  }
  return code;
}

/** Calls `visit` with the {@link signsKey} of all phrases that may have these signs: "C++" is also "C+" and "C". */
function eachKey(before: number, after: number, visit: (key: number) => void): void {
  for (let i = 0; i <= 3 && (i === 0 || before >> (4 * i - 4) > 0); i++) {
    const start = before & (SIGN_MASKS[i] ?? 0);
    for (let k = 0; k <= 3 && (k === 0 || after >> (4 * k - 4) > 0); k++)
      visit(signsKey(start, after & (SIGN_MASKS[k] ?? 0)));
  }
}

/** The signs before and after each word; computed once for all phrases of a text. */
interface Signs {
  before: Int32Array;
  after: Int32Array;
}

function signsOf({ text, starts, ends }: Tokens): Signs {
  return {
    before: Int32Array.from(starts, (at) => codeBefore(text, at)),
    after: Int32Array.from(ends, (at) => codeAfter(text, at)),
  };
}

/** Hashes of the characters between words, such as the "!" in "Yahoo! Mail". */
interface GapHashes {
  of(first: number, last: number): number;
}

const FACTOR = 0x01000193;

function nextHash(before: number, gap: string): number {
  let hash = 0;
  for (let i = 0; i < gap.length; i++) hash = Math.imul(hash ^ (gap.charCodeAt(i) + 1), 0x85ebca6b);
  return (Math.imul(before, FACTOR) + hash) | 0;
}

/** Computes the hash of any range in constant time, from hashes of all beginnings of the text. */
function createGapHashes(tokens: Tokens): GapHashes {
  let beginnings: Int32Array | null = null;
  const powers = [1];
  return {
    of(first, last) {
      beginnings ??= hashesOf(gapsOf(tokens, 0, tokens.starts.length - 1));
      for (let i = powers.length; i <= last - first; i++) powers.push(Math.imul(powers[i - 1] ?? 0, FACTOR));
      return ((beginnings[last] ?? 0) - Math.imul(beginnings[first] ?? 0, powers[last - first] ?? 0)) | 0;
    },
  };
}

function hashesOf(gaps: readonly string[]): Int32Array {
  const hashes = new Int32Array(gaps.length + 1);
  for (const [i, gap] of gaps.entries()) hashes[i + 1] = nextHash(hashes[i] ?? 0, gap);
  return hashes;
}

/** Parses a phrase as typed into a profile; null if it contains no word. */
function readPhrase(phrase: string): Phrase | null {
  const tokens = tokenize(phrase);
  const last = tokens.stems.length - 1;
  if (last < 0) return null;
  const first = tokens.starts[0] ?? 0;
  const end = tokens.ends[last] ?? 0;
  const before = SIGNS_BEFORE.exec(phrase.slice(0, first))?.[0] ?? '';
  const after = SIGNS_AFTER.exec(phrase.slice(end))?.[0] ?? '';
  const word = phrase.slice(first, end);
  return {
    stems: tokens.stems,
    before,
    after,
    gaps: (tokens.breaks[last] ?? 0) === (tokens.breaks[0] ?? 0) ? null : gapsOf(tokens, 0, last),
    exact: last === 0 && isShoutedWord(word) ? `${before}${word}${after}` : null,
  };
}

/** Where the phrase occurs in the words from `first` to `last`; null if the spelling does not match. */
function placeOf(
  phrase: Phrase,
  tokens: Tokens,
  first: number,
  last: number,
): { start: number; end: number } | null {
  const start = (tokens.starts[first] ?? 0) - phrase.before.length;
  const wordEnd = tokens.ends[last] ?? 0;
  const end = wordEnd + phrase.after.length;
  if ((tokens.breaks[first] ?? 0) !== (tokens.breaks[last] ?? 0) && !sameGaps(phrase, tokens, first, last)) {
    return null;
  }
  if (phrase.before !== '' && !tokens.text.startsWith(phrase.before, start)) return null;
  if (phrase.after !== '' && !tokens.text.startsWith(phrase.after, wordEnd)) return null;
  if (phrase.exact !== null && tokens.text.slice(start, end) !== phrase.exact) return null;
  return { start, end };
}

/** Distinguishes phrases with the same words. */
function spellingKey({ before, after, gaps, exact }: Phrase): string {
  return before === '' && after === '' && gaps === null && exact === null
    ? ''
    : JSON.stringify([before, after, gaps, exact]);
}

function sameGaps({ gaps }: Phrase, tokens: Tokens, first: number, last: number): boolean {
  if (gaps === null) return false;
  return gapsOf(tokens, first, last).every((gap, i) => gap === gaps[i]);
}

function gapsOf({ text, starts, ends }: Tokens, first: number, last: number): string[] {
  return Array.from({ length: last - first }, (_, i) =>
    text.slice(ends[first + i], starts[first + i + 1]).replace(/\s+/gu, ''),
  );
}

function isShoutedWord(word: string): boolean {
  return word === word.toUpperCase() && ORDINARY_WORDS.has(word.toLowerCase());
}
