import { ORDINARY_WORDS } from './ordinary-words.ts';
import { type Tokens, tokenize } from './tokens.ts';

/** A phrase made ready to be found: its words' stems, and what its own spelling asks beyond them. */
export interface Phrase {
  stems: string[];
  /** Signs that must stand right before the first and after the last word: the `.` of ".NET", the `++` of "C++". */
  before: string;
  after: string;
  /** What stands between its words, where that parts words elsewhere ("Yahoo! Mail", "Dr. Oetker"); else null. */
  gaps: string[] | null;
  /** It must be written just so: an acronym that is an ordinary word in small letters, as IT is. */
  exact: string | null;
}

/** Signs that tell names apart. Quotes, brackets and the end of a sentence are how a phrase is set, not its name. */
const SIGNS_BEFORE = /[.#@$€£&+]*$/u;
const SIGNS_AFTER = /^[+#!%&$°]*/u;

/** Reads a phrase as people type it into a profile; null where it holds no word. */
export function readPhrase(phrase: string): Phrase | null {
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

/** The phrase's place in a text, `first` to `last` word, or null where its spelling asks for something else. */
export function placeOf(
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

/** Tells phrases apart that are found in the same words. */
export function spellingKey({ before, after, gaps, exact }: Phrase): string {
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
