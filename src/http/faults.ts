import { z } from 'zod';
import { addAll } from '../lib/lists.ts';
import type { Fault } from '../model/errors.ts';
import { LEFT_OUT } from './crowded-objects.ts';
import { suggest } from './suggest.ts';

/** Which part of a request is checked; decides how a fault names its place. */
export type RequestPart = 'body' | 'querystring' | 'params' | 'headers';

/** A checked value, or what is wrong with it: the first faults, and how many there are. */
export type Checked<T> =
  | { ok: true; value: T }
  | { ok: false; faults: Fault[]; total: number; unknownNames: boolean };

/**
 * More faults than these are counted and not listed: a body of a megabyte can hold 450,000 unknown members, and each would
 * be compared with every name that is known.
 */
export const MAX_FAULTS = 20;

type Issue = z.core.$ZodIssue;
type Names = WeakMap<readonly string[], string[]>;

/** Checks `data` against `schema`; lists at most {@link MAX_FAULTS} faults. `prefix` is the pointer of `data` in the body. */
export function check<S extends z.ZodType>(
  schema: S,
  data: unknown,
  part: RequestPart,
  prefix = '',
): Checked<z.output<S>> {
  // Which names an object knows stands in the raw issue only; its `keys` array survives into the final one.
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

/** With those that were left out of the object before it was made (crowded-objects.ts). */
function countUnknown(data: unknown, { path, keys }: z.core.$ZodIssueUnrecognizedKeys): number {
  let object = data;
  for (const part of path) object = memberOf(object, part);
  const leftOut = keys.at(-1) === LEFT_OUT ? memberOf(object, LEFT_OUT) : 0;
  return keys.length + (typeof leftOut === 'number' && leftOut > 0 ? leftOut - 1 : 0);
}

function memberOf(value: unknown, name: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** An RFC 6901 pointer of path segments. */
export function toPointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** A union's fault is that of its first branch: the others are the empty string and the like. A name's is what it lacks. */
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

/** What is wrong, to follow the member's name: `must be …`. Messages that a schema brings itself go first. */
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
