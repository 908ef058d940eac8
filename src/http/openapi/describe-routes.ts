import { STATUS_CODES } from 'node:http';
import swagger from '@fastify/swagger';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { z } from 'zod';
import { systemClock, toHttpDate } from '../../lib/clock.ts';
import { createYielder, sharedOnce, standInLine } from '../../lib/yielding.ts';
import type { ErrorCode } from '../../model/errors.ts';
import type { Deprecation } from '../deprecations.ts';
import { problemStatus } from '../problems.ts';
import { API_VERSION } from '../request-context.ts';
import {
  addExamples,
  type Document,
  type Examples,
  type JsonSchema,
  makeCompatible,
  type OperationObject,
  type Parameter,
  pruneComponents,
  type Reference,
  type ResponseObject,
  renameLoneInputs,
  tidyParameter,
  tidySchemas,
  transformDocument,
  transformRoute,
} from './schemas.ts';

/** The description of an operation in its route, including its schemas. */
export type DescribedRoute = Pick<RouteOptions, 'config' | 'schema'> & { method: string; url: string };

/** The description of a face beyond its routes. */
interface FaceDescription {
  head: Omit<Document, 'paths' | 'components'>;
  /** Its own components, with the schema `Problem`; headers and responses are added. */
  components: Document['components'];
  /** Operations without a route, by path. */
  unrouted?: Document['paths'];
  /** Completes an operation with what follows from its route. */
  complete(operation: OperationObject, route: DescribedRoute): void;
  /** The problems that an operation can return. */
  problemsOf(operation: OperationObject, route: DescribedRoute): Iterable<ErrorCode>;
  /** The meaning of each problem code for the caller. */
  meanings: Meanings;
  deprecations: readonly Deprecation[];
  examples(): Examples;
  /** Adds what no route describes. */
  finish?(document: Document): void;
}

/** The description of a face, generated on first use. */
export interface Description {
  /** Generates it in several turns of the event loop: in one piece, it took 0.2 s. */
  prepare(): Promise<void>;
  /** Generates it in one piece if it has not been prepared. */
  document(): Document;
}

/** The default of @fastify/swagger for a response whose schema has no description. */
const UNDESCRIBED = 'Default Response';

/**
 * Collects the routes registered on `app` from now on, and describes them on first request. What @fastify/swagger and
 * the zod transform omit (shared headers and problems, security, examples) is added from each route's configuration.
 */
export async function describeRoutes(app: FastifyInstance, face: FaceDescription): Promise<Description> {
  const routes = new Map<string, DescribedRoute>();
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    for (const name of [method].flat()) {
      const route = { method: name, url, ...(config && { config }), ...(schema && { schema }) };
      routes.set(`${name} ${toTemplate(url)}`, route);
    }
  });
  /** The schemas of routes that are already in JSON Schema, by the route's own. */
  const transformed = new Map<unknown, ReturnType<typeof transformRoute>['schema']>();
  await app.register(swagger, {
    openapi: {
      ...face.head,
      components: { ...structuredClone(face.components), headers: structuredClone(HEADERS) },
    } as never,
    stripBasePath: false,
    convertConstToEnum: false,
    transform({ schema, url, ...rest }) {
      const known = transformed.get(schema);
      transformed.delete(schema); // changed by what follows, and shared by HEAD
      return known === undefined ? transformRoute({ schema, url, ...rest }) : { schema: known, url };
    },
    transformObject: transformDocument,
  });

  let document: Document | null = null;

  async function generate(): Promise<void> {
    const nextTurn = createYielder(systemClock);
    for (const { schema, url } of routes.values()) {
      // Of the route and the document, it reads nothing else.
      const input = { schema, url, openapiObject: face.head } as unknown as Parameters<
        typeof transformRoute
      >[0];
      if (schema !== undefined) transformed.set(schema, transformRoute(input).schema);
      await nextTurn();
    }
    await standInLine();
    const incomplete = app.swagger() as unknown as Document;
    await standInLine();
    document ??= complete(incomplete, face, routes);
  }

  return {
    prepare: sharedOnce(generate),
    document() {
      document ??= complete(app.swagger() as unknown as Document, face, routes);
      return document;
    },
  };
}

function complete(
  document: Document,
  face: FaceDescription,
  routes: ReadonlyMap<string, DescribedRoute>,
): Document {
  const examples = face.examples();
  Object.assign(document.paths, structuredClone(face.unrouted));
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [name, operation] of Object.entries(item)) {
      const method = name.toUpperCase();
      const route = routes.get(`${method} ${path}`) ?? { method, url: path };
      face.complete(operation, route);
      completeOperation(operation, route);
      addProblems(document, operation.responses, {
        codes: face.problemsOf(operation, route),
        meanings: face.meanings,
        examples: examples.problems,
      });
      markDeprecated(operation, route, face.deprecations);
      addExamples(operation, examples);
    }
  }
  face.finish?.(document);
  for (const described of [document.paths, document.webhooks, document.components.schemas]) {
    tidySchemas(described);
  }
  pruneComponents(document);
  const named = renameLoneInputs(document);
  makeCompatible(named);
  // Sorted by name: the order of registration depends on which module is loaded first.
  const schemas = Object.entries(named.components.schemas ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  named.components.schemas = Object.fromEntries(schemas);
  return named;
}

