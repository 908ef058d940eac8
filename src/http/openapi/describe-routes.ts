import { STATUS_CODES } from 'node:http';
import swagger from '@fastify/swagger';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { z } from 'zod';
import { toHttpDate } from '../../lib/clock.ts';
import type { ErrorCode } from '../../model/errors.ts';
import type { Deprecation } from '../deprecations.ts';
import { makeCompatible } from './compatibility.ts';
import type { Answer, Document, Operation, Parameter } from './document-types.ts';
import { addExamples, type Examples } from './examples.ts';
import { ANSWER_HEADERS, HEADERS, headerRef } from './headers.ts';
import { addProblems, type Meanings } from './problem-answers.ts';
import {
  pruneComponents,
  renameLoneInputs,
  tidyParameter,
  tidySchemas,
  transformDocument,
  transformRoute,
} from './schemas.ts';

/** What an operation's route says besides its schemas. */
export type DescribedRoute = Pick<RouteOptions, 'config' | 'schema'> & { method: string; url: string };

/** What a face says of itself besides its routes. */
interface FaceDescription {
  head: Omit<Document, 'paths' | 'components'>;
  /** Its own, with the schema `Problem`; headers and answers are added. */
  components: Document['components'];
  /** Operations without a route, by path. */
  unrouted?: Document['paths'];
  /** Says of an operation what follows from its route. */
  complete(operation: Operation, route: DescribedRoute): void;
  /** The problems that an operation can answer. */
  problemsOf(operation: Operation, route: DescribedRoute): Iterable<ErrorCode>;
  /** What each of them means to its caller. */
  meanings: Meanings;
  deprecations: readonly Deprecation[];
  examples(): Examples;
  /** Adds what no route tells. */
  finish?(document: Document): void;
}

/** What @fastify/swagger says of an answer whose schema has no description. */
const UNDESCRIBED = 'Default Response';

/**
 * Watches the routes that are added to `app` from now on, and describes them on demand, once. What @fastify/swagger and
 * the zod transform leave out (shared headers and problems, security, examples) is added from each route's configuration.
 */
export async function describeRoutes(app: FastifyInstance, face: FaceDescription): Promise<() => Document> {
  const routes = new Map<string, DescribedRoute>();
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    for (const name of [method].flat()) {
      const route = { method: name, url, ...(config && { config }), ...(schema && { schema }) };
      routes.set(`${name} ${toTemplate(url)}`, route);
    }
  });
  await app.register(swagger, {
    openapi: {
      ...face.head,
      components: { ...structuredClone(face.components), headers: structuredClone(HEADERS) },
    } as never,
    stripBasePath: false,
    convertConstToEnum: false,
    transform: transformRoute,
    transformObject: transformDocument,
  });

  let document: Document | null = null;
  return () => {
    document ??= complete(app.swagger() as unknown as Document, face, routes);
    return document;
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
  return named;
}

/** What follows from a route's schemas alone. */
function completeOperation(operation: Operation, { method, schema }: DescribedRoute): void {
  for (const parameter of operation.parameters ?? []) {
    if (isParameter(parameter)) tidyParameter(parameter);
  }
  if (isOptional(schema?.body) && operation.requestBody !== undefined) operation.requestBody.required = false;
  for (const [status, answer] of Object.entries(operation.responses)) {
    if (!('$ref' in answer)) completeSuccess(answer, { status, isPost: method === 'POST' });
  }
}

function completeSuccess(answer: Answer, { status, isPost }: { status: string; isPost: boolean }): void {
  if (answer.description === UNDESCRIBED) answer.description = STATUS_CODES[status] ?? 'Success';
  answer.headers = { ...ANSWER_HEADERS, ...answer.headers };
  if (isList(answer)) answer.headers.Link = headerRef('Link');
  if (status === '201') answer.headers.Location = headerRef('Location');
  if (isPost) answer.headers['Idempotent-Replayed'] = headerRef('Idempotent-Replayed');
}

function isList(answer: Answer): boolean {
  const properties = answer.content?.['application/json']?.schema.properties;
  return typeof properties === 'object' && properties !== null && 'pagination' in properties;
}

/** Whether it is inline, not a reference to a shared one. */
export function isParameter<R extends object>(one: Parameter | R): one is Parameter {
  return !('$ref' in one);
}

function isOptional(schema: unknown): boolean {
  return schema instanceof z.ZodType && schema.safeParse(null).success;
}

function toTemplate(url: string): string {
  return url.replace(/:([A-Za-z0-9_]+)/g, '{$1}');
}

/** Says of an operation in the registry that it will go, when, and what replaces it. */
function markDeprecated(
  operation: Operation,
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
