import { eachInTurns } from './yielding.ts';

/** A JSON value; undefined members are omitted. */
export type Json =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Json[]
  | { readonly [name: string]: Json };

/** More members than an object of any valid request has. */
const MOST_SORTED = 200;

/**
 * Canonical JSON: the same text for equal values, with members sorted by name and no spaces. Members of larger objects keep their order:
 * sorting fifty thousand names with equal beginnings took 0.1 s.
 */
export function canonicalJson(value: unknown): string {
  return [...canonicalPieces(value)].join('');
}

/** Canonical JSON in pieces, each at most little longer than this or than one of its strings. */
const PIECE_UNITS = 4_096;

/** The pieces of {@link canonicalJson}, for values that take long at once. */
export function* canonicalPieces(value: unknown): Generator<string, void> {
  if (!isComposite(value)) {
    yield textOf(value);
    return;
  }
  const isList = Array.isArray(value);
  let piece = isList ? '[' : '{';
  let comma = '';
  for (const [name, member] of isList ? value.entries() : membersOf(value)) {
    piece += isList ? comma : `${comma}${JSON.stringify(name)}:`;
    comma = ',';
    if (!isComposite(member)) piece += textOf(member);
    if (isComposite(member) || piece.length > PIECE_UNITS) {
      yield piece;
      piece = '';
    }
    if (isComposite(member)) yield* canonicalPieces(member);
  }
  yield `${piece}${isList ? ']' : '}'}`;
}

function isComposite(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The JSON of a value that is neither an object nor a list. */
function textOf(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

function* membersOf(value: object): Generator<[name: string, member: unknown], void> {
  const names = Object.keys(value);
  if (names.length <= MOST_SORTED) names.sort();
  for (const name of names) {
    const member: unknown = Reflect.get(value, name);
    if (member !== undefined) yield [name, member];
  }
}

/** Parses a JSON document that is given in UTF-8. */
export function parseBytes<T>(json: Buffer): T {
  return JSON.parse(json.toString('utf8'));
}

/** Parses JSON documents, yielding in between: parsing 140 leads of 205 KB, full of escapes, took 0.3 s in one turn. */
export function parseInTurns<T>(documents: readonly Buffer[]): Promise<T[]> {
  return eachInTurns(documents, async (json) => parseBytes<T>(json));
}

/** Parses a JSON array that is given in UTF-8 without its brackets. */
export function parseRows<T>({ buffer, byteOffset, byteLength }: Uint8Array): T[] {
  return JSON.parse(`[${Buffer.from(buffer, byteOffset, byteLength).toString('utf8')}]`);
}

/** Puts commas between rows, or between pieces of comma-separated rows. */
export function commaSeparated(rows: readonly Uint8Array[]): Uint8Array[] {
  return rows.flatMap((row, index) => (index === 0 ? [row] : [COMMA_BYTE, row]));
}

const COMMA_BYTE = Buffer.from(',');

/** The size of a JSON text, measured in one pass without creating objects. */
interface JsonMeasure {
  /** Nesting depth, counted up to one more than the limit. */
  depth: number;
  /** Total number of members of all objects. */
  members: number;
  /** Approximate total number of values: one too many for each empty list or object. */
  values: number;
}

/** Measures a text, down to a nesting depth of `most`, and up to about `mostValues` values. */
export function measureJson(text: string, most: number, mostValues = Number.POSITIVE_INFINITY): JsonMeasure {
  let [depth, deepest, members, commas, opened] = [0, 0, 0, 0, 0];
  for (let i = 0; i < text.length && deepest <= most && commas <= mostValues; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) i = endOfString(text, i);
    else if (char === COLON) members++;
    else if (char === COMMA) commas++;
    else if (char === OPEN_OBJECT || char === OPEN_LIST) {
      opened++;
      deepest = Math.max(deepest, ++depth);
    } else if (char === CLOSE_OBJECT || char === CLOSE_LIST) depth--;
  }
  return { depth: deepest, members, values: commas + opened };
}

/**
 * The index where the string that starts at `start` ends: its closing quote, or the end of the text. A string with escaped
 * quotes is read character by character: a search for each of 2,600,000 took 40 ms.
 */
export function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  if (quote === -1) return text.length;
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
  for (let at = start + 1; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === BACKSLASH) at++;
    else if (char === QUOTE) return at;
  }
  return text.length;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
