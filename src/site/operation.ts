import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import { PUBLIC_TAG, type PublicOperation } from '../model/public-api.ts';

/** Where the public API's plugin is registered; the paths of its operations begin with it. */
const API_PREFIX = '/api';

/** Adds the route of an operation to the face that is registered under /api. */
export function addOperation(
  app: FastifyInstance,
  operation: PublicOperation,
  handler: RouteHandlerMethod,
): void {
  const { operationId, summary, description, response } = operation;
  app.get(
    operation.path.slice(API_PREFIX.length),
    { schema: { operationId, tags: [PUBLIC_TAG], summary, description, response: { 200: response } } },
    handler,
  );
}
