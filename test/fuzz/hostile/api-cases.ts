import { readFileSync } from 'node:fs';
import { idsFor, idsIn } from '../../support/id-kinds.ts';
import { descriptionOf, type JsonSchema, type Operation, resolve } from '../../support/openapi.ts';
import { SOUND_BODIES } from './bodies.ts';
import type { HostileCase } from './case.ts';
import { outcomeOf } from './case.ts';
import { JSON_SHAPES, SHAPES, type Shape } from './texts.ts';
import type { World } from './world.ts';

const BODY_BYTES = 1_000_000;
const BATCH_BYTES = 5_000_000;
const HEAD_CHARS = 15_000;
const BATCHES: Record<string, string> = {
  createSignals: 'signals',
  createLeads: 'leads',
  recordCampaignEvents: 'events',
};

const { document, operations } = descriptionOf(JSON.parse(readFileSync('openapi/v1.json', 'utf8')));

/** Every operation of `/v1` with bodies, filters and keys of odd content and of maximum length or longer. */
export function apiCases(): HostileCase[] {
  const reading = operations.filter(({ method }) => method === 'GET');
  const writing = operations.filter(({ body }) => body !== null);
  return [
    ...writing.flatMap((operation) => {
      const sound = SOUND_BODIES[operation.operationId];
      if (sound === undefined) return [];
      return SHAPES.map((shape) => bodyCase(operation, `sound texts of ${shape.name}`, () => sound(shape)));
    }),
    ...writing.flatMap((operation) => [
      ...SHAPES.map((shape) =>
        bodyCase(operation, `texts as long as they may be, of ${shape.name}`, () =>
          filled(operation, { shape }),
        ),
      ),
      ...SHAPES.map((shape) =>
        bodyCase(operation, `texts of a megabyte, of ${shape.name}`, () => overfull(operation, shape)),
      ),
      bodyCase(operation, 'lists as long as they may be', () =>
        filled(operation, { shape: wordsOf(5), full: true }),
      ),
      bodyCase(operation, 'lists and texts as long as they may be', () =>
        filled(operation, { shape: wordsOf(20), full: true, long: true }),
      ),
      ...JSON_SHAPES.map(({ name, of }) =>
        rawCase(operation, `a body of ${name}`, () => of(limitOf(operation))),
      ),
      ...JSON_SHAPES.flatMap(({ name, of }) =>
        membersOf(operation).map((member) =>
          rawCase(operation, `${member} of ${name}`, () => `{"${member}":${of(limitOf(operation) - 100)}}`),
        ),
      ),
      ...keyedBodies(operation),
    ]),
    ...reading.flatMap((operation) =>
      operation.parameters
        .filter((one) => one.in === 'query')
        .flatMap(({ name }) => [
          ...SHAPES.map((shape) =>
            queryCase(operation, `${name} of ${shape.name}`, `${name}=${encoded(shape)}`),
          ),
          queryCase(operation, `${name} two thousand times`, `${name}=a&`.repeat(2_000).slice(0, HEAD_CHARS)),
        ]),
    ),
    ...SEARCHES.flatMap(([what, q]) =>
      reading
        .filter(({ parameters }) => parameters.some(({ name }) => name === 'q'))
        .map((operation) => queryCase(operation, `q of ${what}`, `q=${encodeURIComponent(q.slice(0, 200))}`)),
    ),
  ];
}

/** With a key, a body is inspected before its schema is checked; batch items are inspected one by one. */
function keyedBodies(operation: Operation): HostileCase[] {
  const [member = 'a'] = membersOf(operation);
  const list = BATCHES[operation.operationId];
  const limit = limitOf(operation) - 200;
  return JSON_SHAPES.flatMap(({ name, of }) => [
    ...(operation.method === 'POST'
      ? [
          rawCase(operation, `under a key, a body of ${name}`, () => of(limit), keyed),
          rawCase(operation, `under a key, ${member} of ${name}`, () => `{"${member}":${of(limit)}}`, keyed),
        ]
      : []),
    rawCase(operation, `${member} of ${name} beside a NUL`, () => `{"${member}":${of(limit)},"z":"\\u0000"}`),
    ...(list === undefined
      ? []
      : [
          rawCase(operation, `an item of ${name}`, () => `{"${list}":[${of(limit)}]}`),
          rawCase(operation, `an item with ${name}`, () => `{"${list}":[{"text":${of(limit)}}]}`),
        ]),
  ]);
}

