import { z } from 'zod';

/** What `GET /api/health` answers. Answers may gain members within v1, so these objects are loose. */
const healthResponseSchema = z
  .looseObject({
    success: z.literal(true).describe('True on success'),
    data: z
      .looseObject({
        status: z.literal('ok').describe('The only value there is'),
        service: z.string().describe('Host name of the service'),
        time: z.iso.datetime({ offset: true }).describe('Server time'),
      })
      .describe('That it is up, and what time it has'),
  })
  .meta({ id: 'HealthResponse', description: 'The service is up.' });

/** One line of the list of endpoints. */
const endpointInfoSchema = z
  .looseObject({
    method: z.literal('GET').describe('The only value there is'),
    path: z.string().describe('Path under the base address'),
    description: z.string().describe('What the endpoint is for'),
  })
  .meta({ id: 'EndpointInfo', description: 'One endpoint of the public API.' });

/** Who the service is, and where everything about it stands. */
const statusDataSchema = z
  .looseObject({
    service: z.string().describe('Name of the service'),
    website: z.url().describe('Address of the site'),
    description: z.string().describe('What the business does'),
    docs: z.url().describe('Developers portal'),
    openapi: z.url().describe('OpenAPI description'),
    llms: z.url().describe('Navigation index for agents (llms.txt)'),
    signalApi: z
      .looseObject({
        url: z.url().describe('Its address, which answers with where it is described'),
        openapi: z.url().describe('Its OpenAPI description'),
        operations: z.url().describe('Its operations in a line each'),
        docs: z.url().describe('Its guide'),
      })
      .optional()
      .describe('The signal API, which takes posts and delivers signals; it needs a key'),
    contact: z.email().describe('Address for questions about the service'),
    apiVersion: z.string().describe('Current version label'),
    versioningPolicy: z.string().optional().describe('How the API is versioned, in words'),
    deprecationPolicy: z.url().optional().describe('How versions are retired'),
    endpoints: z.array(endpointInfoSchema).describe('The endpoints there are'),
    time: z.iso.datetime({ offset: true }).describe('Server time'),
  })
  .meta({ id: 'StatusData', description: 'Who the service is, and where everything about it stands.' });

/** What `GET /api/v1/status` answers. */
export const statusResponseSchema = z
  .looseObject({
    success: z.literal(true).describe('True on success'),
    data: statusDataSchema,
  })
  .meta({ id: 'StatusResponse', description: 'The service and what it offers.' });

/** The problem documents (RFC 9457) of the public API. */
export const publicProblemSchema = z
  .looseObject({
    type: z
      .string()
      .meta({ format: 'uri-reference' })
      .describe("The problem's section in the developers portal"),
    title: z.string().describe('Short title, the HTTP reason phrase'),
    status: z.int().describe('HTTP status code'),
    code: z
      .enum(['NOT_FOUND', 'METHOD_NOT_ALLOWED', 'RATE_LIMITED'])
      .describe('Code for programs: branch on this'),
    detail: z.string().optional().describe('What went wrong this time, for people'),
    hint: z.string().optional().describe('What to do next'),
    instance: z.string().optional().describe('The request path that produced the error'),
    request_id: z
      .string()
      .optional()
      .describe('Id of the request, as in X-Request-Id; name it when you ask us'),
  })
  .describe('A problem document (RFC 9457).');

/** One operation of the public API: GET (and so HEAD), no parameters, no body, no key. */
export interface PublicOperation {
  operationId: string;
  path: `/api/${string}`;
  /** The command of the command line that calls it. */
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
  summary: 'Liveness probe',
  description: 'Fast liveness probe: returns status and server time.',
  response: healthResponseSchema,
} as const satisfies PublicOperation;

/** Service metadata and discovery. */
export const statusOperation = {
  operationId: 'getStatus',
  path: '/api/v1/status',
  command: 'status',
  summary: 'Service identity and discovery',
  description:
    'Returns service identity, links to the developers portal, the OpenAPI description and llms.txt, the API version and deprecation policy, and the list of available endpoints.',
  response: statusResponseSchema,
} as const satisfies PublicOperation;

/**
 * Every operation of the public API. Routes, the status document, OpenAPI, llms.txt, the API catalog and the command
 * line are made from this one list.
 */
export const PUBLIC_OPERATIONS: readonly PublicOperation[] = [healthOperation, statusOperation];

/** What its operations are grouped by in their description. */
export const PUBLIC_TAG = 'Public site API';

/** Where the public API describes itself. */
export const OPENAPI_PATH = '/openapi.json';