/** Adds what follows from a route's schemas alone. */
function completeOperation(operation: OperationObject, { method, schema }: DescribedRoute): void {
  for (const parameter of operation.parameters ?? []) {
    if (isParameter(parameter)) tidyParameter(parameter);
  }
  if (isOptional(schema?.body) && operation.requestBody !== undefined) operation.requestBody.required = false;
  for (const [status, answer] of Object.entries(operation.responses)) {
    if (!('$ref' in answer)) completeSuccess(answer, { status, isPost: method === 'POST' });
  }
}

function completeSuccess(
  answer: ResponseObject,
  { status, isPost }: { status: string; isPost: boolean },
): void {
  if (answer.description === UNDESCRIBED) answer.description = STATUS_CODES[status] ?? 'Success';
  answer.headers = { ...ANSWER_HEADERS, ...answer.headers };
  if (isList(answer)) answer.headers.Link = headerRef('Link');
  if (status === '201') answer.headers.Location = headerRef('Location');
  if (isPost) answer.headers['Idempotent-Replayed'] = headerRef('Idempotent-Replayed');
}

function isList(answer: ResponseObject): boolean {
  const properties = answer.content?.['application/json']?.schema.properties;
  return typeof properties === 'object' && properties !== null && 'pagination' in properties;
}

/** Whether a parameter is inline, not a reference to a shared one. */
export function isParameter<R extends object>(one: Parameter | R): one is Parameter {
  return !('$ref' in one);
}

function isOptional(schema: unknown): boolean {
  return schema instanceof z.ZodType && schema.safeParse(null).success;
}

function toTemplate(url: string): string {
  return url.replace(/:([A-Za-z0-9_]+)/g, '{$1}');
}

/** Marks an operation as deprecated, with its removal date and its replacement. */
function markDeprecated(
  operation: OperationObject,
  { method, url }: { method: string; url: string },
  deprecations: readonly Deprecation[],
): void {
  const found = deprecations.find((entry) => entry.method === method && entry.path === url);
  if (found === undefined) return;
  operation.deprecated = true;
  const notice = `Deprecated: it goes on ${toHttpDate(found.sunsetAt)}. Use ${found.successor} instead.`;
  operation.description = [operation.description, notice].filter(Boolean).join('\n\n');
  for (const answer of Object.values(operation.responses)) {
    if ('$ref' in answer) continue;
    answer.headers = {
      ...answer.headers,
      Deprecation: headerRef('Deprecation'),
      Sunset: headerRef('Sunset'),
      Link: headerRef('Link'),
    };
  }
}

/** The meaning of each code of a face for the caller. */
type Meanings = Partial<Record<ErrorCode, string>>;

interface DescribedProblems {
  codes: Iterable<ErrorCode>;
  meanings: Meanings;
  /** An example document per code. */
  examples: Partial<Record<ErrorCode, unknown>>;
}

/**
 * Adds the problems of an operation to the document: one response per status, shared by the operations with the same
 * codes.
 */
function addProblems(
  document: Document,
  responses: Record<string, ResponseObject | Reference>,
  { codes, ...words }: DescribedProblems,
): void {
  document.components.responses ??= {};
  const shared = document.components.responses;
  for (const [status, group] of groupByStatus(codes)) {
    const name = group.map(toPascal).join('Or');
    shared[name] ??= problemAnswer(status, { ...words, codes: group, version: document.openapi });
    responses[String(status)] = { $ref: `#/components/responses/${name}` };
  }
}

