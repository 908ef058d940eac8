import { fold } from '../lib/text.ts';

/**
 * A text split into words, once for all that reads it. Parallel lists with one entry per word, because a text
 * of the maximum length has ten thousand words. Offsets are in UTF-16 units, as in JavaScript strings.
 */
export interface Tokens {
  text: string;
  /** Folded, with straight apostrophes: `doesn't`, `what's`, `crms`. */
  words: string[];
  /** The form for comparison, singular and without apostrophes: `doesnt`, `what`, `crm`. */
  stems: string[];
  starts: number[];
  /** Excludes a possessive `'s`, which is not quoted: `Acme's` ends after `Acme`. */
  ends: number[];
  /**
   * Number of breaks (of sentence, clause, paragraph) before the word: a phrase does not continue across one.
   */
  breaks: number[];
}

type Kind = 'word' | 'single' | 'extend' | 'apostrophe' | 'other';

/**
 * Scripts without spaces between words: each character is a word, and a phrase is a run of characters. First
 * and last code points of their blocks (Thai and Lao, Myanmar, Khmer, kana and Han, Han beyond the BMP); a
 * script pattern is ten times as slow.
 */
const SINGLE = [
  0x0e00, 0x0eff, 0x1000, 0x109f, 0x1780, 0x17ff, 0x3040, 0x30ff, 0x3400, 0x9fff, 0x20000, 0x323af,
];
const LETTER = /[\p{L}\p{N}]/u;
const EXTEND = /[\p{M}\p{Cf}]/u;
/** French and Italian articles: the phrase "entreprise" occurs in "l'entreprise". */
const ELIDED = /^(?:[cdjlmnst]|qu)$/iu;

const WORD = 1;
const SPACE = 2;
/** Quotes and emphasis, which do not separate words. */
const TRANSPARENT = 3;
/** Symbols that join two words if there is no space next to them: `help-desk`, `node.js`, `24/7`, `R&D`. */
const JOINER = 4;

/** The class of each ASCII character, so that English texts need no pattern. */
const ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  if (/[A-Za-z0-9]/.test(char)) return WORD;
  if (/\s/.test(char)) return SPACE;
  return /["'*_`~]/.test(char) ? TRANSPARENT : /[-/.&+@]/.test(char) ? JOINER : 0;
});

/** Splits a text into words, in linear time. */
export function tokenize(text: string): Tokens {
  const tokens: Tokens = { text, words: [], stems: [], starts: [], ends: [], breaks: [] };
  let at = 0;
  let gapStart = 0;
  let breaks = 0;
  while (at < text.length) {
    const kind = kindAt(text, at);
    if (kind !== 'word' && kind !== 'single') {
      at += widthAt(text, at);
      continue;
    }
    if (at > gapStart && parts(text, gapStart, at)) breaks++;
    const next = kind === 'single' ? addSingle(tokens, at) : addWord(tokens, at);
    tokens.starts.push(at);
    tokens.breaks.push(breaks);
    at = next;
    gapStart = next;
  }
  return tokens;
}

/** Adds the word that starts at `start`, and returns the position after it. */
function addWord(tokens: Tokens, start: number): number {
  const { text } = tokens;
  let end = start + 1;
  while (end < text.length && ASCII[text.charCodeAt(end)] === WORD) end++;
  // Nearly all words of an English text end here, at a space or a symbol.
  const isPlain = end === text.length || (text.charCodeAt(end) < 128 && text.charCodeAt(end) !== 0x27);
  if (isPlain && text.charCodeAt(start) < 128) {
    const folded = text.slice(start, end).toLowerCase();
    add(tokens, folded, isShoutedPlural(text, start, end) ? folded.slice(0, -1) : stem(folded), end);
    return end;
  }
  const word = wordAt(text, start);
  add(tokens, word.folded, word.stem, word.end);
  return word.next;
}

function addSingle(tokens: Tokens, start: number): number {
  const { text } = tokens;
  let end = start + widthAt(text, start);
  while (end < text.length && kindAt(text, end) === 'extend') end += widthAt(text, end);
  const char = text.slice(start, end);
  add(tokens, char, char, end);
  return end;
}

function add(tokens: Tokens, word: string, itsStem: string, end: number): void {
  tokens.words.push(word);
  tokens.stems.push(itsStem);
  tokens.ends.push(end);
}

interface Word {
  folded: string;
  stem: string;
  /** Where the quoted word ends, and where parsing continues. */
  end: number;
  next: number;
}

function wordAt(text: string, start: number): Word {
  let end = start;
  let apostrophes = 0;
  while (end < text.length) {
    const kind = kindAt(text, end);
    if (kind === 'word' || kind === 'extend') {
      end += widthAt(text, end);
      continue;
    }
    if (kind !== 'apostrophe' || kindAt(text, end + 1) !== 'word') break;
    if (apostrophes === 0 && ELIDED.test(text.slice(start, Math.min(end, start + 3)))) break;
    if (isPossessive(text, end)) {
      const owner = foldWord(text.slice(start, end));
      return { folded: `${owner}'s`, stem: stem(bare(owner)), end, next: end + 2 };
    }
    apostrophes++;
    end++;
  }
  const folded = foldWord(text.slice(start, end));
  const one = isShoutedPlural(text, start, end)
    ? folded.slice(0, -1)
    : stem(apostrophes === 0 ? folded : bare(folded));
  return { folded, stem: one, end, next: end };
}

