import { z } from 'zod';
import { readWordTable, wordsSchema } from '../../lib/word-table.ts';

/** The subject of a cue's verb: the author's side, the reader, a third party, or none. */
export type CueSubject = 'own' | 'reader' | 'other' | 'implied';

/** A named pattern for one masked sentence. */
export interface Cue {
  name: string;
  pattern: RegExp;
}

/** An escaped character, a class, or a space outside them. */
const SPACES = /\\.|\[(?:\\.|[^\]\\])*\]| \??/g;

/**
 * Compiles a cue from its source, in which a space matches any white space, and a space with `?` any or none.
 * Either takes a run of white space whole: if two that meet could share one in every way, a post of two thousand
 * spaces would take seconds. The source is in lower case, as sentences are, and has no nested repetition, so
 * matching takes linear time.
 */
export function cue(name: string, ...sources: string[]): Cue {
  const source = `(?:${sources.join('|')})`.replace(SPACES, (piece) => {
    if (piece.startsWith('[')) return piece.replaceAll(' ', '\\s');
    return piece.startsWith(' ') ? `\\s${piece === ' ' ? '+' : '*'}(?!\\s)` : piece;
  });
  return { name, pattern: new RegExp(source) };
}

const cuesSchema = z.record(z.string(), wordsSchema);
const TABLE = readWordTable(
  'cues',
  z.strictObject({
    wishes: cuesSchema,
    questions: cuesSchema,
    offers_to_buy: cuesSchema,
    objects: cuesSchema,
    speakers: cuesSchema,
    hearsay: cuesSchema,
    circumstances: cuesSchema,
  }),
);

/**
 * Verbs of wanting, whose meaning depends on the subject: "we are looking for" asks, "are you looking for"
 * sells.
 */
export const WISHES = cuesOf(TABLE.wishes);
/** Questions to the reader that ask for a thing, a supplier or a choice. */
export const QUESTIONS = cuesOf(TABLE.questions);
/** Plain words of buying and hiring that need no question. */
export const OFFERS_TO_BUY = cuesOf(TABLE.offers_to_buy);
/** The object of a request: the same verb with another object is another request. */
export const OBJECTS = cuesOf(TABLE.objects);
/** Authors who are not asking, and what they are doing instead. */
export const SPEAKERS = cuesOf(TABLE.speakers);
/** The request is someone else's, not the author's. */
export const HEARSAY = cuesOf(TABLE.hearsay);
/** Circumstances of the author that make a purchase likely or urgent. */
export const CIRCUMSTANCES = cuesOf(TABLE.circumstances);

function cuesOf(table: z.output<typeof cuesSchema>): Cue[] {
  return Object.entries(table).map(([name, sources]) => cue(name, ...sources));
}

/** Maximum distance of a subject or a negation from its verb. */
const REACH_UNITS = 48;
const OWN =
  /\b(?:i|we|i'm|im|we're|i've|we've|i'd|we'd|i'll|we'll|ive|us|me|(?:my|our) (?:[a-z-]+ )?[a-z-]+)\b/g;
