import { STATUS_CODES } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorCode, ProblemExtra } from '../model/errors.ts';
import { MAX_FAULTS } from './faults.ts';
import { pathOf } from './request-path.ts';

/**
 * The status of each code; the documentation page of a code is its name in kebab case in the portal's list of errors.
 */
const KINDS = {
  NOT_FOUND: { status: 404, title: 'Not Found' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'Method Not Allowed' },
  RATE_LIMITED: { status: 429, title: 'Too Many Requests' },
  INVALID_REQUEST: { status: 400, title: 'Bad Request' },
  UNKNOWN_PARAMETER: { status: 400, title: 'Unknown Parameter' },
  INVALID_CURSOR: { status: 400, title: 'Invalid Cursor' },
  UNAUTHENTICATED: { status: 401, title: 'Unauthorized' },
  INSUFFICIENT_SCOPE: { status: 403, title: 'Insufficient Scope' },
  PLAN_REQUIRED: { status: 403, title: 'Plan Required' },
  NOT_ACCEPTABLE: { status: 406, title: 'Not Acceptable' },
  CONFLICT: { status: 409, title: 'Conflict' },
  STAGE_CONFLICT: { status: 409, title: 'Stage Conflict' },
  IDEMPOTENCY_IN_FLIGHT: { status: 409, title: 'Request In Flight' },
  PRECONDITION_FAILED: { status: 412, title: 'Precondition Failed' },
  PAYLOAD_TOO_LARGE: { status: 413, title: 'Payload Too Large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'Unsupported Media Type' },
  INVALID_TRANSITION: { status: 422, title: 'Invalid Transition' },
  IDEMPOTENCY_MISMATCH: { status: 422, title: 'Idempotency Key Reused' },
  INTERNAL: { status: 500, title: 'Internal Server Error' },
  UNAVAILABLE: { status: 503, title: 'Service Unavailable' },
} satisfies Record<ErrorCode, { status: number; title: string }>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Codes that a route can return in addition to those that follow from its scope, body, query and path. */
    problems?: readonly ErrorCode[];
  }
}

/** The HTTP status of a code. */
export function problemStatus(code: ErrorCode): number {
  return KINDS[code].status;
}

const DEFAULT_RETRY_AFTER_SECONDS = 5;

/** An error before it is rendered. `status` overrides that of the code, for errors below HTTP routing. */
export interface Problem {
  code: ErrorCode;
  detail: string;
  status?: number;
  extra?: ProblemExtra;
}

/** Renders and sends RFC 9457 problem documents. */
export interface Problems {
  /** The document as JSON text with its status; `instance` is the path of the request, omitted if unknown. */
  render(
    problem: Problem,
    context: { requestId: string; instance?: string },
  ): { status: number; body: string };
  /** The default status and title of a code. */
  kindOf(code: ErrorCode): { status: number; title: string };
  /** Sends the problem with the headers of its code. */
  send(request: FastifyRequest, reply: FastifyReply, problem: Problem): FastifyReply;
}

/** Problem documents whose `type` links to the list of errors at `baseUrl`. */
export function createProblems(baseUrl: string): Problems {
  const types = new Map(
    Object.keys(KINDS).map((code) => [code, `${baseUrl}/developers/errors#${toKebab(code)}`]),
  );

  const render: Problems['render'] = ({ code, detail, status, extra }, { requestId, instance }) => {
    const kind = KINDS[code];
    const answered = status ?? kind.status;
    const document = {
      type: types.get(code),
      title: answered === kind.status ? kind.title : (STATUS_CODES[answered] ?? kind.title),
      status: answered,
      code,
      detail,
      hint: extra?.hint,
      instance,
      request_id: requestId,
      ...shownFaults(extra),
      ...extra?.members,
    };
    return { status: answered, body: JSON.stringify(document) };
  };

  return {
    render,
    kindOf: (code) => KINDS[code],
    send(request, reply, problem) {
      const { status, body } = render(problem, {
        requestId: request.id,
        instance: pathOf(request.originalUrl),
      });
      const retryAfter = retryAfterOf(problem);
      if (retryAfter !== null) reply.header('retry-after', String(retryAfter));
      if (problem.code === 'UNAUTHENTICATED') reply.header('www-authenticate', 'Bearer realm="Signalpost"');
      return sendAsIs(reply.code(status), 'application/problem+json', body);
    },
  };
}

/** The content type of /v1 responses, concatenated or serialized; Fastify adds the charset to serialized ones. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** Sends a serialized document unchanged. Otherwise Fastify adds a charset to JSON types, which RFC 8259 does not define. */
export function sendAsIs(reply: FastifyReply, contentType: string, body: string | Buffer): FastifyReply {
  return reply.header('content-type', contentType).serializer(asIs).send(body);
}

/** The first errors, and their total number if there are more. */
function shownFaults({ errors, errorsTotal = errors?.length ?? 0 }: ProblemExtra = {}) {
  const shown = errors?.slice(0, MAX_FAULTS);
  return { errors: shown, ...(errorsTotal > (shown?.length ?? 0) && { errors_total: errorsTotal }) };
}

function asIs(payload: unknown): string {
  return String(payload);
}

function retryAfterOf({ code, extra }: Problem): number | null {
  return extra?.retryAfterSeconds ?? (code === 'UNAVAILABLE' ? DEFAULT_RETRY_AFTER_SECONDS : null);
}

function toKebab(code: string): string {
  return code.toLowerCase().replaceAll('_', '-');
}
