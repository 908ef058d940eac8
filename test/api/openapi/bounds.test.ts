import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../../support/app.ts';
import { type Description, type JsonSchema, readDescription, resolve } from '../../support/openapi.ts';

let t: TestApp;
let description: Description;
beforeAll(async () => {
  t = await buildTestApp();
  description = await readDescription(t.app);
});
afterAll(() => t.app.close());

/** String formats with a fixed length. */
const FIXED_LENGTH = ['date'];

/** Returns every place in a schema that allows strings, lists or records of unlimited size. */
function unbounded(node: JsonSchema, place: string): string[] {
  const schema = resolve<JsonSchema>(description.document, node);
  const branches = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => (schema[key] ?? []) as JsonSchema[]);
  if (branches.length > 0) return branches.flatMap((branch, i) => unbounded(branch, `${place}|${i}`));
  if (schema.enum !== undefined || schema.const !== undefined) return [];
  const types = [schema.type].flat();
  return [
    ...(types.length === 1 && types[0] === undefined ? [`${place}: anything`] : []),
    ...(types.includes('string') ? unboundedText(schema, place) : []),
    ...(types.includes('array') ? unboundedList(schema, place) : []),
    ...(types.includes('object') ? unboundedObject(schema, place) : []),
  ];
}

function unboundedText(schema: JsonSchema, place: string): string[] {
  const bounded = schema.maxLength !== undefined || FIXED_LENGTH.includes(String(schema.format));
  return bounded ? [] : [`${place}: text without maxLength`];
}

function unboundedList(schema: JsonSchema, place: string): string[] {
  const items = unbounded((schema.items ?? {}) as JsonSchema, `${place}[]`);
  return schema.maxItems === undefined ? [`${place}: list without maxItems`, ...items] : items;
}

function unboundedObject(schema: JsonSchema, place: string): string[] {
  const members = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  const faults = members.flatMap(([name, member]) => unbounded(member, `${place}.${name}`));
  if (schema.additionalProperties === false) return faults;
  const names = schema.propertyNames as JsonSchema | undefined;
  if (schema.maxProperties === undefined) faults.push(`${place}: record without maxProperties`);
  if (names?.maxLength === undefined) faults.push(`${place}: names without maxLength`);
  return [...faults, ...unbounded((schema.additionalProperties ?? {}) as JsonSchema, `${place}{}`)];
}

test('every string, list and record in a request body is bounded', () => {
  const bodies = description.operations.flatMap(({ operationId, body }) =>
    body === null ? [] : [{ operationId, schema: body.schema }],
  );
  expect(bodies.length).toBeGreaterThan(20);
  expect(bodies.flatMap(({ operationId, schema }) => unbounded(schema, operationId))).toEqual([]);
});

test('every parameter is bounded', () => {
  const faults = description.operations.flatMap(({ operationId, parameters }) =>
    parameters.flatMap(({ name, schema }) => unbounded(schema, `${operationId}?${name}`)),
  );
  expect(faults).toEqual([]);
});

/** Returns every schema below `node` with its place. */
function schemasBelow(node: unknown, place: string): [string, JsonSchema][] {
  if (typeof node !== 'object' || node === null) return [];
  const own: [string, JsonSchema][] = Array.isArray(node) ? [] : [[place, node as JsonSchema]];
  const below = Object.entries(node).filter(([key]) => !/^(examples?|default|enum|const)$/.test(key));
  return [...own, ...below.flatMap(([key, child]) => schemasBelow(child, `${place}/${key}`))];
}

test('patterns use only syntax that other languages support', () => {
  // RE2 has no look-around, other engines no \p or named groups, and Unicode escapes vary.
  const exotic = /\(\?[^:]|\\[pPuxkKcQE]|\\\d|\[\[:/;
  const schemas = schemasBelow(description.document, '');
  const patterns = schemas.filter(([, { pattern }]) => typeof pattern === 'string');
  expect(patterns.length).toBeGreaterThan(5);
  expect(patterns.filter(([, { pattern }]) => exotic.test(String(pattern)))).toEqual([]);
});

test('every component, parameter and member has a description', () => {
  const { schemas } = description.document.components as { schemas: Record<string, JsonSchema> };
  const silent = Object.entries(schemas).flatMap(([name, { description: said }]) => (said ? [] : [name]));
  for (const [place, { properties }] of schemasBelow(description.document, '')) {
    for (const [name, member] of Object.entries((properties ?? {}) as Record<string, JsonSchema>)) {
      // A problem's `status` and `code` within a response only narrow what the component describes.
      if (place.startsWith('/components/responses/')) continue;
      const said = member.description ?? resolve<JsonSchema>(description.document, member).description;
      if (!said && !place.endsWith('/properties')) silent.push(`${place}.${name}`);
    }
  }
  const parameters = description.operations.flatMap(({ operationId, parameters: all }) =>
    (all as { name: string; description?: string }[])
      .filter((one) => !one.description)
      .map(({ name }) => `${operationId}?${name}`),
  );
  expect([...silent, ...parameters]).toEqual([]);
});

test('optional strings use one named schema', () => {
  const branches = schemasBelow(description.document, '').filter(
    ([place, { anyOf }]) =>
      Array.isArray(anyOf) &&
      anyOf.length > 2 &&
      !/^\/components\/schemas\/[^/]+$/.test(place) &&
      anyOf.some((one) => one.const === ''),
  );
  expect(branches).toEqual([]);
});
