import { z } from 'zod';
import { readWordTable, wordsSchema } from '../../lib/word-table.ts';
import { departmentOf, seniorityOf } from '../../rules/job-title.ts';
import { tokenize } from '../tokens.ts';

/** How a known fact compares with what a profile wants; `unknown`: it is too broad, or not understood. */
export type Verdict = 'fits' | 'does_not_fit' | 'unknown';

/** The best of several readings of a fact; without any, unknown. */
export function bestOf(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('fits')) return 'fits';
  return verdicts.length === 0 || verdicts.includes('unknown') ? 'unknown' : 'does_not_fit';
}

/** A range of people, inclusive; `max` null: open. */
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
  // "1-5k": the unit of the end is that of both.
  const min = first.value > second.value ? first.value : Math.min(first.value, second.value);
  return { min: Math.min(min, second.value), max: second.open ? null : second.value };
}

function toNumber(digits: string, unit: string): number {
  const plain = /^\d+\.\d{1,2}$/.test(digits) ? digits : digits.replace(/[^\d]/gu, '');
  return Math.round(Number(plain) * (unit === 'k' ? 1_000 : unit === 'm' ? 1_000_000 : 1));
}

export function overlaps(a: Headcount, b: Headcount): boolean {
  return a.min <= (b.max ?? Number.POSITIVE_INFINITY) && b.min <= (a.max ?? Number.POSITIVE_INFINITY);
}

/** What a job title says: department and rank. Empty: not stated. */
interface Title {
  department: string;
  rank: string;
}

/** Ranks that decide for a company or for a department; titles of the same scope are equivalent. */
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

/** Whether a title is of the wanted kind: a VP of Sales for "Head of Sales", any title in marketing for "Marketing". */
export function compareTitles(fact: Title, wanted: Title): Verdict {
  if (wanted.department === '' && wanted.rank === '') return 'unknown';
  const parts = [compareParts(fact.department, wanted.department), compareParts(fact.rank, wanted.rank)];
  if (parts.includes('does_not_fit')) return 'does_not_fit';
  return parts.includes('unknown') ? 'unknown' : 'fits';
}

function compareParts(is: string, asked: string): Verdict {
  if (asked === '' || is === asked) return 'fits';
  return is === '' ? 'unknown' : 'does_not_fit';
}

/**
 * Sectors with the names that directories, profiles and people give them and their branches. A branch is narrower: a
 * dentist is in health care; health care may or may not be a dentist.
 */
const SECTORS = readWordTable(
  'industries',
  z.record(z.string(), z.strictObject({ names: wordsSchema, branches: z.array(z.string().min(1)) })),
);

/** An industry as it is named: a sector, or a branch of it. One name can be several. */
type Industry = readonly { sector: string /** Null: the sector itself. */; branch: string | null }[];

const LONGEST_NAME = 5;
const NAMES = createNames();

/** The industry that a text names; empty where it names none that is known. */
export function readIndustry(text: string): Industry {
  const key = keyOf(text);
  return NAMES.get(key) ?? longestNamed(key.split(' '));
}

/** Whether an industry is the wanted one: SaaS is software, but software may or may not be fintech. */
export function compareIndustries(fact: Industry, wanted: Industry): Verdict {
  return bestOf(fact.flatMap((is) => wanted.map((asked) => compareOne(is, asked))));
}

function createNames(): ReadonlyMap<string, Industry> {
  const names = new Map<string, Industry>();
  const add = (key: string, sector: string, branch: string | null) =>
    names.set(key, [...(names.get(key) ?? []), { sector, branch }]);
  for (const [sector, all] of Object.entries(SECTORS)) {
    for (const name of all.names) add(keyOf(name), sector, null);
    for (const name of all.branches) add(keyOf(name), sector, keyOf(name));
  }
  return names;
}

/** Of a longer text the longest names in it, as long as each other: "Plumbing and heating" is both. */
function longestNamed(words: readonly string[]): Industry {
  for (let length = Math.min(LONGEST_NAME, words.length); length > 0; length--) {
    const found = words.flatMap((_, at) => NAMES.get(words.slice(at, at + length).join(' ')) ?? []);
    if (found.length > 0) return found;
  }
  return [];
}

function compareOne(fact: Industry[number], wanted: Industry[number]): Verdict {
  if (fact.sector !== wanted.sector) return 'does_not_fit';
  if (wanted.branch === null || wanted.branch === fact.branch) return 'fits';
  return fact.branch === null ? 'unknown' : 'does_not_fit';
}

function keyOf(name: string): string {
  return tokenize(name.replaceAll('&', ' and ')).stems.join(' ');
}
