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
/**
 * Maximum number of spelling comparisons per text. Only phrases that differ in symbols alone ("C", "C+",
 * "C++", …), and a text that repeats their word ten thousand times, could exceed it.
 */
const MAX_COMPARISONS = 50_000;

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

/** All phrases with the same words, by spelling. */
type Spellings = Map<string, Wanted>;

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
  spellings: readonly (readonly Wanted[])[];
}

/** Compiles the phrases of adjacent profiles; new words are added to `symbols`. */
export function compilePart(profiles: readonly ProfilePhrases[], symbols: Symbols): PhrasePart {
  const wanted = gather(profiles);
  const automaton = buildAutomaton(
    [...wanted.keys()].map((words) => words.split(' ').map((word) => symbolOf(symbols, word))),
  );
  const spellings = [...wanted.values()].map((each) => [...each.values()]);
  return { automaton, spellings };
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
      const text = { tokens, words, comparisons: 0 };
      for (const { first, part } of parts)
        search(part, text, (targets, place) => found.add(first, targets, place));
      return found.hits;
    },
  };
}

function gather(profiles: readonly ProfilePhrases[]): Map<string, Spellings> {
  const wanted = new Map<string, Spellings>();
  profiles.forEach(({ lists }, profile) => {
    lists.forEach((list, kind) => {
      list.forEach((phrase, place) => {
        if (phrase === null) return;
        const words = phrase.stems.join(' ');
        const spellings: Spellings = wanted.get(words) ?? new Map();
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

function symbolOf(symbols: Symbols, word: string): number {
  const known = symbols.get(word);
  if (known !== undefined) return known;
  symbols.set(word, symbols.size + 1);
  return symbols.size;
}

interface SearchedText {
  tokens: Tokens;
  words: Int32Array;
  /** Total of all parts. */
  comparisons: number;
}

function search(
  { automaton, spellings }: PhrasePart,
  text: SearchedText,
  add: (targets: readonly number[], place: { start: number; end: number }) => void,
): void {
  const times = new Map<Wanted, number>();
  const { tokens, words } = text;
  automaton.scan(words, (sequence, last) => {
    for (const wanted of spellings[sequence] ?? []) {
      const before = times.get(wanted) ?? 0;
      if (before >= MAX_PLACES || text.comparisons >= MAX_COMPARISONS) continue;
      text.comparisons++;
      const place = placeOf(wanted.phrase, tokens, last - wanted.phrase.stems.length + 1, last);
      if (place === null) continue;
      times.set(wanted, before + 1);
      add(wanted.targets, place);
    }
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

/** Symbols that distinguish names. Quotes, brackets and the end of a sentence are not part of a name. */
const SIGNS_BEFORE = /[.#@$€£&+]*$/u;
const SIGNS_AFTER = /^[+#!%&$°]*/u;

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
