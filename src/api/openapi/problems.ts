import { MAX_FAULTS } from '../../http/faults.ts';
import type { JsonSchema } from '../../http/openapi/document-types.ts';
import type { ErrorCode } from '../../model/errors.ts';

/** What each code means, as the second half of a sentence. */
export const MEANINGS = {
  NOT_FOUND: 'the object does not exist in this account',
  METHOD_NOT_ALLOWED: 'the path does not support the method; `Allow` lists those it does',
  RATE_LIMITED: 'the rate limit is exceeded; retry after `Retry-After`',
  INVALID_REQUEST: 'the request is malformed or a value is not allowed; `errors` lists each error',
  UNKNOWN_PARAMETER: 'a parameter is unknown; `detail` suggests the intended name',
  INVALID_CURSOR: 'the cursor is malformed, or belongs to another list, filter or account',
  UNAUTHENTICATED: 'the API key is missing or not valid',
  INSUFFICIENT_SCOPE: 'the key lacks the scope in `required_scope`',
  PLAN_REQUIRED: 'the plan does not include this; `required_plan` does',
  NOT_ACCEPTABLE: 'none of the accepted media types is available',
  CONFLICT: 'the request conflicts with the current state',
  STAGE_CONFLICT: 'the lead is not in the expected stage',
  PRECONDITION_FAILED: 'the object was changed since: its `ETag` is not in `If-Match`',
  IDEMPOTENCY_IN_FLIGHT: 'the first request with this `Idempotency-Key` is still running; retry shortly',
  PAYLOAD_TOO_LARGE: 'the body is too large',
  UNSUPPORTED_MEDIA_TYPE: 'the body is not `application/json`',
  INVALID_TRANSITION: 'the current state does not allow this change',
  IDEMPOTENCY_MISMATCH: 'the `Idempotency-Key` was used with a different request',
  INTERNAL: 'an unexpected error on our side; contact us with the `request_id`',
  UNAVAILABLE: 'the service is temporarily unavailable, and nothing was changed; retry after `Retry-After`',
} satisfies Record<ErrorCode, string>;

/** The schema of every problem document (RFC 9457). */
export const PROBLEM_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'A problem document (RFC 9457).',
  required: ['type', 'title', 'status', 'code', 'detail', 'request_id'],
  properties: {
    type: {
      type: 'string',
      format: 'uri-reference',
      description: 'URL of the documentation of this type of problem.',
    },
    title: { type: 'string', description: 'Short summary of the type of problem.' },
    status: { type: 'integer', description: 'HTTP status.' },
    code: { type: 'string', description: 'Machine-readable error code.' },
    detail: { type: 'string', description: 'Description of this occurrence of the problem.' },
    hint: { type: 'string', description: 'How to resolve the problem.' },
    instance: { type: 'string', description: 'Path of the request.' },
    request_id: { type: 'string', description: 'ID of the request, as in `X-Request-Id`.' },
    errors: {
      type: 'array',
      maxItems: MAX_FAULTS,
      description: `The errors of the request; the first ${MAX_FAULTS} if there are more.`,
      items: {
        type: 'object',
        required: ['detail'],
        properties: {
          pointer: { type: 'string', description: 'JSON Pointer (RFC 6901) into the body.' },
          parameter: { type: 'string', description: 'Name of the query, path or header parameter.' },
          detail: { type: 'string', description: 'Description of the error.' },
        },
      },
    },
    errors_total: {
      type: 'integer',
      description: 'Total number of errors, if `errors` does not list them all.',
    },
    required_scope: { type: 'string', description: 'With `INSUFFICIENT_SCOPE`: the required scope.' },
    required_plan: { type: 'string', description: 'With `PLAN_REQUIRED`: a plan that includes it.' },
    limit: { type: 'integer', description: 'With `PLAN_REQUIRED`: the limit of the current plan.' },
    current_stage: {
      type: 'string',
      description: 'With `STAGE_CONFLICT` and `INVALID_TRANSITION`: the stage of the lead.',
    },
    expected_stage: { type: 'string', description: 'With `STAGE_CONFLICT`: the expected stage.' },
    lead_ids: {
      type: 'array',
      items: { type: 'string' },
      description: 'With `CONFLICT` of a lead: IDs of the matching leads.',
    },
  },
};
