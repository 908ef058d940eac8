import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { check } from '../http/faults.ts';
import { refusal } from '../http/json-body.ts';
import type { LeadCaller } from '../leads/changes.ts';
import { memberOf } from './gate.ts';

/** Who changes a lead: the person, as the history names them. */
export function leadCallerOf(request: FastifyRequest): LeadCaller {
  const { tenant, user } = memberOf(request);
  return { tenantId: tenant.id, actor: { id: user.id, name: user.email } };
}

/** What a form says, held to the schema that the API holds bodies to. @throws DomainError `INVALID_REQUEST` */
export function checked<S extends z.ZodType>(schema: S, data: unknown): z.output<S> {
  const result = check(schema, data, 'body');
  if (result.ok) return result.value;
  throw refusal(result, 'body');
}
