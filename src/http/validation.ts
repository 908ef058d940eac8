import type { FastifyInstance, FastifyRequest, FastifySchema, FastifySchemaCompiler } from 'fastify';
import { z } from 'zod';
import { DomainError } from '../model/errors.ts';
import { type Checked, check, type RequestPart } from './faults.ts';

/**
 * Runs a route's zod schemas. Our own, because the type provider's joins paths without escaping and drops which names
 * an object knows; its types and its OpenAPI transform do not depend on it.
 */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const part = toPart(httpPart);
  return (data) => {
    const checked = check(schema, data, part);
    return checked.ok ? { value: checked.value } : { error: refusal(checked, part) };
  };
};

/** The error for a part of a request that failed validation. */
export function refusal(checked: Checked<unknown> & { ok: false }, part: RequestPart): DomainError {
  const { faults, total, unknownNames } = checked;
  const code = part !== 'body' && unknownNames ? 'UNKNOWN_PARAMETER' : 'INVALID_REQUEST';
  const detail =
    total === 1
      ? (faults[0]?.detail ?? '')
      : `The ${part === 'body' ? 'body' : 'query'} has ${total} errors; see "errors".`;
  return new DomainError(code, detail, { errors: faults, errorsTotal: total });
}

function toPart(httpPart: string | undefined): RequestPart {
  return httpPart === 'querystring' || httpPart === 'params' || httpPart === 'headers' ? httpPart : 'body';
}

const NOTHING = z.strictObject({});

/**
 * Routes added to `app` from now on that describe no body accept none, or an empty object, which many clients send
 * with everything: an ignored member is a mistake that its sender should learn of.
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
