import type { FastifyRequest } from 'fastify';
import { DomainError } from '../model/errors.ts';
import { labelOf } from './words.ts';

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
