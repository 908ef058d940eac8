import { z } from 'zod';
import { readWordTable, wordsSchema } from '../../lib/word-table.ts';
import { tokenize } from '../tokens.ts';
import { bestOf, type Verdict } from './facts.ts';

/** The ways to understand a place, each as the codes of countries (`US`) or their parts (`US-TX`) that it covers. */
export type Place = readonly (readonly string[])[];

interface Names {
  /** Whole names, folded and in the singular. */
  words: ReadonlyMap<string, Place>;
  /** Codes, which count in capitals only: "in" is not India. */
  codes: ReadonlyMap<string, Place>;
}

const namesSchema = z.record(z.string(), wordsSchema);
/**
 * Parts of countries and large cities by ISO 3166-2 code, with their names and short forms (of two cities with one name, the
 * usual one), and business regions with their countries. Countries are not among them: the runtime's CLDR data has them.
 */
const TABLE = readWordTable(
  'places',
  z.strictObject({ parts: namesSchema, cities: namesSchema, regions: namesSchema }),
);

const LONGEST_NAME = 4;
/** Languages in which countries are known by name. */
const LANGUAGES = ['en', 'de'];
const NAMES = createNames();

/** Where a text places somebody: `Austin, Texas`, `Bavaria`, `EMEA`, `USA`; empty where it names no place that is known. */
export function readPlace(text: string): Place {
  const plain = text.replaceAll(/\b([A-Za-z])\.(?=[A-Za-z]\b)/g, '$1'); // U.S. is US
  const { text: whole, stems, starts, ends } = tokenize(plain);
  const found: Place[] = [];
  for (let at = 0; at < stems.length; ) {
    const length = longestAt(NAMES.words, stems, at);
    const known =
      length > 0
        ? NAMES.words.get(stems.slice(at, at + length).join(' '))
        : NAMES.codes.get(whole.slice(starts[at], ends[at]));
    if (known !== undefined) found.push(known);
    at += Math.max(1, length);
  }
  return agreeing(found);
}

/** Whether `fact` lies in `wanted`: Austin in the US does, the US in Texas cannot be told. */
export function comparePlaces(fact: Place, wanted: Place): Verdict {
  return bestOf(fact.flatMap((place) => wanted.map((area) => compareCodes(place, area))));
}

/** Countries' names are the runtime's own (CLDR), which Node carries whole: no package, and any language. */
function createNames(): Names {
  const words = new Map<string, string[][]>();
  const codes = new Map<string, string[][]>();
  const add = (name: string, covered: string[]) => {
    const isCode = /^[A-Z]{2,3}$/.test(name);
    const [index, key] = isCode ? [codes, name] : [words, keyOf(name)];
    index.set(key, [...(index.get(key) ?? []), covered]);
  };
  for (const [code, names] of countries()) {
    for (const name of new Set([code, ...names])) add(name, [code]);
  }
  add('UK', ['GB']);
  for (const [code, all] of [...Object.entries(TABLE.parts), ...Object.entries(TABLE.cities)]) {
    for (const name of all) add(name, [code]);
  }
  for (const [name, covered] of Object.entries(TABLE.regions)) add(name, [...covered]);
  return { words, codes };
}

function longestAt(names: ReadonlyMap<string, unknown>, stems: readonly string[], at: number): number {
  for (let length = Math.min(LONGEST_NAME, stems.length - at); length > 0; length--) {
    if (names.has(stems.slice(at, at + length).join(' '))) return length;
  }
  return 0;
}

/**
 * What the parts of an address agree on: in "Atlanta, Georgia" Georgia is no country, and Paris in "Paris, Texas" is not
 * the one in France: what stands later is wider. Two countries are a list of both.
 */
function agreeing(parts: readonly Place[]): Place {
  let agreed: Place = [];
  for (const part of parts) {
    const joined = agreed.flatMap((before) => part.map((codes) => meet(before, codes)));
    const possible = joined.filter((codes) => codes.length > 0);
    const isList = [...agreed, ...part].every((codes) => codes.every((code) => code.length === 2));
    if (possible.length > 0) agreed = possible;
    else agreed = isList && agreed.length > 0 ? [[...agreed.flat(), ...part.flat()]] : part;
  }
  return agreed;
}

/** What lies in both, by the narrower of the two codes. */
function meet(a: readonly string[], b: readonly string[]): string[] {
  return a.flatMap((one) =>
    b
      .filter((other) => lies(other, one) || lies(one, other))
      .map((other) => (one.length > other.length ? one : other)),
  );
}

/** Whether `code` lies in `area`. */
function lies(code: string, area: string): boolean {
  return code === area || code.startsWith(`${area}-`);
}

function compareCodes(place: readonly string[], area: readonly string[]): Verdict {
  if (place.every((code) => area.some((each) => lies(code, each)))) return 'fits';
  const touches = place.some((code) => area.some((each) => lies(code, each) || lies(each, code)));
  return touches ? 'unknown' : 'does_not_fit';
}

/** Codes of countries with their names. Codes of the past and of the runtime's own use are none. */
function countries(): [code: string, names: string[]][] {
  const letters = Array.from({ length: 26 }, (_, i) => String.fromCharCode(65 + i));
  const named = LANGUAGES.map(
    (language) => new Intl.DisplayNames([language], { type: 'region', fallback: 'none' }),
  );
  return letters
    .flatMap((first) => letters.map((second) => first + second))
    .filter(
      (code) => new Intl.Locale(`und-${code}`).region === code && !/^(?:EU|EZ|UN|QO|X[AB]|ZZ)$/.test(code),
    )
    .map((code) => [code, named.flatMap((names) => names.of(code)?.split(/ \(|\)/)[0] ?? [])]);
}

function keyOf(name: string): string {
  return tokenize(name).stems.join(' ');
}
