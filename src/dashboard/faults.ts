import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { frameworkFault } from '../http/errors.ts';
import { problemStatus } from '../http/problems.ts';
import { routeOf } from '../http/request-log.ts';
import { DomainError } from '../model/errors.ts';
import type { Show } from './screens.ts';

/** What was refused or failed, as a page that says so. */
export function addFaultPages(app: FastifyInstance, logger: Logger, show: () => Show): void {
  app.setErrorHandler((error, request, reply) => {
    const { status, title, detail } = describe(error, request.routeOptions.bodyLimit);
    if (status === 500) {
      logger.error({ err: error, request_id: request.id, route: routeOf(request) }, 'request failed');
    }
    if (error instanceof DomainError && error.extra.retryAfterSeconds !== undefined) {
      reply.header('retry-after', String(error.extra.retryAfterSeconds));
    }
    return show()(request, reply, { template: 'error', title, status, detail });
  });
}

function describe(error: unknown, bodyLimit: number): { status: number; title: string; detail: string } {
  if (error instanceof DomainError) {
    const hint = error.extra.hint === undefined ? '' : ` ${error.extra.hint}`;
    return {
      status: problemStatus(error.code),
      title: TITLES[error.code] ?? 'That didn’t work',
      detail: error.message + hint,
    };
  }
  const { code, statusCode } = frameworkFault(error);
  if (code.startsWith('FST_CSRF_')) {
    return {
      status: 403,
      title: 'This form has expired',
      detail:
        'You logged in or out after opening it, or cookies are blocked. Go back, reload the page and submit it again.',
    };
  }
  if (statusCode < 500) {
    const detail = UNREAD[code]?.(bodyLimit) ?? 'The form could not be read.';
    return { status: statusCode, title: 'That didn’t work', detail };
  }
  return {
    status: 500,
    title: 'Something went wrong',
    detail: 'The error has been logged. Try again in a moment.',
  };
}

/** Why a form was not read, by the code of the framework. */
const UNREAD: Readonly<Record<string, (bodyLimit: number) => string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: (bodyLimit) =>
    `The form is larger than ${bodyLimit / 1024} KiB; nothing was changed. Go back and shorten it.`,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    'The dashboard accepts forms as browsers send them (application/x-www-form-urlencoded). Programs should use the API under /v1.',
};

const TITLES: Readonly<Record<string, string>> = {
  NOT_FOUND: 'Not found',
  INSUFFICIENT_SCOPE: 'Not allowed',
  PLAN_REQUIRED: 'Not included in your plan',
  RATE_LIMITED: 'Too many requests',
  UNAVAILABLE: 'Temporarily unavailable',
};
