/** What JSON can hold; members that are undefined are left out of it. */
export type Json =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Json[]
  | { readonly [name: string]: Json };

/** JSON text that is the same for equal values: members in the order of their names, no space. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, item]) => [name, sorted(item)]));
}

/** The values of a list that is given in UTF-8 without its brackets. */
export function parseRows<T>({ buffer, byteOffset, byteLength }: Uint8Array): T[] {
  return JSON.parse(`[${Buffer.from(buffer, byteOffset, byteLength).toString('utf8')}]`);
}

/** What a JSON text holds, counted in one pass and without making objects of it. */
interface JsonMeasure {
  /** How deep it is nested, counted up to the limit and one more. */
  depth: number;
  /** Members of all its objects together. */
  members: number;
  /** Values of all its lists and objects together, about: one more for each list or object that is empty. */
  values: number;
}

/** Measures a text as far as it is nested no deeper than `most`. */
export function measureJson(text: string, most: number): JsonMeasure {
  let [depth, deepest, members, commas, opened] = [0, 0, 0, 0, 0];
  for (let i = 0; i < text.length && deepest <= most; i++) {
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

/** Where the string that begins at `start` ends: at its closing quote, or with the text. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
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
