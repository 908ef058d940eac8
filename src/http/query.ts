import { z } from 'zod';
import { timeInput, timeText } from '../model/text.ts';

const MAX_VALUES = 50;

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