/** `APIs`, `CMSs`: the lower-case `s` is not part of the acronym. */
function isShoutedPlural(text: string, start: number, end: number): boolean {
  if (end - start < 3 || text.charCodeAt(end - 1) !== 0x73) return false;
  for (let at = start; at < end - 1; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x41 || code > 0x5a) return false;
  }
  return true;
}

function isPossessive(text: string, at: number): boolean {
  const letter = text.charCodeAt(at + 1) | 32;
  const after = kindAt(text, at + 2);
  return letter === 0x73 && after !== 'word' && after !== 'extend';
}

function bare(word: string): string {
  return word.replaceAll("'", '');
}

/**
 * Only the beginning of a longer word is folded: no phrase is that long, and folding can turn one letter into
 * 18.
 */
const MAX_FOLDED_UNITS = 1_000;

function foldWord(whole: string): string {
  const word = whole.length > MAX_FOLDED_UNITS ? whole.slice(0, MAX_FOLDED_UNITS) : whole;
  for (let i = 0; i < word.length; i++) {
    if (word.charCodeAt(i) < 128) continue;
    const plain = fold(word.replace(/[\u2019\u2018\u02bc\uff07]/gu, "'")).replaceAll('ß', 'ss');
    return plain.replace(/[^\p{L}\p{N}']/gu, '');
  }
  return word.toLowerCase();
}

function kindAt(text: string, at: number): Kind {
  const code = text.charCodeAt(at);
  if (code < 128) return ASCII[code] === WORD ? 'word' : code === 0x27 ? 'apostrophe' : 'other';
  if (Number.isNaN(code)) return 'other';
  if (code === 0x2019 || code === 0x2018 || code === 0x02bc || code === 0xff07) return 'apostrophe';
  const point = text.codePointAt(at) ?? 0;
  const char = String.fromCodePoint(point);
  if (!LETTER.test(char)) return EXTEND.test(char) ? 'extend' : 'other';
  return isSingle(point) ? 'single' : 'word';
}

function isSingle(point: number): boolean {
  for (let i = 0; i < SINGLE.length; i += 2) {
    if (point <= (SINGLE[i + 1] ?? 0)) return point >= (SINGLE[i] ?? 0);
  }
  return false;
}

function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

const TRANSPARENT_BEYOND = /[\u2018\u2019\u201c\u201d\u00ab\u00bb\p{M}\p{Cf}]/u;
const JOINER_BEYOND = /[\u2010-\u2013]/;

/** Whether the text between two words separates them, so that they do not form a phrase. */
function parts(text: string, start: number, end: number): boolean {
  let lines = 0;
  let spaces = 0;
  let joiners = 0;
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    const sign = code < 128 ? ASCII[code] : signBeyond(text.charAt(at));
    if (code === 0x0a) lines++;
    if (sign === SPACE) spaces++;
    else if (sign === JOINER) joiners++;
    else if (sign !== TRANSPARENT) return true;
  }
  return lines > 1 || (joiners > 0 && spaces > 0);
}

function signBeyond(char: string): number {
  if (/\s/.test(char)) return SPACE;
  return TRANSPARENT_BEYOND.test(char) ? TRANSPARENT : JOINER_BEYOND.test(char) ? JOINER : 0;
}

/** Words that look like plurals but are not: "news" is not the plural of "new". */
const NO_PLURAL = new Set(['news', 'goods', 'means', 'customs', 'always', 'perhaps', 'across', 'besides']);
const IRREGULAR = new Map([
  ['women', 'woman'],
  ['men', 'man'],
  ['children', 'child'],
  ['apis', 'api'],
  ['kpis', 'kpi'],
]);

/**
 * Maps singular and plural of an English word to the same form: `companies` and `company`, `taxes` and `tax`,
 * `CRMs` and `CRM`. The form need not be a word (`licens`, `movy`). Takes folded words; words of up to three
 * letters stay, because they may be acronyms (`ATS`, `SMS`, `AWS`).
 */
function stem(word: string): string {
  const last = word.charAt(word.length - 1);
  if (word.length <= 3 || (last !== 's' && last !== 'e' && last !== 'n')) return word;
  const irregular = IRREGULAR.get(word);
  if (irregular !== undefined) return irregular;
  return last === 'n' ? word : singularEnd(isPlural(word) ? word.slice(0, -1) : word);
}

function isPlural(word: string): boolean {
  if (!word.endsWith('s') || NO_PLURAL.has(word)) return false;
  const before = word.charAt(word.length - 2);
  return before !== 's' && before !== 'u' && before !== 'i' && !(before >= '0' && before <= '9');
}

/**
 * Without the `s`, `taxe` is `tax`, but `cache` is not `cach`: both lose the `e` to be the same in both
 * numbers.
 */
function singularEnd(word: string): string {
  if (!word.endsWith('e')) return word.length > 5 && word.endsWith('sis') ? word.slice(0, -2) : word;
  const before = word.charAt(word.length - 2);
  if (before === 'i') return `${word.slice(0, -2)}y`;
  const isSibilant = before === 'h' ? /[cs]h/.test(word.slice(-3, -1)) : 'sxzo'.includes(before);
  return isSibilant ? word.slice(0, -1) : word;
}
