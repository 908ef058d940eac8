import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifySchema } from 'fastify';
import { z } from 'zod';
import { MAX_TAGS_CHARS } from '../../http/compression.ts';
import { MAX_FAULTS } from '../../http/faults.ts';
import {
  type DescribedRoute,
  type Description,
  describeRoutes,
  headerRef,
  isParameter,
} from '../../http/openapi/describe-routes.ts';
import {
  type Document,
  type Examples,
  type JsonSchema,
  type OperationObject,
  type Parameter,
  transformRoute,
} from '../../http/openapi/schemas.ts';
import type { ErrorCode } from '../../model/errors.ts';
import { EVENT_TYPES } from '../../model/event.ts';
import { EVENT_DATA, envelopeSchema, signalPayloadSchema } from '../../model/event-resource.ts';
import { API_TAGS } from '../../model/public-api.ts';
import type { ApiDeps } from '../routes.ts';

const DESCRIPTION = `Buying signals found in public posts, scored and explained; the leads, pipeline and campaigns that grow out of
them; and signed webhooks to notify your systems.

**Authentication.** Send \`Authorization: Bearer sp_live_…\`. Each key has scopes (\`x-required-scope\` on every operation; \`:write\`
includes \`:read\`) and its own rate limit, and can expire. Requests are scoped to the account of the key: the ID of another account's
object returns 404, like an unknown one.

**Responses.** A single object is returned as \`{"data": {…}}\`, a list as \`{"data": […], "pagination": {…}}\` with \`Link: rel="next"\`.
Cursors are opaque, and valid for the same list and filters only. Unknown parameters and members are refused, with a suggestion
for the intended name. Times are RFC 3339 in UTC.

**Unknown values.** Unknown facts about people, companies and posts are empty strings: a signal has all members of its webhook
payload. Identifiers, links to other objects (\`external_id\`, \`lead_id\`), times, numbers, states and settings that do not apply are
\`null\`.

**Concurrent changes.** Profiles, endpoints, campaigns, leads and sources have an \`ETag\`. Send it as \`If-Match\` with PATCH, PUT or
DELETE to fail with 412 if the object has been changed since; send it as \`If-None-Match\` with GET to get 304 if it has not.

**Errors** are problem documents (RFC 9457, \`application/problem+json\`) with a \`code\` for programs, a \`detail\` for people, and a
\`type\` that links to the documentation.

**Idempotent requests.** Send \`Idempotency-Key\` with any POST: for 24 hours, the same key and body return the first successful response.

**Versioning.** Changes within \`v1\` are backward compatible: expect new members in responses, and new event types. Deprecations are
announced with \`Deprecation\` and \`Sunset\` headers at least 12 months in advance.`;

/** The head of the document; `baseUrl` is the URL of this server. */
function documentHead(baseUrl: string): Omit<Document, 'paths' | 'components'> {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Signalpost signal-intelligence API',
      version: '1.0.0',
      summary: 'Signals, leads, pipeline, campaigns and webhooks',
      description: DESCRIPTION,
      contact: { name: 'Developers portal', url: `${baseUrl}/developers` },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    tags: Object.entries(API_TAGS).map(([name, description]) => ({ name, description })),
  };
}

/**
 * Adds what follows from a route's configuration: the scope, the Idempotency-Key of a POST, and conditional requests of a
 * resource with a version.
 */
function completeOperation(operation: OperationObject, route: DescribedRoute): void {
  describeScope(operation, route);
  if (route.method === 'POST') addParameter(operation, 'IdempotencyKey');
  if (route.config?.versioned === true) describeVersion(operation, route.method);
}

function describeVersion(operation: OperationObject, method: string): void {
  if (method === 'GET') addParameter(operation, 'IfNoneMatch');
  else if (method !== 'POST') addParameter(operation, 'IfMatch');
  for (const [status, answer] of Object.entries(operation.responses)) {
    if (status !== '204' && !('$ref' in answer)) answer.headers = { ETag: headerRef('ETag') };
  }
  if (method === 'GET') {
    const headers = { ETag: headerRef('ETag') };
    operation.responses['304'] = {
      description: 'Not modified (`If-None-Match`)',
      headers,
    };
  }
}

function addParameter(operation: OperationObject, name: string): void {
  const parameter = { $ref: `#/components/parameters/${name}` };
  operation.parameters = [...(operation.parameters ?? []), parameter];
}

