import { z } from 'zod';

/** Response of `GET /api/health`. Responses may get new members within v1, so these objects are loose. */
const healthResponseSchema = z
  .looseObject({
    success: z.literal(true).describe('Always `true`.'),
    data: z
      .looseObject({
        status: z.literal('ok').describe('Always `ok`.'),
        service: z.string().describe('Host name of the service.'),
        time: z.iso.datetime({ offset: true }).describe('Server time.'),
      })
      .describe('Status of the service.'),
  })
  .meta({ id: 'HealthResponse', description: 'The service is up.' });

/** One endpoint in the list. */
const endpointInfoSchema = z
  .looseObject({
    method: z.literal('GET').describe('HTTP method; always `GET`.'),
    path: z.string().describe('Path of the endpoint.'),
    description: z.string().describe('Description of the endpoint.'),
  })
  .meta({ id: 'EndpointInfo', description: 'One endpoint of the public API.' });

/** Identity of the service, and links to its documentation. */
const statusDataSchema = z
  .looseObject({
    service: z.string().describe('Name of the service.'),
    website: z.url().describe('URL of the website.'),
    description: z.string().describe('Description of the service.'),
    docs: z.url().describe('URL of the developers portal.'),
    openapi: z.url().describe('URL of the OpenAPI document.'),
    llms: z.url().describe('URL of llms.txt, the index for agents.'),
    signalApi: z
      .looseObject({
        url: z.url().describe('URL of the API index.'),
        openapi: z.url().describe('URL of the OpenAPI document.'),
        operations: z.url().describe('URL of the list of operations.'),
        docs: z.url().describe('URL of the guide.'),
      })
      .optional()
      .describe('The signal API, which requires an API key.'),
    contact: z.email().describe('Email address for questions about the service.'),
    apiVersion: z.string().describe('Current version of the API.'),
    versioningPolicy: z.string().optional().describe('Versioning policy.'),
    deprecationPolicy: z.url().optional().describe('URL of the deprecation policy.'),
    endpoints: z.array(endpointInfoSchema).describe('All endpoints of the public API.'),
    time: z.iso.datetime({ offset: true }).describe('Server time.'),
  })
  .meta({ id: 'StatusData', description: 'Identity of the service, and links to its documentation.' });

/** Response of `GET /api/v1/status`. */
export const statusResponseSchema = z
  .looseObject({
    success: z.literal(true).describe('Always `true`.'),
    data: statusDataSchema,
  })
  .meta({ id: 'StatusResponse', description: 'Identity of the service.' });

/** The problem documents (RFC 9457) of the public API. */
export const publicProblemSchema = z
  .looseObject({
    type: z
      .string()
      .meta({ format: 'uri-reference' })
      .describe('URL of the documentation of this type of problem.'),
    title: z.string().describe('Short summary of the type of problem.'),
    status: z.int().describe('HTTP status.'),
    code: z
      .enum(['NOT_FOUND', 'METHOD_NOT_ALLOWED', 'RATE_LIMITED'])
      .describe('Machine-readable error code.'),
    detail: z.string().optional().describe('Description of this occurrence of the problem.'),
    hint: z.string().optional().describe('How to resolve the problem.'),
    instance: z.string().optional().describe('Path of the request.'),
    request_id: z
      .string()
      .optional()
      .describe('ID of the request, as in `X-Request-Id`. Include it when you contact us.'),
  })
  .describe('A problem document (RFC 9457).');

/** An operation of the public API: GET (and thus HEAD), without parameters, body or key. */
export interface PublicOperation {
  operationId: string;
  path: `/api/${string}`;
  /** The CLI command that calls it. */
  command: string;
  summary: string;
  description: string;
  response: z.ZodType;
}

/** The liveness probe. */
export const healthOperation = {
  operationId: 'getHealth',
  path: '/api/health',
  command: 'health',
  summary: 'Check the health of the service',
  description: 'Returns the status and the server time. Suitable as a liveness probe.',
  response: healthResponseSchema,
} as const satisfies PublicOperation;

/** Service metadata and discovery. */
export const statusOperation = {
  operationId: 'getStatus',
  path: '/api/v1/status',
  command: 'status',
  summary: 'Get the identity of the service',
  description:
    'Returns the identity of the service, links to the developers portal, the OpenAPI document and llms.txt, the API version and deprecation policy, and the list of endpoints.',
  response: statusResponseSchema,
} as const satisfies PublicOperation;

/**
 * Every operation of the public API. Routes, the status document, OpenAPI, llms.txt, the API catalog and the
 * command line are generated from this list.
 */
export const PUBLIC_OPERATIONS: readonly PublicOperation[] = [healthOperation, statusOperation];

/** The tag of its operations in OpenAPI. */
export const PUBLIC_TAG = 'Public site API';

/** The path of the public API's OpenAPI document. */
export const OPENAPI_PATH = '/openapi.json';

/** The tags of the signal API's operations, in the order of its OpenAPI document. */
export const API_TAGS = {
  Account: 'The account and permissions of a key, settings, and the description of this API.',
  Signals: 'Create signals from posts; list and read them.',
  Leads: 'People in the pipeline, the known facts about them and where they came from.',
  Pipeline: 'Stages, stage history and deals of leads.',
  Campaigns: 'Outreach campaigns, their events and statistics.',
  Companies: 'Companies, the known facts about them and their signals.',
  Profiles: 'Ideal Customer Profiles, which posts are matched with.',
  Sources: 'Feeds and sites that posts are read from.',
  Webhooks: 'Endpoints that events are delivered to, with signatures.',
  Deliveries: 'Log of deliveries, dead-letter queue and replays.',
  Events: 'Events and their delivery to each endpoint.',
  Keys: 'API keys, their scopes and rate limits.',
} as const;
/** The name of a tag. */
export type TagName = keyof typeof API_TAGS;
/** The names of all tags. */
export const TAG_NAMES = Object.keys(API_TAGS) as [TagName, ...TagName[]];
