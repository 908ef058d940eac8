import { z } from 'zod';
import { readWordTable, wordsSchema } from '../lib/word-table.ts';
import type { IcpProfile } from '../model/icp.ts';
import { departmentOf, seniorityOf } from '../rules/job-title.ts';
import { tokenize } from './tokens.ts';

/** Result of comparing a known fact with a profile; `unknown` if the fact is too broad or not understood. */
export type FitVerdict = 'fits' | 'does_not_fit' | 'unknown';

/** The best result of several readings of a fact; unknown if there are none. */
function bestOf(verdicts: readonly FitVerdict[]): FitVerdict {
  if (verdicts.includes('fits')) return 'fits';
  return verdicts.length === 0 || verdicts.includes('unknown') ? 'unknown' : 'does_not_fit';
}

/** A range of employees, inclusive; a null `max` is open-ended. */
interface Headcount {
  min: number;
  max: number | null;
}

const NUMBER = /(\d{1,3}(?:[,.'\s\u00a0\u202f]\d{3})+|\d+(?:\.\d+)?)\s?(k|m)?\b(\s?\+)?/giu;

/** Reads "50", "51-200", "1,000+", "over 500", "1k–5k employees", "self-employed"; null without a number. */
export function readHeadcount(text: string): Headcount | null {
  const numbers = [...text.slice(0, 300).matchAll(NUMBER)].map(([, digits = '', unit = '', plus]) => ({
    value: toNumber(digits, unit.toLowerCase()),
    open: plus !== undefined,
  }));
  const [first, second] = numbers;
  if (first === undefined)
    return /\bself[- ]?employed\b|\bfreelance/iu.test(text) ? { min: 1, max: 1 } : null;
  if (first.open || /\b(?:over|more than|at least|above|from)\b|[>≥]/iu.test(text)) {
    return { min: first.value, max: null };
  }
  if (/\b(?:under|less than|fewer than|below|up to)\b|[<≤]/iu.test(text)) return { min: 1, max: first.value };
  const isRange = second !== undefined && /\d\s*[kKmM]?\s*(?:-|–|—|to|bis|\.\.)\s*\d/u.test(text);
  if (!isRange) return { min: first.value, max: first.value };
  // "1-5k": the unit at the end applies to both numbers.
  const min = first.value > second.value ? first.value : Math.min(first.value, second.value);
  return { min: Math.min(min, second.value), max: second.open ? null : second.value };
}

function toNumber(digits: string, unit: string): number {
  const plain = /^\d+\.\d{1,2}$/.test(digits) ? digits : digits.replace(/[^\d]/gu, '');
  return Math.round(Number(plain) * (unit === 'k' ? 1_000 : unit === 'm' ? 1_000_000 : 1));
}

function overlaps(a: Headcount, b: Headcount): boolean {
  return a.min <= (b.max ?? Number.POSITIVE_INFINITY) && b.min <= (a.max ?? Number.POSITIVE_INFINITY);
}

/** Department and rank in a job title; empty if not stated. */
interface Title {
  department: string;
  rank: string;
}

/** Ranks that decide for a whole company or for a department. Titles with the same scope are equivalent. */
const RANKS: Readonly<Record<string, string>> = {
  founder: 'company',
  owner: 'company',
  c_suite: 'department',
  vp: 'department',
  head: 'department',
  director: 'department',
};

export function readTitle(text: string): Title {
  const seniority = seniorityOf(text);
  const department = departmentOf(text);
  const rank = department === 'executive' ? 'company' : (RANKS[seniority] ?? seniority);
  return { department: rank === 'company' ? 'executive' : department, rank };
}

/**
 * Whether a title matches a wanted one: a VP of Sales matches "Head of Sales", any marketing title matches
 * "Marketing".
 */
export function compareTitles(fact: Title, wanted: Title): FitVerdict {
  if (wanted.department === '' && wanted.rank === '') return 'unknown';
  const parts = [compareParts(fact.department, wanted.department), compareParts(fact.rank, wanted.rank)];
  if (parts.includes('does_not_fit')) return 'does_not_fit';
  return parts.includes('unknown') ? 'unknown' : 'fits';
}

function compareParts(is: string, asked: string): FitVerdict {
  if (asked === '' || is === asked) return 'fits';
  return is === '' ? 'unknown' : 'does_not_fit';
}

/**
 * Sectors and their branches, with the names used in directories, in profiles and by people. A branch is
 * narrower than its sector: a dentist is in health care, but health care may or may not mean dentists.
 */
const SECTORS = readWordTable(
  'industries',
  z.record(z.string(), z.strictObject({ names: wordsSchema, branches: z.array(z.string().min(1)) })),
);

/** The meanings of the name of an industry: a sector, or one of its branches. A name can have several. */
type Industry = readonly { sector: string /** Null: the sector itself. */; branch: string | null }[];

const LONGEST_INDUSTRY = 5;
const INDUSTRIES = createIndustries();

/** The industry that a text names; empty if it names none that is known. */
export function readIndustry(text: string): Industry {
  const key = industryKey(text);
  return INDUSTRIES.get(key) ?? longestNamed(key.split(' '));
}

/** Whether an industry matches a wanted one: SaaS is software, but software may or may not be fintech. */
export function compareIndustries(fact: Industry, wanted: Industry): FitVerdict {
  return bestOf(fact.flatMap((is) => wanted.map((asked) => compareOne(is, asked))));
}

function createIndustries(): ReadonlyMap<string, Industry> {
  const names = new Map<string, Industry>();
  const add = (key: string, sector: string, branch: string | null) =>
    names.set(key, [...(names.get(key) ?? []), { sector, branch }]);
  for (const [sector, all] of Object.entries(SECTORS)) {
    for (const name of all.names) add(industryKey(name), sector, null);
    for (const name of all.branches) add(industryKey(name), sector, industryKey(name));
  }
  return names;
}

/** The longest names in a longer text, if they have the same length: "Plumbing and heating" is both. */
function longestNamed(words: readonly string[]): Industry {
  for (let length = Math.min(LONGEST_INDUSTRY, words.length); length > 0; length--) {
    const found = words.flatMap((_, at) => INDUSTRIES.get(words.slice(at, at + length).join(' ')) ?? []);
    if (found.length > 0) return found;
  }
  return [];
}

function compareOne(fact: Industry[number], wanted: Industry[number]): FitVerdict {
  if (fact.sector !== wanted.sector) return 'does_not_fit';
  if (wanted.branch === null || wanted.branch === fact.branch) return 'fits';
  return fact.branch === null ? 'unknown' : 'does_not_fit';
}

function industryKey(name: string): string {
  return tokenize(name.replaceAll('&', ' and ')).stems.join(' ');
}

/** Codes of countries (`US`) and of subdivisions (`US-TX`). */
type Codes = ReadonlySet<string>;

/** The meanings of a place name, each as what it covers. */
export type Area = readonly Codes[];

interface AreaNames {
  /** Whole names, folded and singular. */
  words: ReadonlyMap<string, Area>;
  /** Codes, which only match in upper case: "in" is not India. */
  codes: ReadonlyMap<string, Area>;
}

const namesSchema = z.record(z.string(), wordsSchema);
/**
 * Subdivisions and large cities by ISO 3166-2 code, with their names and short forms (if two cities share a
 * name, the usual one), and business regions with their countries. Countries are not included: the runtime's
 * CLDR data has them.
 */
const TABLE = readWordTable(
  'places',
  z.strictObject({ parts: namesSchema, cities: namesSchema, regions: namesSchema }),
);

const LONGEST_AREA = 4;
/** Languages of country names. */
const LANGUAGES = ['en', 'de'];
const AREAS = createAreas();

/**
 * The location that a text names: `Austin, Texas`, `Bavaria`, `EMEA`, `USA`; empty if it names none that is
 * known.
 */
export function readPlace(text: string): Area {
  const plain = text.replaceAll(/\b([A-Za-z])\.(?=[A-Za-z]\b)/g, '$1'); // U.S. is US
  const { text: whole, stems, starts, ends } = tokenize(plain);
  const found: Area[] = [];
  for (let at = 0; at < stems.length; ) {
    const length = longestAt(AREAS.words, stems, at);
    const known =
      length > 0
        ? AREAS.words.get(stems.slice(at, at + length).join(' '))
        : AREAS.codes.get(whole.slice(starts[at], ends[at]));
    if (known !== undefined) found.push(known);
    at += Math.max(1, length);
  }
  return agreeing(found);
}

/** Whether `fact` lies in `wanted`: Austin lies in the US; whether the US lies in Texas is unknown. */
export function comparePlaces(fact: Area, wanted: Area): FitVerdict {
  return bestOf(fact.flatMap((place) => wanted.map((area) => compareCodes(place, area))));
}

/**
 * Country names come from the runtime's CLDR data, which Node includes in full: no package is needed, and any
 * language works.
 */
function createAreas(): AreaNames {
  const words = new Map<string, Codes[]>();
  const codes = new Map<string, Codes[]>();
  const add = (name: string, covered: readonly string[]) => {
    const isCode = /^[A-Z]{2,3}$/.test(name);
    const [index, key] = isCode ? [codes, name] : [words, areaKey(name)];
    index.set(key, [...(index.get(key) ?? []), new Set(covered)]);
  };
  for (const [code, names] of countries()) {
    for (const name of new Set([code, ...names])) add(name, [code]);
  }
  add('UK', ['GB']);
  for (const [code, all] of [...Object.entries(TABLE.parts), ...Object.entries(TABLE.cities)]) {
    for (const name of all) add(name, [code]);
  }
  for (const [name, covered] of Object.entries(TABLE.regions)) add(name, covered);
  return { words, codes };
}

function longestAt(names: ReadonlyMap<string, unknown>, stems: readonly string[], at: number): number {
  for (let length = Math.min(LONGEST_AREA, stems.length - at); length > 0; length--) {
    if (names.has(stems.slice(at, at + length).join(' '))) return length;
  }
  return 0;
}

/**
 * Resolves the parts of an address together, from narrow to wide: in "Atlanta, Georgia", Georgia is not the
 * country, and Paris in "Paris, Texas" is not the one in France. Two countries are a list.
 */
function agreeing(parts: readonly Area[]): Area {
  let agreed: Area = [];
  for (const part of new Set(parts)) {
    const joined = agreed.flatMap((before) => part.map((codes) => meet(before, codes)));
    const possible = distinct(joined.filter((codes) => codes.size > 0));
    const all = new Set([...agreed, ...part].flatMap((codes) => [...codes]));
    const isList = agreed.length > 0 && [...all].every((code) => code.length === COUNTRY_LENGTH);
    if (possible.length > 0) agreed = possible.slice(0, MOST_MEANINGS);
    else agreed = isList ? [all] : part;
  }
  return agreed;
}

const COUNTRY_LENGTH = 2;
/**
 * Meanings that are kept of several names. "Singapore" is a country and a city in it: each repetition doubled them, and
 * thirty took all memory.
 */
const MOST_MEANINGS = 8;

function distinct(area: Area): Area {
  return [...new Map(area.map((codes) => [[...codes].sort().join(' '), codes])).values()];
}

/** The intersection; of nested codes, the narrower ones. */
function meet(a: Codes, b: Codes): Codes {
  return new Set([...[...a].filter((code) => lies(code, b)), ...[...b].filter((code) => lies(code, a))]);
}

/** Whether a code, or its country, is one of `codes`. */
function lies(code: string, codes: Codes): boolean {
  return codes.has(code) || (code.length > COUNTRY_LENGTH && codes.has(code.slice(0, COUNTRY_LENGTH)));
}

function compareCodes(place: Codes, area: Codes): FitVerdict {
  const inside = [...place].filter((code) => lies(code, area)).length;
  if (inside === place.size) return 'fits';
  return inside > 0 || [...area].some((code) => lies(code, place)) ? 'unknown' : 'does_not_fit';
}

/** Country codes with their names, without historical codes and codes that only the runtime uses. */
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

function areaKey(name: string): string {
  return tokenize(name).stems.join(' ');
}

const FIT_KEYS = ['title', 'industry', 'headcount', 'location'] as const;
export type FitKey = (typeof FIT_KEYS)[number];

/** Facts about the author and their company; an empty string is unknown. */
export interface FitFacts {
  title: string;
  companyName: string;
  industry: string;
  headcount: string;
  location: string;
}

/** The criteria of a profile for author and company, prepared once per version. */
export interface CompiledFit {
  /** The criteria that the profile sets. */
  questions: { key: FitKey; asks: (fact: ReadFact) => FitVerdict }[];
  /** Competitors, by {@link companyKey}. */
  vendors: ReadonlySet<string>;
}

/** The facts of a post, parsed once for all profiles. */
export type ReadFacts = Record<FitKey, ReadFact> & {
  vendorKey: string;
  companyName: string;
  /** Whether anything is known about the company. */
  isKnown: boolean;
};

interface ReadFact {
  field: string;
  /** As given; empty if unknown. */
  text: string;
  words: string;
  title: ReturnType<typeof readTitle>;
  industry: ReturnType<typeof readIndustry>;
  headcount: ReturnType<typeof readHeadcount>;
  place: ReturnType<typeof readPlace>;
}

/** The result of one of the profile's criteria. */
export interface FitAnswer {
  key: FitKey;
  verdict: FitVerdict;
  field: string;
  /** The fact that it was compared with; empty if unknown. */
  fact: string;
}

/**
 * Characters of criteria that are read between two yields. Twenty thousand took 20 to 60 ms, if each stands for four words or separates
 * two.
 */
const UNITS_AT_ONCE = 3_000;

/** Characters read since the last yield: those of short profiles add up. */
export interface ReadSoFar {
  units: number;
}

/** Reads the criteria of a profile. Yields between chunks. */
export function* compileFit(
  profile: IcpProfile,
  read: ReadSoFar = { units: 0 },
): Generator<void, CompiledFit> {
  const { titles, industries, locations, headcountRanges } = profile;
  const termOf = <T>(readTerm: (term: string) => T) => {
    return (term: string): Term<T> => ({ words: wordsOf(term), meant: readTerm(term) });
  };
  const wantedTitles = yield* readEach(titles, termOf(readTitle), read);
  const wantedIndustries = yield* readEach(industries, termOf(readIndustry), read);
  const wantedPlaces = yield* readEach(locations, termOf(readPlace), read);
  const vendors = yield* readEach(profile.competitors, companyKey, read);
  const questions: CompiledFit['questions'] = [
    { key: 'title', asks: anyOf(wantedTitles, (fact, wanted) => compareTitles(fact.title, wanted)) },
    {
      key: 'industry',
      asks: anyOf(wantedIndustries, (fact, wanted) => compareIndustries(fact.industry, wanted)),
    },
    {
      key: 'headcount',
      asks: ({ headcount }) => {
        if (headcount === null) return 'unknown';
        return headcountRanges.some((range) => overlaps(headcount, range)) ? 'fits' : 'does_not_fit';
      },
    },
    {
      key: 'location',
      asks: anyOf(wantedPlaces, (fact, wanted) => comparePlaces(fact.place, wanted)),
    },
  ];
  const asked = { title: titles, industry: industries, headcount: headcountRanges, location: locations };
  return {
    questions: questions.filter(({ key }) => asked[key].length > 0),
    vendors: new Set(vendors),
  };
}

function* readEach<T>(
  texts: readonly string[],
  readOne: (text: string) => T,
  read: ReadSoFar,
): Generator<void, T[]> {
  const results: T[] = [];
  for (const text of texts) {
    results.push(readOne(text));
    read.units += text.length;
    if (read.units < UNITS_AT_ONCE) continue;
    read.units = 0;
    yield;
  }
  return results;
}

interface Term<T> {
  words: string;
  meant: T;
}

/** A criterion that any of `wanted` satisfies: the fact contains its words, or means the same kind. */
function anyOf<T>(
  wanted: readonly Term<T>[],
  compare: (fact: ReadFact, wanted: T) => FitVerdict,
): (fact: ReadFact) => FitVerdict {
  return (fact) => {
    const verdicts = new Set<FitVerdict>();
    for (const { words, meant } of wanted) {
      const verdict = fact.words.includes(words) ? 'fits' : compare(fact, meant);
      if (verdict === 'fits') return verdict;
      verdicts.add(verdict);
    }
    return bestOf([...verdicts]);
  };
}

export function readFacts({ title, companyName, industry, headcount, location }: FitFacts): ReadFacts {
  return {
    title: readFact('prospect.title', title),
    industry: readFact('company.industry', industry),
    headcount: readFact('company.headcount', headcount),
    location: readFact('company.location', location),
    companyName,
    vendorKey: companyKey(companyName),
    isKnown: industry !== '' || headcount !== '' || location !== '',
  };
}

function readFact(field: string, text: string): ReadFact {
  return { field, ...(text === '' ? NOTHING : readText(text)) };
}

function readText(text: string): Omit<ReadFact, 'field'> {
  return {
    text,
    words: wordsOf(text),
    title: readTitle(text),
    industry: readIndustry(text),
    headcount: readHeadcount(text),
    place: readPlace(text),
  };
}

/** Parsed once: for most posts, nothing is known about author and company. */
const NOTHING = readText('');

/** Compares the facts with each criterion of the profile. Unknown facts count neither for nor against. */
export function fitAnswers(facts: ReadFacts, { questions }: CompiledFit): FitAnswer[] {
  return questions.map(({ key, asks }) => {
    const fact = facts[key];
    const { field, text } = fact;
    return { key, verdict: text === '' ? 'unknown' : asks(fact), field, fact: text };
  });
}

/** Share of the criteria with a known result, from 0 to 1; 1 if there are no criteria. */
export function coverageOf(answers: readonly FitAnswer[]): number {
  if (answers.length === 0) return 1;
  const known = answers.filter(({ verdict }) => verdict !== 'unknown').length;
  return Math.round((known / answers.length) * 100) / 100;
}

/** Whether the author works for a competitor: then they are not a buyer, whatever they write. */
export function isVendorStaff({ vendorKey }: ReadFacts, { vendors }: CompiledFit): boolean {
  return vendorKey !== '' && vendors.has(vendorKey);
}

/** The name of a company without its legal form: `Acme, Inc.` is Acme. */
function companyKey(name: string): string {
  const words = tokenize(name).stems;
  while (words.length > 1 && LEGAL_FORMS.has(words.at(-1) ?? '')) words.pop();
  return words.join(' ');
}

const LEGAL_FORMS = new Set(
  'inc incorporated llc ltd limited corp corporation co company gmbh ag se sa sarl bv nv plc pty oy ab as'.split(
    ' ',
  ),
);

function wordsOf(text: string): string {
  return ` ${tokenize(text).stems.join(' ')} `;
}
