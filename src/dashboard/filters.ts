import type { z } from 'zod';
import { check } from '../http/faults.ts';
import { refusal } from '../http/json-body.ts';
import { fromIso } from '../lib/clock.ts';
import type { ListFilters } from '../model/filters.ts';
import { type Form, text } from './forms.ts';

/** The filters of a list by the query of its screen. Those that are not valid are left out, and named in `filterFaults`. */
export function filtersOf<Q extends z.ZodRawShape, F>(
  { query: schema, toFilters }: ListFilters<Q, F>,
  query: Form,
): { filters: F; filterFaults: string[] } {
  const named = Object.entries(query).filter(([name]) => Object.hasOwn(schema.shape, name));
  const given = new Map(
    named.map(([name, value]) => [name, typeof value === 'string' ? zoned(value) : value]),
  );
  const filterFaults: string[] = [];
  for (;;) {
    const checked = check(schema, Object.fromEntries(given), 'querystring');
    if (checked.ok) return { filters: toFilters(checked.value), filterFaults };
    const before = given.size;
    for (const { parameter = '', detail } of checked.faults) {
      // The first fault of each: a list has one for every value.
      if (given.delete(parameter)) filterFaults.push(detail);
    }
    if (given.size === before) throw refusal(checked, 'querystring');
  }
}

/** A moment of a filter, Unix milliseconds. Null where it is none. */
export function momentOf(query: Form, name: string): number | null {
  const given = text(query, name).trim();
  if (given === '') return null;
  const ms = fromIso(zoned(given));
  return Number.isNaN(ms) ? null : ms;
}

/** A browser's field sends a time without a zone, and often without seconds; it is taken as UTC. */
function zoned(given: string): string {
  const [, minute, seconds = ':00'] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?$/.exec(given.trim()) ?? [];
  return minute === undefined ? given : `${minute}${seconds}Z`;
}

/** The value of a filter that may be one of `allowed`; null where it is none of them. */
export function oneOf<T extends string>(query: Form, name: string, allowed: readonly T[]): T | null {
  const given = text(query, name);
  return allowed.find((item) => item === given) ?? null;
}

/** Whether a query has any filter. */
export function isFiltered(query: Form): boolean {
  return Object.keys(query).some((name) => !['cursor', 'done', 'sort'].includes(name));
}

/** What an address of a list says beside filters. */
export const NO_FILTERS: ReadonlySet<string> = new Set(['cursor', 'done', 'count', 'signal']);

/** The filters of an address, without its place in the list. */
export function kept(query: URLSearchParams): string {
  return new URLSearchParams(
    [...query].filter(([name, value]) => !NO_FILTERS.has(name) && value !== ''),
  ).toString();
}
