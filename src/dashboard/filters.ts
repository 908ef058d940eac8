import { fromIso } from '../lib/clock.ts';
import { type Form, text, texts } from './forms.ts';

const MOST_VALUES = 50;

/** A moment of a filter, Unix milliseconds: what a browser's field sends is taken as UTC. Null where it is none. */
export function momentOf(query: Form, name: string): number | null {
  const given = text(query, name).trim();
  if (given === '') return null;
  const zoned = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(given) ? `${given}Z` : given;
  const ms = fromIso(zoned);
  return Number.isNaN(ms) ? null : ms;
}

/** The value of a filter that may be one of `allowed`; null where it is none of them. */
export function oneOf<T extends string>(query: Form, name: string, allowed: readonly T[]): T | null {
  const given = text(query, name);
  return allowed.find((item) => item === given) ?? null;
}

/** The values of a filter that may be given several times, as a comma list, or both. */
export function manyOf(query: Form, name: string): string[] {
  const given = texts(query, name).flatMap((value) => value.split(','));
  const values = given.map((value) => value.trim()).filter((value) => value !== '');
  return values.slice(0, MOST_VALUES);
}

/** Those of `allowed` that a filter names. */
export function someOf<T extends string>(query: Form, name: string, allowed: readonly T[]): T[] {
  const given = new Set(manyOf(query, name));
  return allowed.filter((value) => given.has(value));
}

/** The least score that is asked for; null where none is, or what is no score. */
export function scoreOf(query: Form): number | null {
  const given = text(query, 'min_score').trim();
  return /^(?:100|\d{1,2})$/.test(given) ? Number(given) : null;
}

/** Whether an address asks for less than everything. */
export function isFiltered(query: Form): boolean {
  return Object.keys(query).some((name) => !['cursor', 'done', 'sort'].includes(name));
}
