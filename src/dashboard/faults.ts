import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { problemStatus } from '../http/problems.ts';
import { routeOf } from '../http/request-log.ts';
import { DomainError } from '../model/errors.ts';
import type { Show } from './screens.ts';

/** What was refused or failed, as a page that says so. */
export function addFaultPages(app: FastifyInstance, logger: Logger, show: () => Show): void {
  app.setErrorHandler((error, request, reply) => {
    const { status, title, detail } = describe(error);
    if (status === 500) {
      logger.error({ err: error, request_id: request.id, route: routeOf(request) }, 'request failed');
    }
    if (error instanceof DomainError && error.extra.retryAfterSeconds !== undefined) {
      reply.header('retry-after', String(error.extra.retryAfterSeconds));
    }
    return show()(request, reply, { template: 'error', title, status, detail });
  });
}

function describe(error: unknown): { status: number; title: string; detail: string } {
  if (error instanceof DomainError) {
    const hint = error.extra.hint === undefined ? '' : ` ${error.extra.hint}`;
    return {
      status: problemStatus(error.code),
      title: TITLES[error.code] ?? 'That did not work',
      detail: error.message + hint,
    };
  }
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  if (typeof code === 'string' && code.startsWith('FST_CSRF_')) {
    return {
      status: 403,
      title: 'The form is too old',
      detail:
        'You logged in or out since it was opened, or cookies are blocked. Go back, reload the page and send it again.',
    };
  }
  if (
    typeof code === 'string' &&
    code.startsWith('FST_') &&
    typeof statusCode === 'number' &&
    statusCode < 500
  ) {
    return { status: statusCode, title: 'That did not work', detail: 'The form could not be read.' };
  }
  return {
    status: 500,
    title: 'Something went wrong',
    detail: 'It was logged on our side. Try again in a moment.',
  };
}

const TITLES: Readonly<Record<string, string>> = {
  NOT_FOUND: 'Not found',
  INSUFFICIENT_SCOPE: 'Not allowed',
  PLAN_REQUIRED: 'Your plan does not include that',
  RATE_LIMITED: 'Too fast',
  UNAVAILABLE: 'Not possible at this moment',
};
