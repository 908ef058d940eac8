import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { DomainError } from '../model/errors.ts';
import type { Problem, Problems } from './problems.ts';
import { routeOf } from './request-log.ts';

export interface ErrorParts {
  problems: Problems;
  logger: Logger;
}

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;

/** Turns whatever was thrown into a problem document; what no caller can act on is logged and shown as `INTERNAL`. */
export function createErrorHandler({ problems, logger }: ErrorParts): ErrorHandler {
  return (error, request, reply) => {
    const problem = toProblem(error, request.routeOptions.bodyLimit);
    if (problem.code === 'INTERNAL') {
      logger.error(
        { err: error, request_id: request.id, method: request.method, route: routeOf(request) },
        'request failed',
      );
    }
    return problems.send(request, reply, problem);
  };
}

/** Every error of the process that reaches a request becomes a problem. */
export function addErrorHandler(app: FastifyInstance, handler: ErrorHandler): void {
  app.setErrorHandler(handler);
}

function toProblem(error: unknown, bodyLimit: number): Problem {
  if (error instanceof DomainError) return { code: error.code, detail: error.message, extra: error.extra };
  const { code, statusCode } = frameworkFault(error);
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return { code: 'UNSUPPORTED_MEDIA_TYPE', detail: 'Send the body as "Content-Type: application/json".' };
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return { code: 'PAYLOAD_TOO_LARGE', detail: `The body is larger than ${bodyLimit} bytes.` };
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return { code: 'INVALID_REQUEST', detail: 'The body is not as long as Content-Length says.' };
    default:
      return statusCode >= 400 && statusCode < 500
        ? { code: 'INVALID_REQUEST', detail: 'The request could not be read.' }
        : {
            code: 'INTERNAL',
            detail: 'Something went wrong on our side. It was logged with this request_id.',
          };
  }
}

/**
 * The code and status of an error of Fastify itself, or of a body that broke off; anything else has none, so that a bug is
 * never shown as 4xx.
 */
export function frameworkFault(error: unknown): { code: string; statusCode: number } {
  if (!(error instanceof Error) || !('code' in error) || !('statusCode' in error)) {
    return { code: '', statusCode: 500 };
  }
  const code = String(error.code);
  const aborted = code === 'ECONNRESET' || code === 'ERR_HTTP_CONTENT_LENGTH_MISMATCH';
  return { code, statusCode: code.startsWith('FST_') || aborted ? Number(error.statusCode) : 500 };
}
