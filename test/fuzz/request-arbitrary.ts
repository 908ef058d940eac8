import fc from 'fast-check';
import { idsFor } from '../support/id-kinds.ts';
import type { Operation, Parameter } from '../support/openapi.ts';
import { type ValueSource, valuesOf } from './json-arbitrary.ts';
import { mutated } from './mutations.ts';

/** A request to send, and the operation that it targets. */
export interface FuzzRequest {
  operationId: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  /** As sent over the wire; null: none. */
  body: string | null;
}

/** The caller: a placeholder, because keys are created with the world. */
export const GOOD_KEY = 'GOOD_KEY';

/** Requests of every operation: most of them nearly valid, some far from it. */
export function requestOf(operations: readonly Operation[], source: ValueSource): fc.Arbitrary<FuzzRequest> {
  return fc.oneof(...operations.map((operation) => requestOfOne(operation, source)));
}

function requestOfOne(operation: Operation, source: ValueSource): fc.Arbitrary<FuzzRequest> {
  return fc
    .record({
      path: pathOf(operation, source),
      query: queryOf(operation, source),
      headers: HEADERS,
      body: bodyOf(operation, source),
    })
    .map(({ path, query, headers, body }) => ({
      operationId: operation.operationId,
      method: operation.method,
      url: query === '' ? path : `${path}?${query}`,
      headers: body === null ? headers : { 'content-type': 'application/json', ...headers },
      body,
    }));
}

const WEIRD_SEGMENTS = fc.oneof(
  fc.constantFrom(
    '0',
    'null',
    '%00',
    '%2e%2e%2fetc',
    '..%2f',
    '%F0%9F%9A%90',
    'x'.repeat(3_000),
    "'%20OR%201=1",
    'sig_',
    '__proto__',
  ),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).map(encode),
);

function pathOf({ path, parameters }: Operation, source: ValueSource): fc.Arbitrary<string> {
  const names = parameters.filter((one) => one.in === 'path').map((one) => one.name);
  const fitting = idsFor(path, source.ids);
  const segment = fc.oneof(
    ...(fitting.length === 0 ? [] : [{ weight: 8, arbitrary: fc.constantFrom(...fitting) }]),
    { weight: 1, arbitrary: fc.constantFrom(...source.ids) },
    { weight: 1, arbitrary: WEIRD_SEGMENTS },
  );
  return fc
    .tuple(...names.map(() => segment))
    .map((values) =>
      names.reduce((text, name, i) => text.replace(`{${name}}`, () => String(values[i])), path),
    );
}

/** Dots alone would be resolved as path segments, and half a surrogate pair cannot be encoded. */
function encode(text: string): string {
  const encoded = encodeURIComponent(text.toWellFormed());
  return /^\.+$/.test(encoded) ? 'dots' : encoded;
}

function queryOf({ parameters }: Operation, source: ValueSource): fc.Arbitrary<string> {
  const known = parameters.filter((one) => one.in === 'query').map((one) => partOf(one, source));
  const stray = fc.constantFrom(
    'limit',
    'limt=3',
    'a[b]=c',
    '=',
    '%',
    'x=%ff',
    '__proto__=1',
    'cursor=a&cursor=b',
    'limit=1e3',
  );
  const parts = fc.subarray(known).chain((chosen) => fc.tuple(...chosen));
  return fc
    .tuple(parts, fc.oneof({ weight: 9, arbitrary: fc.constant('') }, { weight: 1, arbitrary: stray }))
    .map(([good, odd]) => [...good, odd].filter((part) => part !== '').join('&'));
}

function partOf({ name, schema }: Parameter, source: ValueSource): fc.Arbitrary<string> {
  return mutated(valuesOf(source, schema, name)).map((value) =>
    [value]
      .flat()
      .map((one) => `${name}=${encode(typeof one === 'string' ? one.slice(0, 2_500) : JSON.stringify(one))}`)
      .join('&'),
  );
}

const BROKEN_BODIES = [
  '',
  '{',
  '[]',
  'null',
  '"x"',
  '{"a":1,}',
  '\ufeff{}',
  '{"a":1}{"b":2}',
  '{"__proto__":{"x":1}}',
  `${'['.repeat(500)}`,
];

function bodyOf({ body, method }: Operation, source: ValueSource): fc.Arbitrary<string | null> {
  if (method === 'GET') return fc.constant(null);
  const broken = fc.constantFrom(...BROKEN_BODIES);
  if (body === null)
    return fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: broken });
  const asDescribed = mutated(valuesOf(source, body.schema)).map(toText);
  // A slightly changed valid body reaches deeper than one generated from a schema.
  const asShown = mutated(fc.constant(body.example ?? {})).map(toText);
  return fc.oneof(
    { weight: 10, arbitrary: asDescribed },
    { weight: 10, arbitrary: asShown },
    { weight: 1, arbitrary: broken },
    { weight: 1, arbitrary: fc.constant(null) },
  );
}

function toText(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

const ODD_HEADERS: Record<string, string>[] = [
  { authorization: '' },
  { authorization: 'Bearer' },
  { authorization: 'Bearer sp_live_000000000000000000000000000000000000' },
  { authorization: 'Basic dXNlcjpwYXNz' },
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/json; charset=latin1' },
  { 'content-type': 'application/problem+json' },
  { 'content-type': '/' },
  { 'idempotency-key': '' },
  { 'idempotency-key': 'with space' },
  { 'idempotency-key': 'x'.repeat(300) },
  { 'x-request-id': 'mine-1' },
  { 'x-request-id': '\u00ff<>' },
  { accept: 'text/html' },
  { 'x-forwarded-for': '1.2.3.4, not an address' },
  { 'if-none-match': '*' },
  { range: 'bytes=0-1' },
];

const HEADERS: fc.Arbitrary<Record<string, string>> = fc
  .record({
    odd: fc.oneof(
      { weight: 8, arbitrary: fc.constant({}) },
      { weight: 2, arbitrary: fc.constantFrom(...ODD_HEADERS) },
    ),
    // Few keys, so that they collide: with the same request, with another, while one is running.
    key: fc.oneof(
      { weight: 8, arbitrary: fc.constant(null) },
      { weight: 2, arbitrary: fc.constantFrom('k1', 'k2', 'k3') },
    ),
  })
  .map(({ odd, key }) => ({
    authorization: GOOD_KEY,
    ...(key !== null && { 'idempotency-key': key }),
    ...odd,
  }));
