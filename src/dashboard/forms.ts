import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { check } from '../http/faults.ts';
import { refusal } from '../http/json-body.ts';
import { fromIso } from '../lib/clock.ts';
import { percentDecoded } from '../lib/text.ts';
import { DomainError } from '../model/errors.ts';
import type { ListFilters } from '../model/filters.ts';
import { labelOf } from './screens.ts';

/** A submitted form: one or several texts per name. */
export type Form = Record<string, string | string[]>;

/**
 * The maximum size of a form unless its route sets another; larger ones are refused before parsing and before the
 * CSRF check.
 */
export const FORM_BYTES = 16 * 1024;
/**
 * For routes whose forms have text areas: lists of 200 terms in a script that takes nine bytes per letter when
 * URL-encoded.
 */
export const LARGE_FORM = { bodyLimit: 512 * 1024 } as const;

/** More fields than any form has; others are not read. */
const MOST_FIELDS = 2_000;
/** The maximum number of values of a field, and lines of a text area, that are read; more than any schema allows. */
const MOST_VALUES = 200;
const MOST_LINES = 1_000;

/**
 * Parses a form as browsers send it (URL Standard, section 5.1), with lists for names that occur several times. `node:querystring` turns each
 * plus sign into a piece of its own: 262,000 took up to 0.24 s.
 */
export function parseForm(body: string): Form {
  const form: Form = Object.create(null);
  let fields = 0;
  for (let at = 0; at < body.length && fields < MOST_FIELDS; ) {
    const next = body.indexOf('&', at);
    const end = next === -1 ? body.length : next;
    if (end > at) {
      const field = body.slice(at, end);
      const equals = field.includes('=') ? field.indexOf('=') : field.length;
      const name = decoded(field.slice(0, equals));
      const value = decoded(field.slice(equals + 1));
      const others = form[name];
      if (others === undefined) form[name] = value;
      else if (typeof others === 'string') form[name] = [others, value];
      else others.push(value);
      fields++;
    }
    at = end + 1;
  }
  return form;
}

const decoded = (text: string) => percentDecoded(text, { isForm: true });

/**
 * Maximum number of characters of all values together; twice as many as fit into 512 KiB in a script that takes nine bytes per letter. A form
 * is shown again with its values if one is wrong, and 500,000 quotes took 0.3 s.
 */
const MOST_CHARS = 131_072;

/**
 * The form of a POST. NUL characters and lone surrogates never reach the store.
 * @throws DomainError `PAYLOAD_TOO_LARGE`
 */
export function formOf(request: FastifyRequest): Form {
  const body = request.body;
  if (typeof body !== 'object' || body === null) return {};
  // No prototype: a field named `__proto__` must not give the form the members of an array.
  const form: Form = Object.create(null);
  let chars = 0;
  const cleaned = (value: string): string => {
    chars += value.length;
    if (chars > MOST_CHARS) throw tooLong();
    return clean(value);
  };
  for (const [name, value] of Object.entries(body)) {
    if (typeof value === 'string') form[name] = cleaned(value);
    else if (Array.isArray(value))
      form[name] = value
        .slice(0, MOST_VALUES)
        .filter((item) => typeof item === 'string')
        .map(cleaned);
  }
  return form;
}

function tooLong(): DomainError {
  const detail = `The form contains more than ${MOST_CHARS.toLocaleString('en')} characters. Nothing was changed.`;
  return new DomainError('PAYLOAD_TOO_LARGE', detail, { hint: 'Shorten its texts, then send it again.' });
}

