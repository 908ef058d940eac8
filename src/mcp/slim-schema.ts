import { z } from 'zod';

type Json = Record<string, unknown>;

/**
 * The JSON Schema of `schema`, without what costs a model tokens and tells it nothing: patterns beside a format, the
 * bounds of safe integers, and for output what is required and closed, as all of it always comes, and of a description
 * what follows its first clause: `/v1`'s description has the rest.
 */
export function slimSchema(
  schema: z.ZodObject,
  io: 'input' | 'output',
): { type: 'object'; [keyword: string]: unknown } {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io, reused: 'inline' });
  return { ...(slim(json, io) as Json), type: 'object' };
}

function slim(value: unknown, io: 'input' | 'output'): unknown {
  if (Array.isArray(value)) return value.map((item) => slim(item, io));
  if (typeof value !== 'object' || value === null) return value;
  const nullable = nullableOf(value as Json);
  if (nullable !== null) return slim(nullable, io);
  const kept = Object.entries(value).filter(([key, each]) => !isNoise(value as Json, key, each, io));
  return Object.fromEntries(
    // Names of properties are no keywords.
    kept.map(([key, each]) => {
      if (key === 'properties') return [key, slimEach(each as Json, io)];
      return [key, key === 'description' && io === 'output' ? firstClause(String(each)) : slim(each, io)];
    }),
  );
}

function slimEach(properties: Json, io: 'input' | 'output'): Json {
  return Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, slim(each, io)]));
}

function isNoise(schema: Json, key: string, value: unknown, io: 'input' | 'output'): boolean {
  switch (key) {
    case 'description':
      return io === 'output' && String(value).startsWith('Unique identifier of');
    case 'pattern':
      return schema.format !== undefined;
    case 'minimum':
      return value === Number.MIN_SAFE_INTEGER;
    case 'maximum':
      return value === Number.MAX_SAFE_INTEGER;
    case 'required':
    case 'additionalProperties':
      return io === 'output' && typeof value !== 'object' ? true : io === 'output' && key === 'required';
    default:
      return false;
  }
}

function firstClause(description: string): string {
  return description.split(/; |\.(?:\s|$)/, 1)[0] ?? description;
}

/** `anyOf: [{type: T}, {type: null}]` as `type: [T, null]`. */
function nullableOf(schema: Json): Json | null {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || anyOf[1]?.type !== 'null') return null;
  const [one] = anyOf as [Json, Json];
  if (typeof one.type !== 'string') return null;
  const values = Array.isArray(one.enum) ? { enum: [...one.enum, null] } : {};
  return { ...rest, ...one, ...values, type: [one.type, 'null'] };
}
