import { z } from 'zod';
import { timeInput, timeText } from './text.ts';

const MAX_VALUES = 50;

/** The filters of one list, the same in /v1, the dashboard and MCP. */
export interface ListFilters<Q extends z.ZodRawShape, F> {
  /** Its query parameters, but for paging. */
  query: z.ZodObject<Q>;
  /** What the store is asked, but for the page. Cursors are bound to it. */
  toFilters(query: z.output<z.ZodObject<Q>>): F;
  /** What the store is asked by a query of the house's own: all where it is empty. */
  of(query: z.input<z.ZodObject<Q>>): F;
}

/** The filters of one list: its query parameters by name, and what they ask of the store. */
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

/** A filter that may be given several times, as a comma list, or both; absent means no values. */
export function listOf<T extends z.ZodType<unknown, string>>(item: T) {
  return z
    .union([z.string(), z.array(z.string())])
    .transform((given) => [given].flat().flatMap(splitList))
    .pipe(z.array(item).max(MAX_VALUES))
    .default([])
    .meta({ 'x-as': { type: 'array', items: z.toJSONSchema(item, { io: 'input' }), maxItems: MAX_VALUES } });
}

/** A moment in a query, as Unix milliseconds; null where it is absent. */
export const queryTime = timeInput
  .nullable()
  .default(null)
  .meta({ 'x-as': z.toJSONSchema(timeText) });

/** Words to search for; null where there are none. */
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

/** Where a page of a list ended: what its last row is in the order of. */
export type Position = (string | number)[];

/** Which page of a list: what follows `after`, `limit` rows at most. */
export interface PageRequest {
  limit: number;
  /** `last` of the page before; null: from the beginning. */
  after: Position | null;
}

/** A page of a list; `last` is the position of its last row, null where nothing follows. */
export interface Page<T> {
  rows: T[];
  last: Position | null;
}

/** A page in the order by commit, which has no end: `next` is there on the last page and on an empty one, too. */
export interface StoredPage {
  /** Rows on it. */
  count: number;
  /** Where to read on: behind the last row that was looked at, whether it fits the filters or not. */
  next: Position;
  /** Whether anything stands behind `next` already. An empty page may have more behind it: rows looked at are bounded. */
  hasMore: boolean;
}
