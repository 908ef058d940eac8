import { STATUS_CODES } from 'node:http';
import type { RouteOptions } from 'fastify';
import { z } from 'zod';
import type { ErrorCode } from '../../model/errors.ts';
import type { Answer, Document, Operation, Parameter, Reference } from './document-types.ts';
import { ANSWER_HEADERS, headerRef } from './headers.ts';
import { addProblems } from './problem-answers.ts';
import { tidyParameter } from './schemas.ts';

/** What an operation's route says besides its schemas. */
export type DescribedRoute = Pick<RouteOptions, 'config' | 'schema'> & { method: string; url: string };

const UNDOCUMENTED = 'Default Response';

/** Adds what follows from a route's configuration: security, headers, the idempotency key and every problem. */
export function completeOperation(document: Document, operation: Operation, route: DescribedRoute): void {
  const isPost = route.method === 'POST';
  describeScope(operation, route);
  for (const parameter of operation.parameters ?? []) {
    if (!('$ref' in parameter)) tidyParameter(parameter);
  }
  if (isPost) {
    operation.parameters = [
      ...(operation.parameters ?? []),
      { $ref: '#/components/parameters/IdempotencyKey' },
    ];
  }
  if (isOptional(route.schema?.body) && operation.requestBody !== undefined) {
    operation.requestBody.required = false;
  }
  for (const [status, answer] of Object.entries(operation.responses)) {
    if (!('$ref' in answer)) completeSuccess(answer, { status, isPost });
  }
  addProblems(document, operation.responses, problemsOf(operation, route));
}

function describeScope(operation: Operation, { config }: DescribedRoute): void {
  const scope = config?.scope;
  if (scope === undefined || scope === 'none') {
    operation.security = [];
    return;
  }
  // OpenAPI 3.1: for an `http` scheme the list names the roles that are needed.
  operation.security = [{ bearer: scope === 'any' ? [] : [scope] }];
  if (scope !== 'any') operation['x-required-scope'] = scope;
  const needs = scope === 'any' ? 'Any valid key will do.' : `Needs the scope \`${scope}\`.`;
  operation.description =
    operation.description === undefined ? needs : `${operation.description}\n\n${needs}`;
}

function completeSuccess(answer: Answer, { status, isPost }: { status: string; isPost: boolean }): void {
  if (answer.description === UNDOCUMENTED) answer.description = STATUS_CODES[status] ?? 'Success';
  answer.headers = { ...ANSWER_HEADERS };
  if (isList(answer)) answer.headers.Link = headerRef('Link');
  if (status === '201') answer.headers.Location = headerRef('Location');
  if (isPost) answer.headers['Idempotent-Replayed'] = headerRef('Idempotent-Replayed');
}

function isList(answer: Answer): boolean {
  const properties = answer.content?.['application/json']?.schema.properties;
  return typeof properties === 'object' && properties !== null && 'pagination' in properties;
}

/** The codes that follow from what a route takes and needs, and those it names itself. */
export function problemsOf(operation: Operation, { method, config }: DescribedRoute): ErrorCode[] {
  const parameters = (operation.parameters ?? []).filter(isParameter);
  const takesBody = method !== 'GET';
  const isOpen = config?.scope === 'none';
  return [
    'INVALID_REQUEST',
    'UNKNOWN_PARAMETER',
    'RATE_LIMITED',
    'INTERNAL',
    'UNAVAILABLE',
    ...list(!isOpen, 'UNAUTHENTICATED'),
    ...list(!isOpen && config?.scope !== 'any', 'INSUFFICIENT_SCOPE'),
    ...list(
      parameters.some((one) => one.name === 'cursor'),
      'INVALID_CURSOR',
    ),
    ...list(
      parameters.some((one) => one.in === 'path'),
      'NOT_FOUND',
    ),
    ...list(takesBody, 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'),
    ...list(method === 'POST', 'CONFLICT', 'IDEMPOTENCY_IN_FLIGHT', 'IDEMPOTENCY_MISMATCH'),
    ...(config?.problems ?? []),
  ];
}

function list(given: boolean, ...codes: ErrorCode[]): ErrorCode[] {
  return given ? codes : [];
}

function isParameter(one: Parameter | Reference): one is Parameter {
  return !('$ref' in one);
}

function isOptional(schema: unknown): boolean {
  return schema instanceof z.ZodType && schema.safeParse(null).success;
}
