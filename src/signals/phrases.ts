import { createSymbols, type Symbols } from '../lib/symbols.ts';
import { readWordTable, wordsSchema } from '../lib/word-table.ts';
import type { IcpProfile } from '../model/icp.ts';
import { type Automaton, buildAutomaton, compareSequences } from './automaton.ts';
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

/** Finds the phrases of many profiles in one pass over a text. */
export interface PhraseMatcher {
  /** Hits by the profile's index in the compiled list, in text order; profiles without hits are omitted. */
  match(tokens: Tokens): Map<number, Hit[]>;
}

/** Maximum occurrences reported per phrase, and phrases per kind. */
const MAX_PLACES = 3;
const MAX_HITS_A_KIND = 16;
/**
 * Occurrences of the same words that are looked at in a text, beyond the first three of each. Only a text made of phrases has more: one
 * character 20,000 times contains a hundred phrases of it two million times, which took 0.3 s.
 */
const MAX_REPEATS = 20_000;

/** Compiles the phrases, competitors and exclusions of all `profiles`. Yields between chunks. */
export function* compilePhrases(profiles: readonly PhraseLists[]): Generator<void, PhraseMatcher> {
  const symbols = createSymbols();
  const part = yield* compilePart(profiles, symbols);
  return matcherOf([{ first: 0, part }], symbols);
}

/** The phrases of a profile. */
export type PhraseLists = Pick<IcpProfile, 'phrases' | 'competitors' | 'excludedPhrases'>;

/**
 * One automaton of the phrases of adjacent profiles. A spelling is what differs between phrases with the same words: the symbols around
 * them, so that an occurrence is not compared with each. A profile can have "C", "C+", "C#+" and so on, and a text their word ten thousand
 * times. All data about phrases is in lists of numbers: as objects, phrases took 0.9 KB each, and the garbage collector had to visit every
 * one of them.
 */
export interface PhrasePart {
  automaton: Automaton;
  /** Number of words, by sequence of the automaton. */
  lengths: Int32Array;
  /** The first spelling of each sequence, and the end of the last one; ordered by signs, then by gaps. */
  spellings: Int32Array;
  /** By spelling: its {@link signsKey}. */
  signs: Int32Array;
  /** By spelling: the hash of its gaps ({@link Gaps}); 0 without gaps. */
  gaps: Int32Array;
  /** By spelling: the gaps or the exact spelling that an occurrence must have; otherwise empty. */
  exact: readonly string[];
  /** The first place in `targets` of each spelling, and the end of the last one. */
  places: Int32Array;
  /** The phrases with a spelling, numbered by profile, kind and place. */
  targets: Int32Array;
  /** By phrase: its list, i.e. index of the profile × 3 + index of the kind. */
  lists: Int32Array;
  /** By list: the number of its first phrase. */
  listStarts: Int32Array;
}

/** Characters of phrases that are read between two yields. */
const UNITS_AT_ONCE = 6_000;

/** Compiles the phrases of adjacent profiles; new words are added to `symbols`. Yields between chunks. */
export function* compilePart(
  profiles: readonly PhraseLists[],
  symbols: Symbols,
): Generator<void, PhrasePart> {
  const all = profiles.flatMap(({ phrases, competitors, excludedPhrases }) => [
    phrases,
    competitors,
    excludedPhrases,
  ]);
  const listStarts = new Int32Array(all.length);
  const lists = new Int32Array(all.reduce((total, list) => total + list.length, 0));
  const read: Phrase[] = [];
  let number = 0;
  let units = 0;
  let hasYielded = false;
  for (const [list, phrases] of all.entries()) {
    listStarts[list] = number;
    for (const text of phrases) {
      const phrase = readPhrase(text, number, symbols);
      if (phrase !== null) read.push(phrase);
      lists[number++] = list;
      units += text.length;
      if (units < UNITS_AT_ONCE) continue;
      units = 0;
      hasYielded = true;
      yield;
    }
  }
  if (hasYielded) yield;
  read.sort(compareSpellings);
  return { ...groupSpellings(read), lists, listStarts };
}