function groupByStatus(codes: Iterable<ErrorCode>): [number, ErrorCode[]][] {
  const groups = new Map<number, ErrorCode[]>();
  for (const code of [...new Set(codes)].sort()) {
    const status = problemStatus(code);
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return [...groups].sort(([a], [b]) => a - b);
}

function problemAnswer(
  status: number,
  { codes, meanings, examples, version }: DescribedProblems & { codes: ErrorCode[]; version: string },
): ResponseObject {
  const lines = codes.map((code) => `\`${code}\`: ${meanings[code] ?? STATUS_CODES[status]}`);
  const met = codes.filter((code) => examples[code] !== undefined);
  return {
    description: `${STATUS_CODES[status]}. ${lines.join('; ')}.`,
    headers: { ...ANSWER_HEADERS, ...extraHeaders(codes) },
    content: {
      'application/problem+json': {
        schema: problemSchema(version, status, codes),
        ...(met.length > 0 && {
          examples: Object.fromEntries(met.map((code) => [code, { value: examples[code] }])),
        }),
      },
    },
  };
}

/** The problem's schema, restricted to these codes if the version of OpenAPI supports that. */
function problemSchema(version: string, status: number, codes: ErrorCode[]): JsonSchema {
  const problem = { $ref: '#/components/schemas/Problem' };
  if (version.startsWith('3.0')) return problem;
  return {
    allOf: [problem],
    properties: { status: { type: 'integer', const: status }, code: { type: 'string', enum: codes } },
  };
}

function extraHeaders(codes: ErrorCode[]): Record<string, Reference> {
  const has = (...some: ErrorCode[]) => codes.some((code) => some.includes(code));
  return {
    ...(has('UNAUTHENTICATED') && { 'WWW-Authenticate': headerRef('WWW-Authenticate') }),
    ...(has('RATE_LIMITED', 'UNAVAILABLE') && { 'Retry-After': headerRef('Retry-After') }),
    ...(has('METHOD_NOT_ALLOWED') && { Allow: headerRef('Allow') }),
  };
}

function toPascal(code: string): string {
  return code
    .split('_')
    .map((word) => word.slice(0, 1) + word.slice(1).toLowerCase())
    .join('');
}

interface Header {
  description: string;
  required: boolean;
  schema: JsonSchema;
  example?: unknown;
}

const count = { type: 'integer', minimum: 0 };

/** Every header of the API's responses, by name; the documents refer to them. */
const HEADERS: Record<string, Header> = {
  'X-Request-Id': {
    ...always('ID of the request: the one you sent, or a generated one. Include it when you contact us.', {
      type: 'string',
    }),
    example: 'req_1m7z9zj3wceqck2wzmktf747g',
  },
  'X-API-Version': always('Version of the API.', { type: 'string', enum: [API_VERSION] }),
  'RateLimit-Limit': {
    ...always('Maximum number of requests in a window.', { ...count, minimum: 1 }),
    example: 60,
  },
  'RateLimit-Remaining': { ...always('Number of requests left in the window.', count), example: 59 },
  'RateLimit-Reset': {
    ...always('When the window ends, in Unix seconds.', { type: 'integer' }),
    example: 1767225660,
  },
  'RateLimit-Policy': {
    ...always('Limit, and length of the window in seconds.', { type: 'string', pattern: '^\\d+;w=\\d+$' }),
    example: '60;w=60',
  },
  RateLimit: {
    ...always(
      'The same in one field (draft-ietf-httpapi-ratelimit-headers): `r` requests are left, and the window ends in `t` seconds.',
      { type: 'string', pattern: '^"default";r=\\d+;t=\\d+$' },
    ),
    example: '"default";r=59;t=42',
  },
  'Retry-After': { ...always('Number of seconds to wait before retrying.', count), example: 17 },
  'WWW-Authenticate': always('Authentication scheme to use.', { type: 'string' }),
  Allow: { ...always('Supported methods.', { type: 'string' }), example: 'GET, HEAD, OPTIONS' },
  Deprecation: always('The operation is deprecated.', { type: 'string', enum: ['true'] }),
  Sunset: always('When the operation will be removed, as an HTTP date (RFC 8594).', { type: 'string' }),
  Location: always('URL of the created object.', { type: 'string', format: 'uri' }),
  ETag: {
    ...sometimes(
      'Version of the object, for `If-Match` and `If-None-Match` (RFC 9110). A replayed response has none.',
      { type: 'string' },
    ),
    example: '"qT8bFzZ0x1Yk.Jb2mW9uQv0s7LxPa"',
  },
  Link: sometimes('`rel="next"`: URL of the next page, if there is one (RFC 8288).', { type: 'string' }),
  'Idempotent-Replayed': sometimes('`true` if this is the stored response of an earlier request.', {
    type: 'string',
    enum: ['true'],
  }),
};

export function headerRef(name: string): Reference {
  return { $ref: `#/components/headers/${name}` };
}

/** The headers of every response, including errors. */
const ANSWER_HEADERS: Record<string, Reference> = Object.fromEntries(
  [
    'X-Request-Id',
    'X-API-Version',
    'RateLimit-Limit',
    'RateLimit-Remaining',
    'RateLimit-Reset',
    'RateLimit-Policy',
    'RateLimit',
  ].map((name) => [name, headerRef(name)]),
);

function always(description: string, schema: JsonSchema): Header {
  return { description, required: true, schema };
}

function sometimes(description: string, schema: JsonSchema): Header {
  return { description, required: false, schema };
}
