import { fromIso } from '../lib/clock.ts';
import { type Form, text } from './forms.ts';

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