/** Searches all parts; `first` is the index of a part's first profile in the whole list. */
export function matcherOf(
  parts: readonly { first: number; part: PhrasePart }[],
  symbols: Symbols,
): PhraseMatcher {
  return {
    match(tokens) {
      const found = createFindings();
      const words = Int32Array.from(tokens.stems, symbols.get);
      const text = { tokens, words, signs: null, gaps: createGaps(tokens), repeats: MAX_REPEATS };
      for (const { first, part } of parts)
        search(part, text, (phrase, place) => found.add(first, part, phrase, place));
      return found.hits;
    },
  };
}

/** By words, then by spelling, then in the order of the profiles. */
function compareSpellings(a: Phrase, b: Phrase): number {
  return compareSequences(a.words, b.words) || compareInWords(a, b) || a.number - b.number;
}

function compareInWords(a: Phrase, b: Phrase): number {
  const order = a.signs - b.signs || a.gaps - b.gaps;
  if (order !== 0 || a.exact === b.exact) return order;
  return a.exact < b.exact ? -1 : 1;
}

/** Merges phrases with the same words, and those with the same spelling. */
function groupSpellings(sorted: readonly Phrase[]): Omit<PhrasePart, 'lists' | 'listStarts'> {
  const sequences: (readonly number[])[] = [];
  const [spellings, signs, gaps, places] = [[] as number[], [] as number[], [] as number[], [] as number[]];
  const exact: string[] = [];
  let before: Phrase | undefined;
  for (const [place, phrase] of sorted.entries()) {
    const isNew = before === undefined || compareSequences(before.words, phrase.words) !== 0;
    if (isNew) {
      sequences.push(phrase.words);
      spellings.push(signs.length);
    }
    if (isNew || before === undefined || compareInWords(before, phrase) !== 0) {
      signs.push(phrase.signs);
      gaps.push(phrase.gaps);
      exact.push(phrase.exact);
      places.push(place);
    }
    before = phrase;
  }
  return {
    automaton: buildAutomaton(sequences),
    lengths: Int32Array.from(sequences, ({ length }) => length),
    spellings: Int32Array.from([...spellings, signs.length]),
    signs: Int32Array.from(signs),
    gaps: Int32Array.from(gaps),
    exact,
    places: Int32Array.from([...places, sorted.length]),
    targets: Int32Array.from(sorted, ({ number }) => number),
  };
}

interface SearchedText {
  tokens: Tokens;
  words: Int32Array;
  /** Computed for the first phrase that needs them, like the gaps. */
  signs: Signs | null;
  gaps: Gaps;
  /** How many more are looked at: {@link MAX_REPEATS}. */
  repeats: number;
}

interface Place {
  start: number;
  end: number;
}

/** Calls `add` with the number of each phrase that occurs, and where. */
function search(part: PhrasePart, text: SearchedText, add: (phrase: number, place: Place) => void): void {
  const { automaton, lengths, spellings, signs, gaps, places, targets } = part;
  const { tokens, words } = text;
  /** By spelling. */
  const times = new Map<number, number>();
  /** By sequence, up to {@link MAX_PLACES}; only those that occur: an array of all two hundred thousand took longer than the search. */
  const seen = new Map<number, number>();
  /** Those of a range of spellings that have not occurred often enough yet, in the order of the profiles. */
  const left = new Map<number, number[]>();

  function findAll(from: number, to: number, at: Occurrence): void {
    if (from === to) return;
    const range = 2 * from + (at.isParted ? 1 : 0);
    const open = left.get(range) ?? inOrder(part, from, to);
    if (open.length === 0) return;
    const still = open.filter((spelling) => {
      const place = placeOf(part, spelling, text, at);
      if (place !== null) {
        const end = places[spelling + 1] ?? 0;
        for (let i = places[spelling] ?? 0; i < end; i++) add(targets[i] ?? 0, place);
      }
      // Other gaps with the same hash count, too: with a thousand phrases made to have one, a post took 1.2 s.
      else if (!at.isParted) return true;
      const count = (times.get(spelling) ?? 0) + 1;
      times.set(spelling, count);
      return count < MAX_PLACES;
    });
    left.set(range, still);
  }

  function isWanted(sequence: number): boolean {
    const before = seen.get(sequence) ?? 0;
    if (before === MAX_PLACES) return text.repeats-- > 0;
    seen.set(sequence, before + 1);
    return true;
  }

  function look(sequence: number, last: number): void {
    const first = last - (lengths[sequence] ?? 0) + 1;
    const isParted = tokens.breaks[first] !== tokens.breaks[last];
    const [from, to] = [spellings[sequence] ?? 0, spellings[sequence + 1] ?? 0];
    const at = { first, last, isParted };
    const lookFor = (key: number) => {
      const [start, end] = [lowerBound(signs, key, from, to), lowerBound(signs, key + 1, from, to)];
      if (!isParted) return findAll(start, end, at);
      if (gaps[start] === 0 && gaps[end - 1] === 0) return;
      const hash = text.gaps.hashOf(first, last);
      findAll(lowerBound(gaps, hash, start, end), lowerBound(gaps, hash + 1, start, end), at);
    };
    // In order: without signs in the last one, there are none.
    if (signs[to - 1] === 0) lookFor(0);
    else {
      text.signs ??= signsOf(tokens);
      eachKey(text.signs.before[first] ?? 0, text.signs.after[last] ?? 0, lookFor);
    }
  }

  automaton.scan(words, (sequence, last) => {
    const isNew = isWanted(sequence);
    if (isNew) look(sequence, last);
    return isNew;
  });
}

