import { z } from 'zod';
import { measureJson } from '../../lib/json.ts';
import { readWordTable, wordsSchema } from '../../lib/word-table.ts';
import { MAX_TEXT_CODE_POINTS } from '../../model/signal.ts';
import { itemKey, SourceFault, type SourceItem, validTime } from '../source-item.ts';

/** A document received from `url`. */
export interface ReceivedDocument {
  body: Uint8Array;
  contentType: string;
  url: string;
}

/**
 * A parser of documents: a pure function, and the name by which the parsing thread finds it. Arguments and
 * results cross threads, so both are plain data. Results are bounded, because the receiving thread serves all
 * requests.
 */
export interface Parser<Args, Result> {
  name: string;
  /** @throws SourceFault */
  parse(document: ReceivedDocument, args: Args): Result;
}

/** A document, and the name of its parser. */
export interface ParseRequest {
  parser: string;
  document: ReceivedDocument;
  args: unknown;
}

/** The result of a request; errors do not survive crossing threads intact. */
export type ParseAnswer =
  | { state: 'ready' }
  | { state: 'parsed'; result: unknown }
  | { state: 'fault'; code: string; message: string; retryAt: number }
  | { state: 'exhausted' }
  | { state: 'broken'; message: string };

/** Deeper than any service nests; threads of comments are the deepest of those that we read. */
const MAX_DEPTH = 200;
/**
 * Maximum number of values and members in a response; a full page of the most verbose service has about ten
 * thousand.
 */
const MAX_VALUES = 400_000;

/** Creates a parser of JSON responses in a service's documented format, limited to the members we use. */
export function jsonParser<S extends z.ZodType, Args, Result>(
  name: string,
  schema: S,
  toResult: (answer: z.output<S>, args: Args) => Result,
): Parser<Args, Result> {
  return { name, parse: ({ body }, args) => toResult(readJson(body, schema), args) };
}

/** Parses the JSON of a response. @throws SourceFault `invalid_answer`, with the first error */
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

/** Why a JSON text is too large to parse, determined in one pass; null if it is not. */
export function crowdOf(text: string): string | null {
  const { depth, values } = measureJson(text, MAX_DEPTH);
  if (depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
  return values > MAX_VALUES ? `has more than ${MAX_VALUES.toLocaleString('en-US')} values` : null;
}

/** Any spelling of the names, whose letters may be escaped. */
const MAY_NAME_CLASSES = /constructor|__proto__|\\u00/;

/** A JSON text without members named `constructor` and `__proto__`: parsers of feeds omit objects with the former, without an error. */
export function withoutClasses(text: string): string {
  if (!MAY_NAME_CLASSES.test(text)) return text;
  const isClass = (name: string) => name === 'constructor' || name === '__proto__';
  try {
    return JSON.stringify(JSON.parse(text, (name, value) => (isClass(name) ? undefined : value)));
  } catch {
    return text; // not JSON: its parser says so
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SourceFault('invalid_answer', "The service's response is not JSON.");
  }
}

/** A list of which only the first `most` items are validated, in order, up to the first invalid one. */
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

/** Default maximum of items in one response; most services return at most 100. */
const MOST_ITEMS = 500;
/**
 * Maximum length of all texts in one response, in UTF-16 units: the receiving thread copies them in a few
 * milliseconds.
 */
const MOST_CHARACTERS = 6 * 1024 * 1024;
const MAX_ID = 300;
const MAX_URL = 2_048;
const MAX_NAME = 300;
/** Maximum length of the text of a job that is searched for names of tools. */
const MAX_SEARCHED = 100_000;

/** Limits the number of items and the length of their texts. Texts that fit into a post are not changed. */
export function boundedItems(items: readonly SourceItem[], most = MOST_ITEMS): SourceItem[] {
  const bounded: SourceItem[] = [];
  let left = MOST_CHARACTERS;
  for (const item of items.slice(0, most)) {
    const next = boundedItem(item);
    const { title, body, url, id, idScope = '' } = next;
    left -= title.length + body.length + url.length + id.length + idScope.length;
    if (left < 0) break;
    bounded.push(next);
  }
  return bounded;
}

/** Limits a single item like {@link boundedItems}. */
export function boundedItem(item: SourceItem): SourceItem {
  const { company, department, title, body } = item;
  const tools = department === undefined ? [] : toolsNamed(`${title}\n${body}`.slice(0, MAX_SEARCHED));
  return {
    id: boundedId(item.id),
    ...(item.idScope !== undefined && { idScope: cut(item.idScope, MAX_URL) }),
    platform: cut(item.platform, MAX_NAME),
    // A truncated URL leads nowhere.
    url: item.url.length > MAX_URL ? '' : item.url,
    postedAt: item.postedAt === null ? null : validTime(item.postedAt),
    title: cut(title, MAX_TEXT_CODE_POINTS),
    body: cut(body, MAX_TEXT_CODE_POINTS),
    author: cut(item.author, MAX_NAME),
    ...(company && { company: boundedCompany(company) }),
    ...(department !== undefined && { department: cut(department, MAX_NAME) }),
    ...(tools.length > 0 && { tools }),
    ...(item.signalType && { signalType: item.signalType }),
  };
}

/** Replaces a long ID by its digest. */
export function boundedId(id: string): string {
  return isWithin(id, MAX_ID) ? id.toWellFormed() : itemKey({ id });
}

function boundedCompany({ name, location, industry }: NonNullable<SourceItem['company']>) {
  return {
    name: cut(name, MAX_NAME),
    ...(location !== undefined && { location: cut(location, MAX_NAME) }),
    ...(industry !== undefined && { industry: cut(industry, MAX_NAME) }),
  };
}

/**
 * Truncates a text to `max` code points, and replaces half surrogate pairs, which JSON can contain: many receivers reject
 * deliveries with them.
 */
function cut(given: string, max: number): string {
  const text = given.toWellFormed();
  if (isWithin(text, max)) return text;
  // A code point has at most two units.
  return Array.from(text.slice(0, 2 * max))
    .slice(0, max)
    .join('')
    .trimEnd();
}

function isWithin(text: string, max: number): boolean {
  if (text.length <= max) return true;
  if (text.length > 2 * max) return false;
  let points = 0;
  for (const _ of text) points++;
  return points <= max;
}

/**
 * Products that companies name in job posts, in their official spelling: in lower case, many are everyday
 * words.
 */
const TOOLS = readWordTable('tools', wordsSchema);

const MAX_TOOLS = 10;

// Longest first, so that "Microsoft Teams" takes precedence over "Teams".
const NAMES = [...TOOLS].sort((a, b) => b.length - a.length).map((name) => name.replaceAll('.', '\\.'));
const PATTERN = new RegExp(`(?<![\\p{L}\\p{N}])(?:${NAMES.join('|')})(?![\\p{L}\\p{N}])`, 'gu');

/** The first tools that a job post names, each once, in order of appearance. */
export function toolsNamed(text: string): string[] {
  const found = new Set<string>();
  for (const [name] of text.matchAll(PATTERN)) {
    found.add(name);
    if (found.size === MAX_TOOLS) break;
  }
  return [...found];
}