let keys = 0;
const keyed = () => ({ 'idempotency-key': `hostile-${++keys}` });

/** Searches that a full-text index may be slow at. */
const SEARCHES: [string, string][] = [
  ['one letter', 'a'],
  ['many letters', 'a b c d e f g h i j k l m n o p q r s t u v w x y z '.repeat(4)],
  ['many beginnings', 'a* b* c* d* e* f* g* h* i* j* k* l* m* n* o* p* '.repeat(4)],
  ['operators', 'a OR b OR c AND d NOT e NEAR(f g, 10) '.repeat(6)],
  ['quotes', '"a b" "c d" "e f" '.repeat(12)],
  ['columns', 'text:a excerpt:b {a b}:c ^d '.repeat(8)],
  ['marks', `a${'\u0300'.repeat(99)}${'\u0334'.repeat(99)}`],
  ['wildcards of LIKE', '%_'.repeat(100)],
];

function limitOf({ operationId }: Operation): number {
  return operationId in BATCHES ? BATCH_BYTES : BODY_BYTES;
}

function membersOf({ body }: Operation): string[] {
  const schema = resolve<JsonSchema>(document, body?.schema);
  return Object.keys((schema.properties ?? {}) as object);
}

interface Filling {
  shape: Shape;
  /** Fills lists to their maximum rather than with one item. */
  full?: boolean;
  /** Fills strings to their maximum length; true unless lists are full. */
  long?: boolean;
  /** Gives all shaped strings this length, whatever their schema says. */
  chars?: number;
}

const wordsOf = (chars: number): Shape => ({ name: 'words', of: () => 'a'.repeat(chars) });

/** A body with every member that an operation accepts, generated from its schema. */
function filled({ operationId, body }: Operation, filling: Filling): unknown {
  const value = fill(body?.schema ?? {}, filling, 'body', 0);
  const list = BATCHES[operationId];
  if (list === undefined || filling.full === true) return value;
  // Twenty items in a batch, each processed individually.
  const items = Reflect.get(Object(value), list) as unknown[];
  return { ...Object(value), [list]: Array.from({ length: 20 }, () => items[0]) };
}

function overfull(operation: Operation, shape: Shape): unknown {
  const leaves = Math.max(
    1,
    JSON.stringify(filled(operation, { shape: wordsOf(3), chars: 3 })).split('"aaa"').length - 1,
  );
  const each = JSON.stringify(shape.of(300)).length / 300;
  return filled(operation, { shape, chars: Math.floor(limitOf(operation) / leaves / each / 1.5) });
}

function fill(node: unknown, filling: Filling, name: string, depth: number): unknown {
  const schema = resolve<JsonSchema>(document, node);
  if (depth > 6) return null;
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  for (const kind of ['anyOf', 'oneOf', 'allOf']) {
    const branches = schema[kind];
    if (Array.isArray(branches) && branches.length > 0) return fill(branches[0], filling, name, depth + 1);
  }
  const [type] = [schema.type].flat();
  if (type === 'object') return fillObject(schema, filling, depth);
  if (type === 'array') {
    const most = Number(schema.maxItems ?? 1_000);
    const items = Array.from({ length: filling.full ? most : 1 }, (_, n) =>
      fill(schema.items, filling, `${name}${n}`, depth + 1),
    );
    return items.map((item, n) =>
      typeof item === 'string' && filling.full ? `${item}${n}`.slice(-200) : item,
    );
  }
  if (type === 'string') return fillText(schema, filling, name);
  if (type === 'integer' || type === 'number') return Number(schema.minimum ?? 1);
  return type === 'boolean' ? true : null;
}

function fillObject(schema: JsonSchema, filling: Filling, depth: number): object {
  const members = Object.entries((schema.properties ?? {}) as Record<string, unknown>).map(([key, value]) => [
    key,
    fill(value, filling, key, depth + 1),
  ]);
  const others = schema.additionalProperties;
  const free = typeof others === 'object' && others !== null && Object.keys(others).length > 0;
  const count = free ? Number(schema.maxProperties ?? 20) : 0;
  const added = Array.from({ length: count }, (_, n) => [`a${n}`, fill(others, filling, `a${n}`, depth + 1)]);
  return Object.fromEntries([...members, ...added]);
}