/** The first place from `from` to `to` with at least this value, in an ordered list. */
function lowerBound(list: Int32Array, value: number, from: number, to: number): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function inOrder({ places, targets }: PhrasePart, from: number, to: number): number[] {
  const first = (spelling: number) => targets[places[spelling] ?? 0] ?? 0;
  return Array.from({ length: to - from }, (_, i) => from + i).sort((a, b) => first(a) - first(b));
}

function createFindings() {
  const hits = new Map<number, Hit[]>();
  /** Number of hits by profile and kind. */
  const counts = new Map<number, number>();
  return {
    hits,
    /** `first`: the index of the part's first profile. */
    add(first: number, { lists, listStarts }: PhrasePart, number: number, place: Place): void {
      const own = lists[number] ?? 0;
      const slot = first * HIT_KINDS.length + own;
      const count = counts.get(slot) ?? 0;
      if (count >= MAX_HITS_A_KIND) return;
      counts.set(slot, count + 1);
      const profile = Math.floor(slot / HIT_KINDS.length);
      const kind = HIT_KINDS[slot % HIT_KINDS.length] ?? 'phrase';
      const hit: Hit = { kind, phrase: number - (listStarts[own] ?? 0), ...place };
      const known = hits.get(profile);
      if (known === undefined) hits.set(profile, [hit]);
      else known.push(hit);
    },
  };
}

/** A phrase prepared for search: the symbols of its words, and the requirements of its spelling. */
interface Phrase {
  words: number[];
  /**
   * Symbols required right before the first and after the last word, as a {@link signsKey}: the `.` of ".NET", the `++`
   * of "C++".
   */
  signs: number;
  /** The hash of its gaps; 0 without gaps. */
  gaps: number;
  /**
   * Its gaps ({@link gapsText}), if they would usually separate words ("Yahoo! Mail", "Dr. Oetker"); the exact spelling of an acronym
   * that is an ordinary word in lower case, such as IT; otherwise empty.
   */
  exact: string;
  /** Its place among the phrases of its part. */
  number: number;
}

/**
 * Symbols that distinguish names, at most three on each side. Quotes, brackets and the end of a sentence are not part of
 * a name.
 */
const [BEFORE, AFTER] = ['.#@$€£&+', '+#!%&$°'];
/** Selects the signs next to a word: none, one, two, three, at four bits each. */
const SIGN_MASKS = [0, 0xf, 0xff, 0xfff];

/** The signs before and after a phrase as one number. */
function signsKey(before: number, after: number): number {
  return (before << 12) | after;
}

