import { z } from 'zod';
import { endOfString } from '../lib/json.ts';
import { addAll } from '../lib/lists.ts';
import type { Fault } from '../model/errors.ts';

/** The part of a request that is validated; it determines how a fault names its location. */
export type RequestPart = 'body' | 'querystring' | 'params' | 'headers';

/** A valid value, or the first errors and their total. */
export type Checked<T> =
  | { ok: true; value: T }
  | { ok: false; faults: Fault[]; total: number; unknownNames: boolean };

/**
 * Further faults are counted but not listed: a body of one megabyte can contain 450,000 unknown members, each of
 * which would be compared with every known name.
 */
export const MAX_FAULTS = 20;

type Issue = z.core.$ZodIssue;
type Names = WeakMap<readonly string[], string[]>;

/**
 * Validates `data` against `schema`; lists at most {@link MAX_FAULTS} faults. `prefix` is the pointer of `data` in
 * the body.
 */
export function check<S extends z.ZodType>(
  schema: S,
  data: unknown,
  part: RequestPart,
  prefix = '',
): Checked<z.output<S>> {
  // An object's known names exist only in the raw issue; its `keys` array is passed on to the final one.
  const known: Names = new WeakMap();
  const parsed = schema.safeParse(data, {
    error: (raw) => {
      if (raw.code === 'unrecognized_keys' && Array.isArray(raw.keys)) {
        known.set(raw.keys, namesOf(raw.inst));
      }
      return describe(raw, part);
    },
  });
  if (parsed.success) return { ok: true, value: parsed.data };
  const refused: Checked<never> & { ok: false } = { ok: false, faults: [], total: 0, unknownNames: false };
  for (const issue of parsed.error.issues) {
    for (const inner of unfold(issue)) {
      const room = MAX_FAULTS - refused.faults.length;
      if (room > 0) addAll(refused.faults, toFaults(inner, part, prefix, { known, room }));
      refused.total += inner.code === 'unrecognized_keys' ? countUnknown(data, inner) : 1;
      refused.unknownNames ||= inner.code === 'unrecognized_keys';
    }
  }
  return refused;
}

/** Includes the members that were omitted before the object was created (`thinOut`). */
function countUnknown(data: unknown, { path, keys }: z.core.$ZodIssueUnrecognizedKeys): number {
  let object = data;
  for (const part of path) object = memberOf(object, part);
  const leftOut = keys.at(-1) === LEFT_OUT ? memberOf(object, LEFT_OUT) : 0;
  return keys.length + (typeof leftOut === 'number' && leftOut > 0 ? leftOut - 1 : 0);
}

