import fc from 'fast-check';
import { type JsonSchema, resolve } from '../support/openapi.ts';

/** The data behind the values of a document's schemas. */
export interface ValueSource {
  document: object;
  /** Ids of existing resources, often used for members that name one. */
  ids: readonly string[];
}

const MAX_DEPTH = 6;

/** Values that a schema allows or nearly allows: bounds are applied loosely, so both sides are covered. */
export function valuesOf(source: ValueSource, node: JsonSchema, name = '', depth = 0): fc.Arbitrary<unknown> {
  const schema = resolve<JsonSchema>(source.document, node);
  const go = (next: unknown, nextName = name) =>
    valuesOf(source, (next ?? {}) as JsonSchema, nextName, depth + 1);
  if (depth > MAX_DEPTH) return fc.constant(null);
  if ('const' in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  for (const kind of ['anyOf', 'oneOf', 'allOf']) {
    const branches = schema[kind];
    if (Array.isArray(branches) && branches.length > 0) return fc.oneof(...branches.map((one) => go(one)));
  }
  const types = [schema.type].flat().map(String);
  return fc.oneof(...types.map((type) => typedValue(type, { schema, source, name, go })));
}

interface Context {
  schema: JsonSchema;
  source: ValueSource;
  name: string;
  go(next: unknown, nextName?: string): fc.Arbitrary<unknown>;
}

function typedValue(type: string, context: Context): fc.Arbitrary<unknown> {
  switch (type) {
    case 'object':
      return objectOf(context);
    case 'array':
      return fc.array(context.go(context.schema.items), {
        minLength: Math.min(Number(context.schema.minItems ?? 0), 3),
        maxLength: Math.min(Number(context.schema.maxItems ?? 4), 4),
      });
    case 'string':
      return textOf(context);
    case 'integer':
      return fc.oneof(
        { weight: 4, arbitrary: wholeWithin(context.schema) },
        { weight: 1, arbitrary: fc.maxSafeInteger() },
      );
    case 'number':
      return fc.oneof(wholeWithin(context.schema), fc.double({ noNaN: true, noDefaultInfinity: true }));
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function objectOf({ schema, go }: Context): fc.Arbitrary<object> {
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  const required = (schema.required ?? []) as string[];
  const members = Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, go(value, key)]));
  const described = fc.record(members, { requiredKeys: required });
  const others = schema.additionalProperties;
  if (typeof others !== 'object' || others === null) return described;
  return fc
    .tuple(described, fc.dictionary(fc.string({ maxLength: 10 }), go(others), { maxKeys: 3 }))
    .map(([known, free]) => ({ ...free, ...known }));
}

function wholeWithin({ minimum, maximum }: JsonSchema): fc.Arbitrary<number> {
  const min = Math.max(Number(minimum ?? -100), Number.MIN_SAFE_INTEGER);
  const max = Math.min(Number(maximum ?? min + 100_000), Number.MAX_SAFE_INTEGER);
  return fc.integer({ min: Math.ceil(min), max: Math.max(Math.ceil(min), Math.floor(max)) });
}

function textOf({ schema, source, name }: Context): fc.Arbitrary<string> {
  const free = fc.string({
    unit: 'grapheme',
    minLength: Math.min(Number(schema.minLength ?? 0), 200),
    maxLength: Math.max(
      Math.min(Number(schema.maxLength ?? 40), 60),
      Math.min(Number(schema.minLength ?? 0), 200),
    ),
  });
  const pools: fc.Arbitrary<string>[] = [free];
  if (/(^|_)(id|ids)$/.test(name)) pools.push(fc.constantFrom(...source.ids), fc.constantFrom(...source.ids));
  const known = KNOWN_TEXTS.find(({ fits }) => fits(name, schema));
  if (known !== undefined) pools.push(known.values, known.values, known.values);
  if (typeof schema.pattern === 'string') pools.push(matching(schema.pattern));
  return fc.oneof(...pools);
}

/** Strings that match a pattern, if the pattern can be reversed. */
function matching(pattern: string): fc.Arbitrary<string> {
  try {
    return fc.stringMatching(new RegExp(pattern));
  } catch {
    return fc.string();
  }
}

const TIMES = [
  '2026-01-01T00:00:00Z',
  '2026-01-01T00:00:00.123456+05:30',
  '2025-12-31T23:59:60Z',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '1969-12-31T23:59:59Z',
  '2026-03-29T02:30:00+01:00',
];

/** Never a name that requires a DNS lookup, and no address outside this machine that responds. */
const ADDRESSES = [
  'https://127.0.0.1:8443/hook',
  'http://127.0.0.1/',
  'https://10.0.0.1/x',
  'https://[::1]:8443/',
  'https://user:pass@127.0.0.1:8443/',
  'ftp://127.0.0.1/',
  'https://127.0.0.1:8443/%zz#fragment',
  'javascript:alert(1)',
];

interface KnownText {
  fits(name: string, schema: JsonSchema): boolean;
  values: fc.Arbitrary<string>;
}

/** What a schema alone does not say: without it most requests would fail at the same first check. */
const KNOWN_TEXTS: KnownText[] = [
  { fits: (_, { format }) => format === 'date-time', values: fc.constantFrom(...TIMES) },
  { fits: (_, { format }) => format === 'email', values: fc.emailAddress() },
  { fits: (name) => name === 'email', values: fc.emailAddress() },
  {
    fits: (name) => name === 'linkedin_url',
    values: fc.constantFrom('https://www.linkedin.com/in/jane-doe', 'linkedin.com/in/jos%C3%A9'),
  },
  {
    fits: (name, { format }) => format === 'uri' || /(^|_)url$/.test(name),
    values: fc.constantFrom(...ADDRESSES),
  },
  {
    fits: (name) => name === 'domain',
    values: fc.constantFrom('acme.com', 'ACME.COM', 'münchen.de', 'https://acme.com/x', 'a..b'),
  },
  { fits: (name) => name === 'currency', values: fc.constantFrom('EUR', 'USD', 'usd', 'XXX', 'EU') },
  {
    fits: (name) => name === 'timezone',
    values: fc.constantFrom('Europe/Berlin', 'UTC', 'Mars/Base', '+02:00'),
  },
  { fits: (name) => /date/.test(name), values: fc.constantFrom('2026-02-28', '2026-02-30', '0000-00-00') },
  {
    fits: (name) => name === 'text' || name === 'q',
    values: fc.constantFrom(
      'Looking for a CRM, budget approved',
      'the "quoted OR phrase* NEAR(',
      '🚐 van',
      '-',
      '*',
    ),
  },
];