/** The first value of a field; empty if it was not sent. */
export function text(form: Form, name: string): string {
  const value = form[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

/** All non-empty values of a field. */
export function texts(form: Form, name: string): string[] {
  const value = form[name] ?? [];
  return (Array.isArray(value) ? value : [value]).filter((item) => item !== '');
}

/** Whether a checkbox was checked. */
export function ticked(form: Form, name: string): boolean {
  return text(form, name) !== '';
}

/** The non-empty lines of a text area, and of the checked boxes with the same name. */
export function lines(form: Form, name: string): string[] {
  return texts(form, name)
    .flatMap((value) => value.split('\n'))
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(0, MOST_LINES);
}

/** A whole number; other input is returned as text, for the schema to reject. Null if the field is empty. */
export function number(form: Form, name: string): number | string | null {
  const value = text(form, name).trim();
  if (value === '') return null;
  return /^-?\d{1,9}$/.test(value) ? Number(value) : value;
}

/** A screen's query as a form; empty filters are dropped. */
export function queryOf(request: FastifyRequest): Form {
  const form = formOf({ body: request.query } as FastifyRequest);
  return Object.fromEntries(Object.entries(form).filter(([, value]) => value !== ''));
}

/** The faults of a form by field, with those of the form as a whole under `''`. */
export type FormFaults = Record<string, string>;

/** The faults of a domain error that a form can show; rethrows any other error. */
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

/** Rephrases `"rate_limit" must be at least 1.`, which names members of the API, for a form. */
function plainly(detail: string): string {
  return detail
    .replace(/^"([a-z_]+)"/, (_, name: string) => labelOf(name))
    .replace(/must have at least 1 character\.$/, 'must not be empty.');
}

/** Without NUL and lone surrogates, which neither the database nor an address can contain. */
export function clean(value: string): string {
  return value.toWellFormed().replace(/\0/g, '');
}

/**
 * Parses the filters of a list from a screen's query. Invalid filters are dropped, and reported in `filterFaults`.
 */
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
      // Only the first fault of each filter: a list has one fault per value.
      if (given.delete(parameter)) filterFaults.push(detail);
    }
    if (given.size === before) throw refusal(checked, 'querystring');
  }
}

/** A time in a filter, Unix milliseconds. Null if it is invalid. */
export function momentOf(query: Form, name: string): number | null {
  const given = text(query, name).trim();
  if (given === '') return null;
  const ms = fromIso(zoned(given));
  return Number.isNaN(ms) ? null : ms;
}

/** Browser fields send times without a zone, and often without seconds; they are read as UTC. */
function zoned(given: string): string {
  const [, minute, seconds = ':00'] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?$/.exec(given.trim()) ?? [];
  return minute === undefined ? given : `${minute}${seconds}Z`;
}

/** The value of a filter if it is one of `allowed`; otherwise null. */
export function oneOf<T extends string>(query: Form, name: string, allowed: readonly T[]): T | null {
  const given = text(query, name);
  return allowed.find((item) => item === given) ?? null;
}

/** Whether a query contains any filter. */
export function isFiltered(query: Form): boolean {
  return Object.keys(query).some((name) => !['cursor', 'done', 'sort'].includes(name));
}

/** Query parameters of a list that are not filters. */
export const NO_FILTERS: ReadonlySet<string> = new Set(['cursor', 'done', 'count', 'signal']);

/** The filters of an address, without its cursor. */
export function kept(query: URLSearchParams): string {
  return new URLSearchParams(
    [...query].filter(([name, value]) => !NO_FILTERS.has(name) && value !== ''),
  ).toString();
}

/** The value of a custom field, edited in a text area as lines of `key = value`. */
type CustomFieldValue = string | number | boolean;

/** The custom fields of a record as lines. */
export function linesOfMembers(record: Readonly<Record<string, CustomFieldValue>>): string {
  return Object.entries(record)
    .map(([key, value]) => {
      const isText = typeof value === 'string' && isPlain(value);
      return `${key} = ${isText ? value : JSON.stringify(value)}`;
    })
    .join('\n');
}

/** Parses `key = value`. Numbers, `true` and `false` keep their type; everything else, and anything in quotes, is text. */
export function memberOfLine(line: string): [string, CustomFieldValue] {
  const at = line.indexOf('=');
  if (at === -1) return [line, ''];
  const key = line.slice(0, at).trim();
  const value = line.slice(at + 1).trim();
  if (value === 'true' || value === 'false') return [key, value === 'true'];
  if (/^-?\d{1,15}(\.\d{1,9})?$/.test(value)) return [key, Number(value)];
  return [key, unquoted(value)];
}

/** Whether an unquoted text is parsed back as the same text. */
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
