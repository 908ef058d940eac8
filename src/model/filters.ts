import { z } from 'zod';
import { timeInput, timeText } from './text.ts';

const MAX_VALUES = 50;

/** The filters of one list, shared by /v1, the dashboard and MCP. */
export interface ListFilters<Q extends z.ZodRawShape, F> {
  /** The query parameters, except those for paging. */
  query: z.ZodObject<Q>;
  /** Converts parsed parameters into the store's filters, without the page. Cursors are bound to them. */
  toFilters(query: z.output<z.ZodObject<Q>>): F;
  /** Parses an internal query into the store's filters; an empty one matches everything. */
  of(query: z.input<z.ZodObject<Q>>): F;
}

/** Defines the filters of a list: its query parameters by name, and their conversion for the store. */
export function listFilters<Q extends z.ZodRawShape, F>(
  query: Q,
  toFilters: (query: z.output<z.ZodObject<Q>>) => F,
): ListFilters<Q, F> {
  const schema = z.strictObject(query) as z.ZodObject<Q>;
  return { query: schema, toFilters, of: (given) => toFilters(schema.parse(given)) };
}

/** A whole number in a query, as text. */
export function wholeNumber(min: number, max: number) {
  const range = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, range)
    .transform(Number)
    .refine((value) => value >= min && value <= max, range)
    .meta({ 'x-as': { type: 'integer', minimum: min, maximum: max } });
}

/** A filter that may be repeated, comma-separated, or both; no values if absent. */
export function listOf<T extends z.ZodType<unknown, string>>(item: T) {
  return z
    .union([z.string(), z.array(z.string())])
    .transform((given) => [given].flat().flatMap(splitList))
    .pipe(z.array(item).max(MAX_VALUES))
    .default([])
    .meta({ 'x-as': { type: 'array', items: z.toJSONSchema(item, { io: 'input' }), maxItems: MAX_VALUES } });
}

/** A time in a query, as Unix milliseconds; null if absent. */
export const queryTime = timeInput
  .nullable()
  .default(null)
  .meta({ 'x-as': z.toJSONSchema(timeText) });

/** Words to search for; null if there are none. */
export function searchText(maxChars: number) {
  return z
    .string()
    .trim()
    .max(maxChars)
    .transform((text) => (text === '' ? null : text))
    .nullable()
    .default(null);
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** The end of a page: the sort key of its last row. */
export type Position = (string | number)[];

/** Selects a page of a list: at most `limit` rows after `after`. */
export interface PageRequest {
  limit: number;
  /** `last` of the previous page; null starts from the beginning. */
  after: Position | null;
}

/** A page of a list; `last` is the position of its last row, or null if it is the last page. */
export interface Page<T> {
  rows: T[];
  last: Position | null;
}

/** A page in commit order, which has no end: `next` is present even on the last page and on an empty one. */
export interface StoredPage {
  /** Number of rows. */
  count: number;
  /** The position to continue from: after the last row examined, whether it matched the filters or not. */
  next: Position;
  /**
   * Whether there already are rows after `next`. Even an empty page can have more: the number of rows
   * examined is limited.
   */
  hasMore: boolean;
}
