import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Document } from '../http/openapi/document-types.ts';
import { paginationSchema } from '../http/paging.ts';
import { noQuery } from '../http/path.ts';
import { JSON_TYPE } from '../http/problems.ts';
import { CACHE_BRIEFLY, type Representation, represent, sendRepresentation } from '../http/representation.ts';
import { TAG_NAMES, type TagName } from './openapi/info.ts';
import { listOperations, partOfDocument } from './openapi/parts.ts';

interface DescriptionParts {
  baseUrl: string;
  /** The whole description; made when it is first asked for. */
  document(): Document;
}

const tagQuery = z.strictObject({
  tag: z.enum(TAG_NAMES).optional().describe('Only the operations of this tag'),
});

const operationSchema = z.strictObject({
  method: z.string(),
  path: z.string().describe('With its parameters in braces'),
  summary: z.string(),
  scope: z.string().nullable().describe('What a key needs; `any`: every valid key will do, null: no key'),
  tag: z.enum(TAG_NAMES),
  operation_id: z.string(),
});

/** What the three routes answer, for who tells of them elsewhere. */
export interface Described {
  index(): unknown;
  operations(): unknown;
  description(): Document;
}

/** `/v1` itself: what there is, for everyone. */
export function addDescription(app: FastifyInstance, parts: DescriptionParts): Described {
  const { document } = parts;
  const data = addIndex(app, parts);
  addOperations(app, parts);
  addOpenApi(app, parts);
  return {
    index: () => ({ data }),
    operations: () => ({ data: listOperations(document(), undefined) }),
    description: document,
  };
}

function addIndex(app: FastifyInstance, { baseUrl }: DescriptionParts): object {
  const data = {
    description: 'Signals that someone is about to buy: detected, scored, explained, and delivered to you.',
    documentation: `${baseUrl}/developers/signal-api`,
    openapi: `${baseUrl}/v1/openapi.json`,
    operations: `${baseUrl}/v1/operations`,
  };
  const link = z.url();
  app.withTypeProvider<ZodTypeProvider>().get(
    '',
    {
      config: { scope: 'none' },
      schema: {
        operationId: 'getIndex',
        summary: 'Where this API is described',
        tags: ['Account'],
        querystring: noQuery,
        response: {
          200: z.strictObject({
            data: z.strictObject({
              description: z.string().describe('What the API is for'),
              documentation: link.describe('For people: how to begin, and what each thing means'),
              openapi: link.describe('For programs: the whole description; with `?tag=` a part of it'),
              operations: link.describe('Every operation in a line'),
            }),
          }),
        },
      },
    },
    async () => ({ data }),
  );
  return data;
}

function addOperations(app: FastifyInstance, { document }: DescriptionParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/operations',
    {
      config: { scope: 'none' },
      schema: {
        operationId: 'listOperations',
        summary: 'Every operation in a line',
        description: 'All of them in one answer. What takes and answers what is in `/v1/openapi.json?tag=…`.',
        tags: ['Account'],
        querystring: tagQuery,
        response: { 200: z.strictObject({ data: z.array(operationSchema), pagination: paginationSchema }) },
      },
    },
    async (request) => {
      const data = listOperations(document(), request.query.tag);
      return { data, pagination: { next_cursor: null, has_more: false, limit: data.length } };
    },
  );
}

function addOpenApi(app: FastifyInstance, { document }: DescriptionParts): void {
  const served = new Map<TagName | undefined, Representation>();
  app.withTypeProvider<ZodTypeProvider>().get(
    '/openapi.json',
    {
      config: { scope: 'none' },
      schema: {
        operationId: 'getOpenApi',
        summary: 'This description, or the part of one tag',
        description: 'A part stands by itself: it holds the components that its operations need.',
        tags: ['Account'],
        querystring: tagQuery,
        response: {
          200: z.looseObject({ openapi: z.string() }).describe('An OpenAPI 3.1 document'),
          304: z.undefined().describe('The one that you have (`If-None-Match`)'),
        },
      },
    },
    (request, reply) => {
      const { tag } = request.query;
      const representation = served.get(tag) ?? toRepresentation(partOfDocument(document(), tag));
      served.set(tag, representation);
      reply.removeHeader('cache-control'); // its own, not that of answers
      sendRepresentation(request, reply, representation);
    },
  );
}

function toRepresentation(document: Document): Representation {
  return represent({
    body: JSON.stringify(document),
    contentType: JSON_TYPE,
    cacheControl: CACHE_BRIEFLY,
    lastModified: null,
    headers: { 'access-control-allow-origin': '*' },
  });
}