function memberOf(value: unknown, name: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** Path segments as an RFC 6901 pointer. */
export function toPointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** A union reports the errors of its first branch: the other branches are the empty string and the like. */
function unfold(issue: Issue): Issue[] {
  const first =
    issue.code === 'invalid_key'
      ? issue.issues
      : issue.code === 'invalid_union'
        ? issue.errors[0]
        : undefined;
  if (first === undefined) return [issue];
  return first.flatMap((inner) => unfold({ ...inner, path: [...issue.path, ...inner.path] } as Issue));
}

function toFaults(
  issue: Issue,
  part: RequestPart,
  prefix: string,
  { known, room }: { known: Names; room: number },
): Fault[] {
  if (issue.code !== 'unrecognized_keys') {
    return [
      { ...placeOf(issue.path, part, prefix), detail: capitalise(nameOf(issue.path, part), issue.message) },
    ];
  }
  const names = known.get(issue.keys) ?? [];
  return issue.keys.slice(0, room).map((key) => ({
    ...placeOf([...issue.path, key], part, prefix),
    detail: unknownName(key, names, part),
  }));
}

function placeOf(path: readonly PropertyKey[], part: RequestPart, prefix: string): Omit<Fault, 'detail'> {
  return part === 'body' ? { pointer: prefix + toPointer(path) } : { parameter: String(path[0] ?? '') };
}

function nameOf(path: readonly PropertyKey[], part: RequestPart): string {
  const name = part === 'body' ? path.filter((p) => typeof p === 'string').at(-1) : path[0];
  return name === undefined ? (part === 'body' ? 'The body' : 'The request') : `"${String(name)}"`;
}

function capitalise(name: string, message: string): string {
  return `${name} ${message}.`.replace(/\.\.$/, '.');
}

function unknownName(key: string, names: readonly string[], part: RequestPart): string {
  const kind = part === 'body' ? 'member' : 'parameter';
  const shown = key.length > 64 ? `${key.slice(0, 64)}…` : key;
  const near = suggest(key, names);
  const question = near === null ? '' : ` Did you mean "${near}"?`;
  const list = names.length === 0 ? `There are no ${kind}s here.` : `Known ${kind}s: ${names.join(', ')}.`;
  return `"${shown}" is not a known ${kind}.${question} ${list}`;
}

/** The members that an object of the schema may have. */
export function namesOf(schema: unknown): string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

/**
 * What is wrong, as a phrase that follows the member's name: `must be …`. A schema's own messages take precedence.
 */
function describe(raw: z.core.$ZodRawIssue, part: RequestPart): string {
  if (raw.input === undefined && raw.code !== 'custom') return 'is required';
  if (part === 'querystring' && Array.isArray(raw.input)) return 'must be given only once';
  switch (raw.code) {
    case 'invalid_type':
      return `must be ${TYPE_NAMES[raw.expected] ?? raw.expected}`;
    case 'invalid_value':
      return `must be one of ${raw.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'too_small':
      return sizeText(raw.origin, 'at least', Number(raw.minimum));
    case 'too_big':
      return sizeText(raw.origin, 'at most', Number(raw.maximum));
    case 'invalid_format':
      return FORMAT_TEXTS[raw.format] ?? 'is not in the expected format';
    default:
      return 'is not valid';
  }
}

const TYPE_NAMES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  record: 'an object',
};

const FORMAT_TEXTS: Record<string, string> = {
  datetime: 'must be an RFC 3339 time with zone such as "2026-01-31T09:30:00Z"',
  email: 'must be an email address',
  url: 'must be an absolute URL',
};

function sizeText(origin: string, bound: string, size: number): string {
  if (origin === 'string') return `must have ${bound} ${size} character${size === 1 ? '' : 's'}`;
  if (origin === 'array') return `must have ${bound} ${size} item${size === 1 ? '' : 's'}`;
  return `must be ${bound} ${size}`;
}

/** The known name most similar to `name`, or null if none is similar. */
export function suggest(name: string, known: readonly string[]): string | null {
  if (name.length > 64) return null;
  const typed = name.toLowerCase();
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(typed.length / 3)) + 1;
  for (const candidate of known) {
    // At least this many letters have to be inserted or deleted.
    if (Math.abs(candidate.length - typed.length) >= bestDistance) continue;
    const distance = editDistance(typed, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  // If every letter of a name has to be edited, it is not a typo of that name.
  return bestDistance < typed.length ? best : null;
}

/** Levenshtein distance with two rows; takes time proportional to the product of the lengths. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** No object in a valid request has more members than this. */
const MOST_MEMBERS = 1_000;
/** A text with fewer members in total is not scanned again. */
const CROWDED = 20_000;

/** Placeholder for omitted members of an object; its value is their number. */
export const LEFT_OUT = '(further members)';

/**
 * Cuts each object after its first {@link MOST_MEMBERS} members, and replaces the rest by a placeholder with their
 * number: creating objects with half a million members and listing their names takes a second, skipping them a
 * twentieth of that. `known` members of the outermost object are kept. Such a body is rejected in any case, so the
 * result need not be valid JSON at the cut.
 */
export function thinOut(text: string, members: number, known: ReadonlySet<string>): string {
  if (members < CROWDED) return text;
  const counts: number[] = []; // of each open object; NaN for lists
  const leftOut: number[] = []; // likewise; a duplicate name has its last value
  const pieces: string[] = [];
  let [keptTo, commaAt, cutFrom, cutDepth, atKey] = [0, 0, -1, 0, false];

  function keepFrom(place: number): void {
    pieces.push(text.slice(keptTo, cutFrom), `,"${LEFT_OUT}":${leftOut[cutDepth - 1]}`);
    [keptTo, cutFrom] = [place, -1];
  }

  function meetKey(start: number, end: number): void {
    const depth = counts.length;
    if (cutFrom !== -1 && depth !== cutDepth) return;
    const count = (counts[depth - 1] ?? 0) + 1;
    counts[depth - 1] = count;
    const stays = count <= MOST_MEMBERS || (depth === 1 && known.has(text.slice(start, end)));
    if (stays) {
      if (cutFrom !== -1) keepFrom(commaAt);
      return;
    }
    if (cutFrom === -1) [cutFrom, cutDepth] = [commaAt, depth];
    leftOut[depth - 1] = (leftOut[depth - 1] ?? 0) + 1;
  }

  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) {
      const end = endOfString(text, i);
      if (atKey) meetKey(i + 1, end);
      atKey = false;
      i = end;
    } else if (char === COMMA) {
      atKey = !Number.isNaN(counts.at(-1) ?? Number.NaN);
      if (cutFrom === -1 || counts.length === cutDepth) commaAt = i;
    } else if (char === OPEN_OBJECT) {
      counts.push(0);
      leftOut.push(0);
      atKey = true;
    } else if (char === OPEN_LIST) {
      counts.push(Number.NaN);
      leftOut.push(0);
    } else if (char === CLOSE_OBJECT || char === CLOSE_LIST) {
      if (cutFrom !== -1 && counts.length === cutDepth) keepFrom(i);
      counts.pop();
      leftOut.pop();
      atKey = false;
    }
  }
  return pieces.join('') + text.slice(keptTo);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
