import { MAX_FAULTS } from '../../http/faults.ts';
import type { JsonSchema } from '../../http/openapi/document-types.ts';
import type { ErrorCode } from '../../model/errors.ts';

/** What each code means to the caller of an operation. */
export const MEANINGS = {
  NOT_FOUND: 'there is no such thing in this tenant',
  METHOD_NOT_ALLOWED: 'the path has no such method; `Allow` names those it has',
  RATE_LIMITED: "the key's limit is used up; `Retry-After` says for how long",
  INVALID_REQUEST: 'the request is malformed or a value is not allowed; `errors` points to each fault',
  UNKNOWN_PARAMETER: 'a parameter is unknown; the problem names the one that was probably meant',
  INVALID_CURSOR: 'the cursor is damaged, or was made for another list, filter or tenant',
  UNAUTHENTICATED: 'no valid API key was sent',
  INSUFFICIENT_SCOPE: 'the key lacks the scope that `required_scope` names',
  PLAN_REQUIRED: 'the plan does not include it; `required_plan` names one that does',
  NOT_ACCEPTABLE: 'nothing that the client accepts can be sent',
  CONFLICT: 'it does not fit with what is there',
  STAGE_CONFLICT: 'the lead is not in the stage that was expected',
  PRECONDITION_FAILED: 'the resource was changed since it was read: its `ETag` is not in `If-Match`',
  IDEMPOTENCY_IN_FLIGHT: 'the first request with this `Idempotency-Key` is still running; try again shortly',
  PAYLOAD_TOO_LARGE: 'the body is too large',
  UNSUPPORTED_MEDIA_TYPE: 'the body is not `application/json`',
  INVALID_TRANSITION: 'the state does not allow this change',
  IDEMPOTENCY_MISMATCH: 'the `Idempotency-Key` was used for a different request',
  INTERNAL: 'something went wrong on our side; `request_id` leads us to it',
  UNAVAILABLE: 'nothing can be stored just now; nothing was changed, try again after `Retry-After`',
} satisfies Record<ErrorCode, string>;

/** The schema of every problem document (RFC 9457). */
export const PROBLEM_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'A problem document (RFC 9457).',
  required: ['type', 'title', 'status', 'code', 'detail', 'request_id'],
  properties: {
    type: { type: 'string', format: 'uri-reference', description: 'Where this kind of problem is explained' },
    title: { type: 'string' },
    status: { type: 'integer', description: 'The HTTP status' },
    code: { type: 'string', description: 'The kind of problem, for programs' },
    detail: { type: 'string', description: 'What went wrong this time, for people' },
    hint: { type: 'string', description: 'The way out' },
    instance: { type: 'string', description: 'The path that was asked for' },
    request_id: { type: 'string', description: 'As in `X-Request-Id`' },
    errors: {
      type: 'array',
      maxItems: MAX_FAULTS,
      description: 'Faults of the request with their places, the first where they are many',
      items: {
        type: 'object',
        required: ['detail'],
        properties: {
          pointer: { type: 'string', description: 'JSON pointer (RFC 6901) into the body' },
          parameter: { type: 'string', description: 'Query, path or header parameter' },
          detail: { type: 'string' },
        },
      },
    },
    errors_total: { type: 'integer', description: 'How many faults there are, where `errors` holds not all' },
    required_scope: { type: 'string', description: 'With `INSUFFICIENT_SCOPE`: the scope that is needed' },
    required_plan: { type: 'string', description: 'With `PLAN_REQUIRED`: a plan that includes it' },
    limit: { type: 'integer', description: 'With `PLAN_REQUIRED`: how many the plan in force allows' },
    current_stage: {
      type: 'string',
      description: 'With `STAGE_CONFLICT` and `INVALID_TRANSITION`: where the lead is',
    },
    expected_stage: { type: 'string', description: 'With `STAGE_CONFLICT`: where it was expected' },
    lead_ids: {
      type: 'array',
      items: { type: 'string' },
      description: 'With `CONFLICT` of a lead: the leads that were matched',
    },
  },
};
