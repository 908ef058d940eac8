import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { addAll } from '../../lib/lists.ts';
import type { ErrorCode } from '../../model/errors.ts';

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>;

/**
 * Replaces the type provider's own override, which drops every union branch that is still empty at that moment:
 * branches that trim or convert are filled in later, and would be missing from the description. It also covers the
 * provider's handling of responses without a body.
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

/** For these formats, the pattern that zod adds repeats the format in hundreds of characters. */
const SELF_EXPLAINING = new Set(['date-time', 'date', 'email', 'uri', 'uuid']);

/** Removes everything from the schemas below `node` that only zod itself needs. */
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
  // zod limits every integer to what a double represents exactly.
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
}

/** Describes a nullable value as one schema with two types instead of two branches. */
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
 * A query parameter as callers see it. zod reads text: a schema that converts it states the meaning of the text with
 * `.meta({ 'x-as': … })`. An absent parameter is absent, never null.
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

/** Removes unreferenced components: every registered schema has an input and an output variant. */
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
 * Gives input schemas the plain name if no output schema has it: the type provider names every input schema `…Input`,
 * even without an output variant.
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

/** The parts of an OpenAPI document that are processed here; JSON Schemas remain open. */
export type JsonSchema = { [keyword: string]: unknown };

export interface Parameter {
  name: string;
  in: 'query' | 'path' | 'header';
  required?: boolean;
  description?: string;
  schema: JsonSchema;
  style?: string;
  explode?: boolean;
  example?: unknown;
}

export interface MediaType {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface Reference {
  $ref: string;
}

export interface ResponseObject {
  description: string;
  headers?: Record<string, unknown>;
  content?: Record<string, MediaType>;
}

export interface OperationObject {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  deprecated?: boolean;
  parameters?: (Parameter | Reference)[];
  requestBody?: { required?: boolean; description?: string; content: Record<string, MediaType> };
  responses: Record<string, ResponseObject | Reference>;
  security?: Record<string, string[]>[];
  'x-required-scope'?: string;
}

export interface Document {
  openapi: string;
  info: Record<string, unknown>;
  servers: { url: string; description?: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  webhooks?: Record<string, { post: OperationObject }>;
  components: Record<string, Record<string, unknown>>;
}

/** The description of an API for other parts of the server; each member is built on first use. */
export interface DescribedApi {
  /** Generates the description in several turns of the event loop. */
  prepare(): Promise<void>;
  description(): Document;
  /** The responses of its index and its list of operations. */
  index(): unknown;
  operations(): unknown;
}

/** Example bodies. */
export interface Examples {
  /** By operationId: the request body, and the first response of each status. */
  operations: Record<string, { request?: unknown; answers: Record<string, unknown> }>;
  problems: Partial<Record<ErrorCode, unknown>>;
  /** By event type: the delivered body. */
  webhooks?: Record<string, unknown>;
}

/** Adds examples to an operation's bodies. */
export function addExamples(operation: OperationObject, { operations }: Examples): void {
  const seen = operations[operation.operationId ?? ''];
  if (seen === undefined) return;
  const sent = operation.requestBody?.content['application/json'];
  if (sent !== undefined && seen.request !== undefined) sent.example = seen.request;
  for (const [status, answer] of Object.entries(operation.responses)) {
    const media = jsonOf(answer);
    if (media !== undefined && seen.answers[status] !== undefined) media.example = seen.answers[status];
  }
}

function jsonOf(answer: ResponseObject | Reference) {
  return '$ref' in answer ? undefined : answer.content?.['application/json'];
}

/**
 * Prepares the document for generated clients that keep working through compatible changes: responses and webhooks
 * may get new members, so their schemas are open, while request schemas stay closed; bodies are components with names
 * suitable for code.
 */
export function makeCompatible(document: Document): void {
  const operations = operationsOf(document.paths);
  nameBodies(document, operations);
  const sent = closure(
    document,
    operations.map(({ requestBody }) => requestBody),
  );
  for (const name of sent) makeDefaultsOptional(document.components.schemas?.[name]);
  const received = [...operations.map(({ responses }) => responses), document.webhooks];
  received.forEach(open);
  for (const [name, schema] of Object.entries(document.components.schemas ?? {})) {
    if (!sent.has(name)) open(schema);
  }
  Object.values(document.components.responses ?? {}).forEach(open);
}

function operationsOf(paths: Record<string, Record<string, OperationObject>>): OperationObject[] {
  return Object.values(paths).flatMap((item) => Object.values(item));
}

/** Each generator would name inline bodies in its own way, such as `CreateWebhookBodyPayloadFormatAnyOf`. */
function nameBodies(document: Document, operations: readonly OperationObject[]): void {
  const schemas = document.components.schemas ?? {};
  document.components.schemas = schemas;
  for (const { operationId = '', summary, requestBody } of operations) {
    const media = requestBody?.content['application/json'];
    if (media === undefined || '$ref' in media.schema) continue;
    const name = bodyName(operationId);
    if (name in schemas) throw new Error(`${operationId}: there is a component "${name}" already`);
    schemas[name] = { description: `Body of \`${operationId}\`: ${summary}`, ...media.schema };
    media.schema = { $ref: `${SCHEMAS}${name}` };
  }
}

/** `createWebhook` takes a `NewWebhook`, `updateWebhook` a `WebhookUpdate`, `moveLead` a `MoveLeadRequest`. */
function bodyName(operationId: string): string {
  const [, verb, thing = ''] = /^(create|update)([A-Z]\w*)$/.exec(operationId) ?? [];
  if (verb === 'create') return `New${thing}`;
  if (verb === 'update') return `${thing}Update`;
  return `${operationId.slice(0, 1).toUpperCase()}${operationId.slice(1)}Request`;
}

/** The names of the component schemas reachable from `nodes`. */
function closure(document: Document, nodes: readonly unknown[]): Set<string> {
  const names = new Set<string>();
  const queue = nodes.flatMap(namesIn);
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (names.has(name)) continue;
    names.add(name);
    for (const next of namesIn(document.components.schemas?.[name])) queue.push(next);
  }
  return names;
}

function namesIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const ref = '$ref' in node && typeof node.$ref === 'string' ? node.$ref : '';
  const own = ref.startsWith(SCHEMAS) ? [ref.slice(SCHEMAS.length)] : [];
  return [...own, ...Object.values(node).flatMap(namesIn)];
}

/** Allows additional members in every object below `node`. */
function open(node: unknown): void {
  forEachSchema(node, (schema) => {
    if (schema.additionalProperties === false) delete schema.additionalProperties;
  });
}

/**
 * Generators treat a component's member with a default as always present (openapi-typescript), which is true in
 * responses. In a request it may be omitted, so its default is moved to the description.
 */
function makeDefaultsOptional(node: unknown): void {
  forEachSchema(node, (schema) => {
    if (schema.default === undefined) return;
    const note = `Default: \`${JSON.stringify(schema.default)}\`.`;
    schema.description = schema.description === undefined ? note : `${schema.description} ${note}`;
    delete schema.default;
  });
}

function forEachSchema(node: unknown, change: (schema: JsonSchema) => void): void {
  if (typeof node !== 'object' || node === null) return;
  for (const [key, child] of Object.entries(node)) {
    if (key !== 'example' && key !== 'examples' && key !== 'default') forEachSchema(child, change);
  }
  if (!Array.isArray(node)) change(node as JsonSchema);
}
