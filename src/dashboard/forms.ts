import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { check } from '../http/faults.ts';
import { refusal } from '../http/json-body.ts';
import { fromIso } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { ListFilters } from '../model/filters.ts';
import { labelOf } from './screens.ts';

/** A form as it was sent: one text or several for each name. */
export type Form = Record<string, string | string[]>;

/** The largest form, where its route does not say otherwise; it is refused before it is parsed or its token is looked at. */
export const FORM_BYTES = 16 * 1024;
/** For routes whose form has text areas: lists of 200 terms in a script that takes nine bytes a letter, once it is encoded. */
export const LARGE_FORM = { bodyLimit: 512 * 1024 } as const;

/** The most values of a field, and the most lines of a text area, that are looked at; more than any schema allows. */
const MOST_VALUES = 200;
const MOST_LINES = 1_000;

/** The form of a POST. Fields hold text alone: no NUL and no half of a surrogate pair reaches a store. */
export function formOf(request: FastifyRequest): Form {
  const body = request.body;
  if (typeof body !== 'object' || body === null) return {};
  // Without a prototype: a field called `__proto__` must not lend the form the members of a list.
  const form: Form = Object.create(null);
  for (const [name, value] of Object.entries(body)) {
    if (typeof value === 'string') form[name] = clean(value);
    else if (Array.isArray(value))
      form[name] = value
        .slice(0, MOST_VALUES)
        .filter((item) => typeof item === 'string')
        .map(clean);
  }
  return form;
}

/** The first text of a field; empty where it was not sent. */
export function text(form: Form, name: string): string {
  const value = form[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

/** All texts of a field that are not empty. */
export function texts(form: Form, name: string): string[] {
  const value = form[name] ?? [];
  return (Array.isArray(value) ? value : [value]).filter((item) => item !== '');
}

/** Whether a box was ticked. */
export function ticked(form: Form, name: string): boolean {
  return text(form, name) !== '';
}

/** The lines of a text area that are not empty, and of the ticked boxes of the same name. */
export function lines(form: Form, name: string): string[] {
  return texts(form, name)
    .flatMap((value) => value.split(/\r?\n/))
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(0, MOST_LINES);
}

/** A whole number; what is none stays text, for the schema to refuse. Null where the field is empty. */
export function number(form: Form, name: string): number | string | null {
  const value = text(form, name).trim();
  if (value === '') return null;
  return /^-?\d{1,9}$/.test(value) ? Number(value) : value;
}

/** The query of a screen as a form; a filter that is empty is none. */
export function queryOf(request: FastifyRequest): Form {
  const form = formOf({ body: request.query } as FastifyRequest);
  return Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ''));
}

/** What is wrong with a form by its fields, and with the whole of it under `''`. */
export type FormFaults = Record<string, string>;

/** The faults of a refusal that a form can show; anything else is thrown on. */
export function faultsOf(error: unknown): FormFaults {
  if (!(error instanceof DomainError)) throw error;
  if (error.code === 'NOT_FOUND' && error.extra.errors === undefined) throw error;
  const faults: FormFaults = {};
  for (const { pointer = '', detail } of error.extra.errors ?? []) {
    const [, field = ''] = pointer.split('/');
    faults[field] ??= plainly(detail);
  }
  if (Object.keys(faults).length === 0) {
    faults[''] = error.message + (error.extra.hint === undefined ? '' : ` ${error.extra.hint}`);
  }
  return faults;
}

/** `"rate_limit" must be at least 1.` as a person says it; the names are those of the API's members. */
function plainly(detail: string): string {
  return detail
    .replace(/^"([a-z_]+)"/, (_, name: string) => labelOf(name))
    .replace(/must have at least 1 character\.$/, 'must not be empty.');
}

function clean(value: string): string {
  return value.toWellFormed().replaceAll('\0', '');
}

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

/** A member that people name themselves, as a text area has it: one a line, `key = value`. */
type Value = string | number | boolean;

/** The lines of a record. */
export function linesOfMembers(record: Readonly<Record<string, Value>>): string {
  return Object.entries(record)
    .map(([key, value]) => {
      const isText = typeof value === 'string' && isPlain(value);
      return `${key} = ${isText ? value : JSON.stringify(value)}`;
    })
    .join('\n');
}

/** Parses `key = value`. Numbers, `true` and `false` keep their type; everything else, and anything in quotes, is text. */
export function memberOfLine(line: string): [string, Value] {
  const at = line.indexOf('=');
  if (at === -1) return [line, ''];
  const key = line.slice(0, at).trim();
  const value = line.slice(at + 1).trim();
  if (value === 'true' || value === 'false') return [key, value === 'true'];
  if (/^-?\d{1,15}(\.\d{1,9})?$/.test(value)) return [key, Number(value)];
  return [key, unquoted(value)];
}

/** Whether a text is read back as itself without quotes. */
function isPlain(value: string): boolean {
  return value !== '' && memberOfLine(`k=${value}`)[1] === value && !/[\r\n]/.test(value);
}

function unquoted(value: string): string {
  if (!/^".*"$/.test(value)) return value;
  try {
    return String(JSON.parse(value));
  } catch {
    return value.slice(1, -1);
  }
}