const READER = /\b(?:you|you're|youre|you've|you'd|y'all|your)\b/g;
const OTHER =
  /\b(?:they|they're|he|she|he's|she's|people|anyone|anybody|someone|somebody|those|everyone|customers?|clients?|companies|businesses|users?|founders|owners|who|brands|sellers|buyers|employers|students|his|her|their|friends?|cousin|colleagues?|analysts|experts|article)\b/g;
const NEGATION =
  /\b(?:not|no longer|never|don't|dont|doesn't|didn't|isn't|aren't|wasn't|weren't|won't|wouldn't|without|nobody|no one|no|instead of|against|stopped|rather than|cannot|neither|nor|hardly)\b[^,;:.!?()]*$/;
/** A new clause of the author ends an earlier negation: "support never answers and we are looking". */
const ANEW =
  /\b(?:and|but|so|because|hence|which is why) (?:now )?(?:i|we|i'm|we're|i've|we've|my|our|it's|it is)\b/;
/** Phrases such as "can't find" and "not sure which" do not negate the request. */
const HARMLESS =
  /\b(?:not sure|not only|no idea|why not|if not|whether or not|not happy|no luck|no one here|don't know)\b/;

/** The subject of the verb at `at`: the last one before it in its sentence. */
export function subjectAt(sentence: string, at: number): CueSubject {
  const before = sentence.slice(Math.max(0, at - REACH_UNITS), at);
  const places = { own: lastOf(OWN, before), reader: lastOf(READER, before), other: lastOf(OTHER, before) };
  const last = Math.max(places.own, places.reader, places.other);
  if (last === -1) return 'implied';
  if (last === places.own) return 'own';
  return last === places.reader ? 'reader' : 'other';
}

/** Whether the text at `at` is negated by a word before it in its clause. */
export function negatedAt(sentence: string, at: number): boolean {
  const before = sentence.slice(Math.max(0, at - REACH_UNITS), at);
  const found = NEGATION.exec(before);
  return found !== null && !HARMLESS.test(found[0]) && !ANEW.test(found[0]);
}

function lastOf(pattern: RegExp, text: string): number {
  let last = -1;
  for (const found of text.matchAll(pattern)) last = found.index;
  return last;
}

/** Selects the cues that may match a sentence; includes all that match. */
type Gate = (sentence: string) => ReadonlySet<Cue>;

interface CueBucket {
  /** Cues selected by a word with this prefix, and by exactly this word. */
  begins: Cue[];
  whole: Cue[];
}

/** Number of letters of a word that are compared. */
const LETTERS = 5;
/** The number of characters in words, plus one. */
const BASE = 38;

/**
 * Creates a filter that selects the cues worth trying on a sentence, by the words in it. Trying each of
 * seventy patterns on each sentence took most of the time of reading a post.
 */
export function createGate(cues: readonly Cue[]): Gate {
  const always: Cue[] = [];
  const entries = new Map<number, CueBucket>();
  for (const cue of cues) {
    const beginnings = beginningsOf(cue.pattern);
    if (beginnings === null) always.push(cue);
    else for (const beginning of beginnings) add(entries, beginning, cue);
  }

  return (sentence) => {
    const open = new Set(always);
    let [word, letters]: [CueBucket | undefined, number] = [undefined, 0];
    let code = 0;
    for (let i = 0; i < sentence.length; i++) {
      const place = placeOf(sentence.charCodeAt(i));
      if (place === 0) {
        if (word !== undefined) for (const cue of word.whole) open.add(cue);
        [word, letters, code] = [undefined, 0, 0];
        continue;
      }
      letters++;
      if (letters > 1 && word === undefined) continue;
      code = code * BASE + place;
      word = letters > LETTERS ? undefined : entries.get(code);
      if (word !== undefined) for (const cue of word.begins) open.add(cue);
    }
    if (word !== undefined) for (const cue of word.whole) open.add(cue);
    return open;
  };
}

function add(entries: Map<number, CueBucket>, { text, whole }: Beginning, cue: Cue): void {
  let [code, entry]: [number, CueBucket] = [0, { begins: [], whole: [] }];
  for (const letter of text.slice(0, LETTERS)) {
    code = code * BASE + placeOf(letter.charCodeAt(0));
    entry = entries.get(code) ?? { begins: [], whole: [] };
    entries.set(code, entry);
  }
  const list = whole && text.length <= LETTERS ? entry.whole : entry.begins;
  if (!list.includes(cue)) list.push(cue);
}

/**
 * Numbers the characters of words in a masked sentence, which is in lower case, from 1; 0 is any other
 * character.
 */
function placeOf(code: number): number {
  if (code >= 97 && code <= 122) return code - 96;
  if (code >= 48 && code <= 57) return code - 21;
  return code === 95 ? 37 : 0;
}

/** The prefix of a word that every match of a pattern contains; `whole` if the word ends there. */
interface Beginning {
  text: string;
  whole: boolean;
}

type PatternPiece =
  | { kind: 'letter'; letter: string }
  /** A character that is not part of a word. */
  | { kind: 'apart' }
  /** `\b` or `^`. */
  | { kind: 'edge' }
  /** Matches no characters: lookahead and `$`. */
  | { kind: 'nothing' }
  | { kind: 'unknown' }
  | { kind: 'choice'; branches: Item[][] };

interface Item {
  piece: PatternPiece;
  /** Whether the item is required, and whether it occurs at most once. */
  needed: boolean;
  once: boolean;
}

interface PatternReading {
  beginnings: Beginning[] | null;
  /** Whether a word can only start, but not continue, after this. */
  edge: boolean;
}

/**
 * Word prefixes of which every match of the pattern contains at least one; null if there are none. If there
 * are several such sets, the rarest one in texts. Words consist of `\w`, so a letter beyond ASCII separates
 * them.
 */
export function beginningsOf({ source }: RegExp): Beginning[] | null {
  const parser = new PatternParser(source);
  return readChoice(parser.branches(), false, false).beginnings;
}

function readChoice(branches: Item[][], edge: boolean, ends: boolean): PatternReading {
  const readings = branches.map((items) => readBranch(items, edge, ends));
  const sets = readings.map(({ beginnings }) => beginnings);
  return {
    beginnings: sets.every((set) => set !== null) ? sets.flat() : null,
    edge: readings.every((reading) => reading.edge),
  };
}

/** `edge`: no word continues at the start. `ends`: what follows ends the last word. */
function readBranch(items: Item[], edge: boolean, ends: boolean): PatternReading {
  let [best, word, atEdge]: [Beginning[] | null, string, boolean] = [null, '', edge];
  const close = (whole: boolean) => {
    if (word !== '') best = rarer(best, [{ text: word, whole }]);
    word = '';
  };
  for (const [i, { piece, needed, once }] of items.entries()) {
    if (piece.kind === 'letter') {
      if (needed && (word !== '' || atEdge)) word += piece.letter;
      if (!needed || !once) close(false);
      atEdge = false;
    } else if (piece.kind === 'apart') {
      close(needed);
      atEdge ||= needed;
    } else if (piece.kind === 'edge') {
      close(true);
      atEdge = true;
    } else if (piece.kind === 'choice') {
      close(false);
      const next = items[i + 1];
      const endsHere = once && (next === undefined ? ends : isEnd(next));
      const reading = readChoice(piece.branches, atEdge, endsHere);
      if (needed) best = rarer(best, reading.beginnings);
      const again = once || readChoice(piece.branches, false, false).edge;
      atEdge = reading.edge && again && (needed || atEdge);
    } else {
      close(false);
      if (piece.kind === 'unknown') atEdge = false;
    }
  }
  close(ends);
  return { beginnings: best, edge: atEdge };
}

function isEnd({ piece, needed }: Item): boolean {
  return needed && (piece.kind === 'apart' || piece.kind === 'edge');
}

function rarer(a: Beginning[] | null, b: Beginning[] | null): Beginning[] | null {
  if (a === null || b === null) return a ?? b;
  return frequencyOf(b) < frequencyOf(a) ? b : a;
}

/**
 * Assumes that all letters are equally frequent, which is enough to tell long words from short ones, and few
 * from many.
 */
function frequencyOf(beginnings: readonly Beginning[]): number {
  return beginnings.reduce((sum, { text }) => sum + 26 ** -Math.min(text.length, 5), 0);
}

/**
 * Parses the subset of regular expressions that cues use. Anything else is treated as unknown characters, or
 * throws.
 */
class PatternParser {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** Parses up to the end of the group or of the source. */
  branches(): Item[][] {
    const branches: Item[][] = [[]];
    while (this.#at < this.#source.length && this.#source[this.#at] !== ')') {
      if (this.#take('|')) branches.push([]);
      else branches.at(-1)?.push(this.#item());
    }
    return branches;
  }

  #item(): Item {
    const piece = this.#piece();
    if (this.#take('?')) return { piece, needed: false, once: true };
    if (this.#take('*')) return { piece, needed: false, once: false };
    if (this.#take('+')) return { piece, needed: true, once: false };
    const [all, from] = /^\{(\d+)(?:,\d*)?\}/.exec(this.#source.slice(this.#at, this.#at + 12)) ?? [''];
    this.#at += all.length;
    return { piece, needed: from !== '0', once: all === '' };
  }

  #piece(): PatternPiece {
    for (const opening of ['(?:', '(?=', '(?!']) {
      if (!this.#take(opening)) continue;
      const branches = this.branches();
      if (!this.#take(')')) break;
      return opening === '(?:' ? { kind: 'choice', branches } : { kind: 'nothing' };
    }
    if (this.#take('(')) throw new Error(`Unsupported group in a cue: ${this.#source}`);
    if (this.#take('[')) return this.#class();
    if (this.#take('^')) return { kind: 'edge' };
    if (this.#take('$')) return { kind: 'nothing' };
    return this.#character();
  }

  #character(): PatternPiece {
    const [char] = this.#source.slice(this.#at);
    this.#at++;
    if (char === '\\') {
      const escaped = this.#source[this.#at++] ?? '';
      if (escaped === 'b') return { kind: 'edge' };
      if (/[sW]/.test(escaped)) return { kind: 'apart' };
      return /\w/.test(escaped) ? { kind: 'unknown' } : { kind: 'apart' };
    }
    if (char === undefined || char === '.') return { kind: 'unknown' };
    return /\w/.test(char) ? { kind: 'letter', letter: char } : { kind: 'apart' };
  }

  /** `[...]`: separates words if it contains no word characters. */
  #class(): PatternPiece {
    const from = this.#at;
    while (this.#source[this.#at] !== ']') this.#at += this.#source[this.#at] === '\\' ? 2 : 1;
    const inside = this.#source.slice(from, this.#at++);
    const others = inside.replaceAll('\\s', '').replaceAll('\\W', '');
    return { kind: others.startsWith('^') || /\w/.test(others) ? 'unknown' : 'apart' };
  }

  #take(text: string): boolean {
    const is = this.#source.startsWith(text, this.#at);
    if (is) this.#at += text.length;
    return is;
  }
}
