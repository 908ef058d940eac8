import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
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

/** The refusal of a part of a request that did not pass. */
export function refusal(checked: Checked<unknown> & { ok: false }, part: RequestPart): DomainError {
  const { faults, total, unknownNames } = checked;
  const code = part !== 'body' && unknownNames ? 'UNKNOWN_PARAMETER' : 'INVALID_REQUEST';
  const detail =
    total === 1
      ? (faults[0]?.detail ?? '')
      : `The ${part === 'body' ? 'body' : 'query'} has ${total} faults; see "errors".`;
  return new DomainError(code, detail, { errors: faults, errorsTotal: total });
}

function toPart(httpPart: string | undefined): RequestPart {
  return httpPart === 'querystring' || httpPart === 'params' || httpPart === 'headers' ? httpPart : 'body';
}
