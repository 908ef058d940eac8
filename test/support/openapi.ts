import type { FastifyInstance } from 'fastify';

export type JsonSchema = { [keyword: string]: unknown };

export interface Parameter {
  name: string;
  in: 'query' | 'path' | 'header';
  required?: boolean;
  schema: JsonSchema;
}

export interface Answer {
  description: string;
  headers: Record<string, { required: boolean; schema: JsonSchema }>;
  content?: Record<string, Media>;
}

export interface Media {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

/** An operation of the description with all references resolved, except for schemas. */
export interface Operation {
  method: string;
  /** With parameters in braces. */
  path: string;
  operationId: string;
  summary?: string;
  tags?: string[];
  scope: string | null;
  needsKey: boolean;
  parameters: Parameter[];
  body: { required: boolean; schema: JsonSchema; example?: unknown } | null;
  answers: Record<string, Answer>;
}

/** The parts of an OpenAPI document that tests read. */
export interface Description {
  document: { [member: string]: unknown };
  operations: Operation[];
}

/** The description of /v1 that the app serves. */
export async function readDescription(app: FastifyInstance): Promise<Description> {
  const answer = await app.inject('/v1/openapi.json');
  if (answer.statusCode !== 200)
    throw new Error(`/v1/openapi.json answered ${answer.statusCode}: ${answer.body}`);
  return descriptionOf(answer.json());
}

/** A document with its operations. */
export function descriptionOf(document: Description['document']): Description {
  const paths = document.paths as Record<string, Record<string, JsonSchema>>;
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, raw]) =>
      toOperation(document, { path, method: method.toUpperCase(), raw }),
    ),
  );
  return { document, operations };
}

/** Resolves a local reference; returns anything else unchanged. */
export function resolve<T>(document: object, node: unknown): T {
  if (typeof node !== 'object' || node === null || !('$ref' in node)) return node as T;
  let target: unknown = document;
  for (const part of String(node.$ref).split('/').slice(1)) target = Reflect.get(Object(target), part);
  if (target === undefined) throw new Error(`${String(node.$ref)} does not resolve`);
  return resolve<T>(document, target);
}

interface Raw {
  path: string;
  method: string;
  raw: JsonSchema;
}

interface RawBody {
  required?: boolean;
  content: Record<string, { schema: JsonSchema; example?: unknown }>;
}

function toOperation(document: object, { path, method, raw }: Raw): Operation {
  const security = raw.security as object[];
  const body = raw.requestBody as RawBody | undefined;
  const json = body?.content['application/json'];
  const parameters = (raw.parameters ?? []) as unknown[];
  return {
    method,
    path,
    operationId: String(raw.operationId ?? ''),
    ...(raw.summary !== undefined && { summary: String(raw.summary) }),
    ...(raw.tags !== undefined && { tags: raw.tags as string[] }),
    scope: (raw['x-required-scope'] as string | undefined) ?? null,
    needsKey: security.length > 0,
    parameters: parameters.map((one) => resolve<Parameter>(document, one)),
    body: json === undefined ? null : { ...json, required: body?.required === true },
    answers: Object.fromEntries(
      Object.entries(raw.responses as object).map(([status, one]) => [status, toAnswer(document, one)]),
    ),
  };
}

function toAnswer(document: object, node: unknown): Answer {
  const answer = resolve<Answer>(document, node);
  const headers = Object.entries(answer.headers ?? {}).map(([name, header]) => [
    name,
    resolve(document, header),
  ]);
  return { ...answer, headers: Object.fromEntries(headers) };
}