/** What a string must look like to pass its schema and be processed further. */
const FORMATS: [test: RegExp, value: string][] = [
  [/^email$/, 'a@example.com'],
  [/linkedin_url/, 'https://www.linkedin.com/in/jane-doe'],
  [/domain/, 'example.com'],
  [/url$/, 'https://127.0.0.1:8443/a'],
  [/currency/, 'EUR'],
  [/timezone/, 'UTC'],
  [/_at$|^from$|^to$/, '2026-01-01T00:00:00Z'],
  [/date/, '2026-01-31'],
];

function fillText(
  schema: JsonSchema,
  { shape, full, long = full !== true, chars }: Filling,
  name: string,
): string {
  if (chars !== undefined) return shape.of(chars);
  const known = FORMATS.find(([test]) => test.test(name) || test.test(String(schema.format ?? '')));
  if (known !== undefined) return known[1];
  const most = Math.min(Number(schema.maxLength ?? 200), 20_000);
  // Bounds count characters and shapes count UTF-16 units, which are never fewer than characters.
  return long ? shape.of(most - 1) : shape.of(Math.min(most, 20));
}

function bodyCase(operation: Operation, what: string, body: () => unknown): HostileCase {
  return rawCase(operation, what, () => JSON.stringify(body()));
}

function rawCase(
  operation: Operation,
  what: string,
  body: () => string,
  headers: () => Record<string, string> = () => ({}),
): HostileCase {
  return {
    name: `v1: ${operation.operationId}, ${what}`,
    size: limitOf(operation),
    async run(world) {
      const path = await pathOf(operation, world);
      const sent = body().slice(0, limitOf(operation));
      return outcomeOf(await world.call(operation.method, path, sent, headers()));
    },
  };
}

function queryCase(operation: Operation, what: string, query: string): HostileCase {
  return {
    name: `v1: ${operation.operationId}, ${what}`,
    size: query.length,
    run: async (world) => outcomeOf(await world.call('GET', `${await pathOf(operation, world)}?${query}`)),
  };
}

function encoded(shape: Shape): string {
  const sample = encodeURIComponent(shape.of(300).toWellFormed()).length / 300;
  return encodeURIComponent(shape.of(Math.floor(HEAD_CHARS / Math.max(1, sample))).toWellFormed());
}

const known = new WeakMap<World, Promise<string[]>>();

/** The URL of the operation with ids of existing resources, one of each kind, created once per world. */
async function pathOf({ path, parameters }: Operation, world: World): Promise<string> {
  const making = known.get(world) ?? makeOneOfEach(world);
  known.set(world, making);
  const ids = await making;
  const names = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
  const [first = 'x'] = idsFor(path, ids);
  return names.reduce((made, name, n) => made.replace(`{${name}}`, n === 0 ? first : 'x'), path);
}

async function makeOneOfEach({ call }: World): Promise<string[]> {
  const made = [
    await call('POST', '/v1/signals', {
      platform: { name: 'reddit' },
      text: 'Looking for a CRM, the budget is approved and we need it running by March. Any recommendations?',
      prospect: { name: 'Dana Whitfield', email: 'dana@example.com' },
      company: { name: 'Example', domain: 'example.com' },
    }),
    await call('POST', '/v1/leads', { email: 'dana@example.com', custom_fields: { a: '1' } }),
    await call('POST', '/v1/campaigns', { name: 'A', channel: 'email', steps: [{ step: 1, name: 'A' }] }),
    await call('POST', '/v1/webhooks', { url: 'https://127.0.0.1:8443/a', event_types: ['lead.enriched'] }),
    await call('POST', '/v1/sources', { kind: 'hackernews', name: 'A', query: 'crm', active: false }),
    await call('POST', '/v1/icps', { name: 'A', phrases: ['crm'] }),
    await call('POST', '/v1/keys', { name: 'A' }),
    await call('GET', '/v1/companies'),
    await call('GET', '/v1/events'),
  ];
  return idsIn(made.map(({ body }) => body).join('\n'));
}
