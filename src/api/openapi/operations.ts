import { type DescribedRoute, isParameter } from '../../http/openapi/describe-routes.ts';
import type { Operation } from '../../http/openapi/document-types.ts';
import { headerRef } from '../../http/openapi/headers.ts';
import type { ErrorCode } from '../../model/errors.ts';

/**
 * Adds what follows from a route's configuration: the scope, the Idempotency-Key of a POST, and conditional requests of a
 * resource with a version.
 */
export function completeOperation(operation: Operation, route: DescribedRoute): void {
  describeScope(operation, route);
  if (route.method === 'POST') addParameter(operation, 'IdempotencyKey');
  if (route.config?.versioned === true) describeVersion(operation, route.method);
}

function describeVersion(operation: Operation, method: string): void {
  if (method === 'GET') addParameter(operation, 'IfNoneMatch');
  else if (method !== 'POST') addParameter(operation, 'IfMatch');
  for (const [status, answer] of Object.entries(operation.responses)) {
    if (status !== '204' && !('$ref' in answer)) answer.headers = { ETag: headerRef('ETag') };
  }
  if (method === 'GET') {
    const headers = { ETag: headerRef('ETag') };
    operation.responses['304'] = {
      description: 'Not modified (`If-None-Match`)',
      headers,
    };
  }
}

function addParameter(operation: Operation, name: string): void {
  const parameter = { $ref: `#/components/parameters/${name}` };
  operation.parameters = [...(operation.parameters ?? []), parameter];
}

function describeScope(operation: Operation, { config }: DescribedRoute): void {
  const scope = config?.scope;
  if (scope === undefined || scope === 'none') {
    operation.security = [];
    return;
  }
  // OpenAPI 3.1: for an `http` scheme, the list names the required roles.
  operation.security = [{ bearer: scope === 'any' ? [] : [scope] }];
  if (scope !== 'any') operation['x-required-scope'] = scope;
  const needs = scope === 'any' ? 'Any valid key can be used.' : `Requires the scope \`${scope}\`.`;
  operation.description =
    operation.description === undefined ? needs : `${operation.description}\n\n${needs}`;
}

/** The error codes that follow from a route's parameters and scope, and those it lists itself. */
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
    ...list(method === 'PUT' || method === 'PATCH' || method === 'DELETE', 'PRECONDITION_FAILED'),
    ...list(method === 'POST', 'CONFLICT', 'IDEMPOTENCY_IN_FLIGHT', 'IDEMPOTENCY_MISMATCH'),
    ...(config?.problems ?? []),
  ];
}

function list(given: boolean, ...codes: ErrorCode[]): ErrorCode[] {
  return given ? codes : [];
}