function describeScope(operation: OperationObject, { config }: DescribedRoute): void {
  const scope = config?.scope;
  if (scope === undefined || scope === 'none') {
    operation.security = [];
    return;
  }
  // OpenAPI 3.1: for an `http` scheme, the list names the required roles.
  operation.security = [{ bearer: scope === 'any' ? [] : [scope] }];
  if (scope !== 'any') operation['x-required-scope'] = scope;
  const needs = scope === 'any' ? 'Any valid key can be used.' : `Requires the scope \`${scope}\`.`;
  operation.description =
    operation.description === undefined ? needs : `${operation.description}\n\n${needs}`;
}

/** The error codes that follow from a route's parameters and scope, and those it lists itself. */
function problemsOf(operation: OperationObject, { method, config }: DescribedRoute): ErrorCode[] {
  const parameters = (operation.parameters ?? []).filter(isParameter);
  const takesBody = method !== 'GET';
  const isOpen = config?.scope === 'none';
  return [
    'INVALID_REQUEST',
    'UNKNOWN_PARAMETER',
    'RATE_LIMITED',
    'INTERNAL',
    'UNAVAILABLE',
    ...list(!isOpen, 'UNAUTHENTICATED'),
    ...list(!isOpen && config?.scope !== 'any', 'INSUFFICIENT_SCOPE'),
    ...list(
      parameters.some((one) => one.name === 'cursor'),
      'INVALID_CURSOR',
    ),
    ...list(
      parameters.some((one) => one.in === 'path'),
      'NOT_FOUND',
    ),
    ...list(takesBody, 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'),
    ...list(method === 'PUT' || method === 'PATCH' || method === 'DELETE', 'PRECONDITION_FAILED'),
    ...list(method === 'POST', 'CONFLICT', 'IDEMPOTENCY_IN_FLIGHT', 'IDEMPOTENCY_MISMATCH'),
    ...(config?.problems ?? []),
  ];
}

function list(given: boolean, ...codes: ErrorCode[]): ErrorCode[] {
  return given ? codes : [];
}

/** What each code means, as the second half of a sentence. */
const MEANINGS = {
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

const SIGNATURE = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .describe(
    'HMAC-SHA256 of the body without this member, in lower-case hex. The key is the secret exactly as shown.',
  );

const SUMMARIES: Record<string, string> = {
  'signal.detected': 'A signal was detected',
  'signal.new_hot': 'A hot signal was detected',
  'lead.created': 'A lead was created',
  'lead.enriched': 'A lead was enriched',
  'pipeline.stage_changed': "A lead's stage changed",
  'campaign.status_changed': "A campaign's status changed",
  'digest.ready': 'The daily digest is ready',
  'reply.classified': 'A reply was classified',
  'deal.changed': 'A deal changed',
  'endpoint.failing': 'Deliveries to an endpoint are failing',
  'endpoint.paused': 'An endpoint was paused',
  'endpoint.recovered': 'An endpoint recovered',
  'delivery.dead': 'A delivery ran out of retries',
  'webhook.test': 'A test delivery was requested',
};

const DELIVERED = `Posted to every subscribed endpoint at least once, possibly out of order: deduplicate by \`webhook-id\` (signals by
\`signal_id\`), and sort by \`timestamp\`. Respond with any 2xx status within the timeout; redirects are not followed. Verify one of
the signatures over the exact bytes of the body.`;

const SHAPED =
  'The payload format of an endpoint can leave out fields, flatten nested objects, and add members.';

const HEADERS: [name: string, description: string, schema: JsonSchema][] = [
  [
    'X-Service-Signature',
    'HMAC-SHA256 of the exact body, in lower-case hex. The key is the secret exactly as shown.',
    { type: 'string', pattern: '^[0-9a-f]{64}$' },
  ],
  ['X-Service-Attempt', 'Number of the attempt, from 1, including replays.', { type: 'integer', minimum: 1 }],
  ['X-Event-Type', 'Type of the event.', { type: 'string', enum: [...EVENT_TYPES, 'webhook.test'] }],
  ['webhook-id', 'ID of the delivery, the same in all retries and replays.', { type: 'string' }],
  ['webhook-timestamp', 'When the attempt was made, in Unix seconds.', { type: 'integer' }],
  [
    'webhook-signature',
    'Signature by Standard Webhooks (standardwebhooks.com): `v1,` followed by Base64.',
    { type: 'string', pattern: '^v1,' },
  ],
];

/** Adds the webhooks: every type of event with its body and signatures. */
function addWebhooks(document: Document, { webhooks = {} }: Examples): void {
  const events = [...EVENT_TYPES, 'webhook.test'];
  document.webhooks = Object.fromEntries(
    events.map((event) => [event, { post: describe(document, event, webhooks[event]) }]),
  );
}

function describe(document: Document, event: string, example: unknown): OperationObject {
  const schema = toJson(document, bodyOf(event));
  return {
    operationId: `on${event.split(/[._]/).map(capitalise).join('')}`,
    summary: SUMMARIES[event] ?? event,
    description: event === 'signal.detected' ? `${DELIVERED}\n\n${SHAPED}` : DELIVERED,
    tags: ['Webhooks'],
    security: [],
    parameters: HEADERS.map(
      ([name, description, one]): Parameter => ({
        name,
        in: 'header',
        required: true,
        description,
        schema: one,
      }),
    ),
    requestBody: {
      required: true,
      content: { 'application/json': { schema, ...(example !== undefined && { example }) } },
    },
    responses: {
      '2XX': { description: 'Accepted. The body of the response is ignored.' },
      '410': { description: 'Gone: the endpoint is paused.' },
      '429': { description: 'Rate limited: the next attempt waits for `Retry-After`, up to an hour.' },
      default: { description: 'Failed: the delivery is retried.' },
    },
  };
}

function bodyOf(event: string): z.ZodType {
  if (event === 'signal.detected') return signalPayloadSchema.extend({ signature: SIGNATURE });
  const data = event === 'webhook.test' ? signalPayloadSchema : EVENT_DATA[event as keyof typeof EVENT_DATA];
  return envelopeSchema(event, data).extend({ signature: SIGNATURE });
}

/** Uses the transformation of routes, so that both refer to the same components. */
function toJson(document: Document, schema: z.ZodType): JsonSchema {
  const route = { schema: { response: { 200: schema } } as FastifySchema, url: '', openapiObject: document };
  const { schema: described } = transformRoute(route as unknown as Parameters<typeof transformRoute>[0]);
  return (described as { response: Record<number, JsonSchema> }).response[200] ?? {};
}

function capitalise(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

/** Requests and responses of a real server, written by `npm run openapi`. */
const EXAMPLES_FILE = new URL('./examples.json', import.meta.url);

const COMPONENTS: Document['components'] = {
  securitySchemes: {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'An API key: `sp_live_` followed by 36 letters and digits.',
    },
  },
  schemas: { Problem: PROBLEM_SCHEMA },
  parameters: {
    IdempotencyKey: {
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description:
        'Makes retries safe: for 24 hours, the same key and body on this operation return the stored response of the first success, ' +
        'with `Idempotent-Replayed: true` and without secrets that are shown only once.',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
      example: '0d9bc5a2-8a7e-4d6f-9a54-1f7f0e6b1f3c',
    },
    IfMatch: {
      name: 'If-Match',
      in: 'header',
      required: false,
      description:
        'Changes the resource only if its `ETag` is still the one given. Otherwise, the request fails with 412 `PRECONDITION_FAILED`. ' +
        '`*` matches any existing resource.',
      schema: { type: 'string', maxLength: MAX_TAGS_CHARS },
      example: '"qT8bFzZ0x1Yk.Jb2mW9uQv0s7LxPa"',
    },
    IfNoneMatch: {
      name: 'If-None-Match',
      in: 'header',
      required: false,
      description: 'Returns 304 without a body if the resource still has this `ETag`.',
      schema: { type: 'string', maxLength: MAX_TAGS_CHARS },
      example: '"qT8bFzZ0x1Yk.Jb2mW9uQv0s7LxPa"',
    },
  },
};

/** Describes the routes added to `app` from now on, and the webhooks. */
export function collectDocument(
  app: FastifyInstance,
  { baseUrl, deprecations }: Pick<ApiDeps, 'baseUrl' | 'deprecations'>,
): Promise<Description> {
  const examples = (): Examples => JSON.parse(readFileSync(EXAMPLES_FILE, 'utf8'));
  return describeRoutes(app, {
    head: documentHead(baseUrl),
    components: COMPONENTS,
    complete: completeOperation,
    problemsOf,
    meanings: MEANINGS,
    deprecations,
    examples,
    finish: (document) => addWebhooks(document, examples()),
  });
}
