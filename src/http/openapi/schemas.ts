import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { addAll } from '../../lib/lists.ts';
import type { Document, JsonSchema, Parameter } from './document-types.ts';

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>;

/**
 * In place of the type provider's own, which drops from a union every branch that is still empty at that moment: a
 * branch that trims or converts is filled in later, and would be missing from the description. What it does for an
 * answer without a body is done here too.
 */
const override: Override = ({ zodSchema, jsonSchema }) => {
  if (zodSchema instanceof z.ZodUndefined) jsonSchema.type = 'null';
};

const settings = { zodToJsonConfig: { override } };

/** A route's zod schemas as JSON Schema. */
export const transformRoute: ReturnType<typeof createJsonSchemaTransform> =
  createJsonSchemaTransform(settings);

/** The schemas with an id as components of the document. */
export const transformDocument = createJsonSchemaTransformObject(settings);

const SCHEMAS = '#/components/schemas/';

/** Patterns that zod writes beside a format say the same again in hundreds of characters. */
const SELF_EXPLAINING = new Set(['date-time', 'date', 'email', 'uri', 'uuid']);

/** Takes out of every schema below `node` what only zod's own machinery needs. */
export function tidySchemas(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [key, child] of Object.entries(node)) {
    if (key !== 'example' && key !== 'examples' && key !== 'default') tidySchemas(child);
  }
  if (!Array.isArray(node)) tidySchema(node as JsonSchema);
}

function tidySchema(schema: JsonSchema): void {
  if (typeof schema.pattern === 'string' && SELF_EXPLAINING.has(String(schema.format))) delete schema.pattern;
  mergeNull(schema);
  // zod bounds every integer by what a double holds exactly.
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}

/** What may be null is one schema of two types, and not two branches. */
function mergeNull(schema: JsonSchema): void {
  if (!Array.isArray(schema.anyOf) || schema.anyOf.length !== 2) return;
  const [one, none]: JsonSchema[] = schema.anyOf;
  if (none?.type !== 'null' || typeof one?.type !== 'string' || 'const' in one) return;
  const { anyOf: _, ...outer } = schema;
  const merged = {
    ...one,
    ...outer,
    type: [one.type, 'null'],
    ...(one.enum !== undefined && { enum: [...(one.enum as unknown[]), null] }),
  };
  delete schema.anyOf;
  Object.assign(schema, merged);
}

/**
 * A query parameter as a caller sees it. What zod reads is text: a schema that turns it into something else says with
 * `.meta({ 'x-as': … })` what the text stands for. An absent parameter is absent, never null.
 */
export function tidyParameter(parameter: Parameter): void {
  if (parameter.in !== 'query') return;
  const { 'x-as': meant, ...plain } = withoutNull(parameter.schema);
  const schema = typeof meant === 'object' && meant !== null ? { ...(meant as JsonSchema) } : plain;
  if (isEmpty(schema.default)) delete schema.default;
  delete schema.description;
  parameter.schema = schema;
  if (schema.type === 'array') Object.assign(parameter, { style: 'form', explode: true });
}

function withoutNull(schema: JsonSchema): JsonSchema {
  const branches = Array.isArray(schema.anyOf) ? schema.anyOf.filter((one) => one?.type !== 'null') : [];
  if (branches.length === 0) return schema;
  const { anyOf: _, ...rest } = schema;
  return branches.length === 1 ? { ...branches[0], ...rest } : { ...rest, anyOf: branches };
}

function isEmpty(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.length === 0);
}

/** Drops components that nothing refers to: every registered schema comes in an input and an output form. */
export function pruneComponents(document: Document): void {
  const { components, ...rest } = document;
  const seen = new Set<string>();
  const queue = refsIn(rest);
  for (let ref = queue.pop(); ref !== undefined; ref = queue.pop()) {
    if (seen.has(ref)) continue;
    seen.add(ref);
    const [, , kind = '', name = ''] = ref.split('/');
    addAll(queue, refsIn(components[kind]?.[name]));
  }
  for (const [kind, entries] of Object.entries(components)) {
    if (kind === 'securitySchemes') continue;
    for (const name of Object.keys(entries)) {
      if (!seen.has(`#/components/${kind}/${name}`)) delete entries[name];
    }
    if (Object.keys(entries).length === 0) delete components[kind];
  }
}

/**
 * Gives input forms the plain name where no output form has it: the type provider calls a schema `…Input` wherever it
 * describes what comes in, also one that never goes out.
 */
export function renameLoneInputs(document: Document): Document {
  const names = new Set(Object.keys(document.components.schemas ?? {}));
  const lone = [...names].filter((name) => name.endsWith('Input') && !names.has(plain(name)));
  if (lone.length === 0) return document;
  const refs = new Map(lone.map((name) => [`${SCHEMAS}${name}`, `${SCHEMAS}${plain(name)}`]));
  const renamed: Document = JSON.parse(
    JSON.stringify(document, (key, value) => (key === '$ref' ? (refs.get(value) ?? value) : value)),
  );
  const schemas = Object.entries(renamed.components.schemas ?? {});
  renamed.components.schemas = Object.fromEntries(
    schemas.map(([name, schema]) => [lone.includes(name) ? plain(name) : name, schema]),
  );
  return renamed;
}

function plain(name: string): string {
  return name.slice(0, -'Input'.length);
}

function refsIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const own = '$ref' in node && typeof node.$ref === 'string' ? [node.$ref] : [];
  return [...own, ...Object.values(node).flatMap(refsIn)];
}
