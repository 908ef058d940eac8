import { z } from 'zod';
import { measureJson } from '../../lib/json.ts';
import { SourceFault } from '../source-fault.ts';
import { MOST_ITEMS } from './bounds.ts';
import type { Parser } from './parser.ts';

/** Deeper than any service nests: of those that are read, a thread of comments does most. */
const MAX_DEPTH = 200;
/** Values and members of one answer: a full page of the most talkative service has some ten thousand. */
const MAX_VALUES = 400_000;

/** Reads answers of a form that a service documents, as far as they are needed. */
export function jsonParser<S extends z.ZodType, Args, Result>(
  name: string,
  schema: S,
  toResult: (answer: z.output<S>, args: Args) => Result,
): Parser<Args, Result> {
  return { name, parse: ({ body }, args) => toResult(readJson(body, schema), args) };
}

/** The JSON of a response. @throws SourceFault `invalid_answer`, with the first fault */
function readJson<S extends z.ZodType>(body: Uint8Array, schema: S): z.output<S> {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  const crowd = crowdOf(text);
  if (crowd !== null) throw new SourceFault('invalid_answer', `The response of the service ${crowd}.`);
  const parsed = schema.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place =
    issue === undefined || issue.path.length === 0 ? '' : ` at ${issue.path.join('.').slice(0, 100)}`;
  const fault = `${issue?.message.slice(0, 200) ?? 'invalid input'}${place}`;
  throw new SourceFault(
    'invalid_answer',
    `The response of the service does not have its documented format (${fault}).`,
  );
}

/** Why a JSON text is too much to make objects of, found in one pass; null: it is not. */
export function crowdOf(text: string): string | null {
  const { depth, values } = measureJson(text, MAX_DEPTH);
  if (depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
  return values > MAX_VALUES ? `has more than ${MAX_VALUES.toLocaleString('en-US')} values` : null;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SourceFault('invalid_answer', "The service's response is not JSON.");
  }
}

/** A list, of which the first `most` items are checked one after the other, up to the first that is wrong. */
export function listOf<S extends z.ZodType>(item: S, most = MOST_ITEMS) {
  return z
    .custom<unknown[]>((value) => Array.isArray(value), 'Invalid input: expected array')
    .transform((items, context): z.output<S>[] => {
      const read: z.output<S>[] = [];
      for (const [index, given] of items.slice(0, most).entries()) {
        const parsed = item.safeParse(given);
        if (!parsed.success) {
          const { message = '', path = [] } = parsed.error.issues[0] ?? {};
          context.addIssue({ code: 'custom', message, path: [index, ...path] });
          return z.NEVER;
        }
        read.push(parsed.data);
      }
      return read;
    });
}