/** The number of signs in one half of a {@link signsKey}. */
function signCount(code: number): number {
  return code > 0xff ? 3 : code > 0xf ? 2 : code > 0 ? 1 : 0;
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

/** The characters between words, such as the "!" in "Yahoo! Mail". */
interface Gaps {
  /** The hash of those between two words, in constant time; not 0. */
  hashOf(first: number, last: number): number;
  /** Whether those between two words are these ({@link gapsText}). */
  are(asked: string, first: number, last: number): boolean;
}

const FACTOR = 0x01000193;

function nextHash(before: number, gap: string): number {
  let hash = 0;
  for (let i = 0; i < gap.length; i++) hash = Math.imul(hash ^ (gap.charCodeAt(i) + 1), 0x85ebca6b);
  return (Math.imul(before, FACTOR) + hash) | 0;
}

/**
 * Reads the gaps of a text once, for all phrases: cutting them out for each phrase that occurs took 0.7 s, if a text contains fifty thousand
 * phrases of fifty words.
 */
function createGaps(tokens: Tokens): Gaps {
  let read: ReadGaps | null = null;
  const powers = [1];
  return {
    hashOf(first, last) {
      read ??= readGaps(tokens);
      for (let i = powers.length; i <= last - first; i++) powers.push(Math.imul(powers[i - 1] ?? 0, FACTOR));
      const [from, to] = [read.hashes[first] ?? 0, read.hashes[last] ?? 0];
      return (to - Math.imul(from, powers[last - first] ?? 0)) | 0 || 1;
    },
    are(asked, first, last) {
      read ??= readGaps(tokens);
      const [from, to] = [read.starts[first] ?? 0, read.starts[last] ?? 0];
      return to - from === asked.length && read.text.startsWith(asked, from);
    },
  };
}

/** All gaps of a text; by word: the hash of the gaps before it, and where the gap after it starts in `text`. */
interface ReadGaps {
  text: string;
  hashes: Int32Array;
  starts: Int32Array;
}

function readGaps(tokens: Tokens): ReadGaps {
  const gaps = gapsOf(tokens, 0, tokens.starts.length - 1);
  const [hashes, starts] = [new Int32Array(gaps.length + 1), new Int32Array(gaps.length + 1)];
  for (const [i, gap] of gaps.entries()) {
    hashes[i + 1] = nextHash(hashes[i] ?? 0, gap);
    starts[i + 1] = (starts[i] ?? 0) + gap.length + 1;
  }
  return { text: gapsText(gaps), hashes, starts };
}

/** Parses a phrase as typed into a profile; null if it contains no word. */
function readPhrase(phrase: string, number: number, symbols: Symbols): Phrase | null {
  const tokens = tokenize(phrase);
  const last = tokens.stems.length - 1;
  if (last < 0) return null;
  const first = tokens.starts[0] ?? 0;
  const end = tokens.ends[last] ?? 0;
  const [before, after] = [codeBefore(phrase, first), codeAfter(phrase, end)];
  const isParted = tokens.breaks[last] !== tokens.breaks[0];
  const isShouted = last === 0 && isShoutedWord(phrase.slice(first, end));
  const shouted = isShouted ? phrase.slice(first - signCount(before), end + signCount(after)) : '';
  const gaps = isParted ? gapsOf(tokens, 0, last) : [];
  return {
    words: tokens.stems.map((word) => symbols.add(word)),
    signs: signsKey(before, after),
    gaps: isParted ? gaps.reduce(nextHash, 0) || 1 : 0,
    exact: isParted ? gapsText(gaps) : shouted,
    number,
  };
}

/** Words of a text that may be those of a phrase. */
interface Occurrence {
  first: number;
  last: number;
  /** Whether something separates them that usually separates words. */
  isParted: boolean;
}

/** Where a phrase with these signs occurs; null if its spelling does not match. */
function placeOf(
  { signs, exact }: PhrasePart,
  spelling: number,
  { tokens, gaps }: SearchedText,
  { first, last, isParted }: Occurrence,
): Place | null {
  const key = signs[spelling] ?? 0;
  const start = (tokens.starts[first] ?? 0) - signCount(key >>> 12);
  const end = (tokens.ends[last] ?? 0) + signCount(key & 0xfff);
  const asked = exact[spelling] ?? '';
  if (isParted) return gaps.are(asked, first, last) ? { start, end } : null;
  return first < last || asked === '' || tokens.text.slice(start, end) === asked ? { start, end } : null;
}

/** Not empty, and distinct, because gaps contain no white space. */
function gapsText(gaps: readonly string[]): string {
  return gaps.map((gap) => `${gap}\n`).join('');
}

function gapsOf({ text, starts, ends }: Tokens, first: number, last: number): string[] {
  return Array.from({ length: last - first }, (_, i) =>
    text.slice(ends[first + i], starts[first + i + 1]).replace(/\s+/gu, ''),
  );
}

function isShoutedWord(word: string): boolean {
  return word === word.toUpperCase() && ORDINARY_WORDS.has(word.toLowerCase());
}
