import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify';
import { z } from 'zod';
import { check } from './faults.ts';
import { refusal } from './validation.ts';

const NOTHING = z.strictObject({});

/**
 * Holds the routes that are added to `app` from now on and describe no body to taking none, or an empty object, which
 * many clients send with everything: a member that nobody reads is a mistake that its sender should hear of.
 */
export function refuseStrayBodies(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (route.method === 'GET' || route.method === 'HEAD' || route.schema?.body !== undefined) return;
    route.preValidation = [...[route.preValidation ?? []].flat(), refuseMembers];
  });
}

/** Whether a route with this schema can be called without a body. Fastify hands its schema null then. */
export function needsNoBody(schema: FastifySchema | undefined): boolean {
  const body = schema?.body;
  return body === undefined || (body instanceof z.ZodType && body.safeParse(null).success);
}

function refuseMembers(request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void {
  if (request.body === undefined || request.body === null) {
    done();
    return;
  }
  const checked = check(NOTHING, request.body, 'body');
  done(checked.ok ? undefined : refusal(checked, 'body'));
}
