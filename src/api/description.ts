import { z } from 'zod';
import type { DescribedApi, Document } from '../http/openapi/document-types.ts';
import { paginationSchema } from '../http/paging.ts';
import { JSON_TYPE } from '../http/problems.ts';
import { CACHE_BRIEFLY, type Representation, represent, sendRepresentation } from '../http/representation.ts';
import { suggest } from '../http/suggest.ts';
import { TAG_NAMES, type TagName } from '../model/api-tags.ts';
import { DomainError } from '../model/errors.ts';
import { listOperations, partOfDocument } from './openapi/parts.ts';
import type { Routes, RoutesOf } from './routes.ts';

const tagQuery = { tag: z.enum(TAG_NAMES).optional().describe('Only the operations of this tag') };

const MAX_NAME_CHARS = 100;
const partQuery = {
  ...tagQuery,
  operation: z
    .string()
    .min(1)
    .max(MAX_NAME_CHARS)
    .optional()
    .describe('Only this operation, by its `operationId`, such as `createSignal`'),
};

const link = z.url();
const indexSchema = z.strictObject({
  description: z.string().describe('What the API is for'),
  documentation: link.describe('For people: how to begin, and what each thing means'),
  openapi: link.describe('For programs: the whole description; with `?tag=` a part of it'),
  operations: link.describe('Every operation in a line'),
});

const operationSchema = z
  .strictObject({
    method: z.string(),
    path: z.string().describe('With its parameters in braces'),
    summary: z.string(),
    scope: z.string().nullable().describe('What a key needs; `any`: every valid key will do, null: no key'),
    tag: z.enum(TAG_NAMES),
    operation_id: z.string(),
  })
  .meta({ id: 'OperationLine' });

/** `/v1` itself: what there is, for everyone. `document` is the whole description, made when it is first asked for. */
export function addDescription(routesOf: RoutesOf, baseUrl: string, document: () => Document): DescribedApi {
  const account = routesOf('Account');
  const data = {
    description: 'Signals that someone is about to buy: detected, scored, explained, and delivered to you.',
    documentation: `${baseUrl}/developers/signal-api`,
    openapi: `${baseUrl}/v1/openapi.json`,
    operations: `${baseUrl}/v1/operations`,
  };
  account.get('', {
    operationId: 'getIndex',
    summary: 'Where this API is described',
    scope: 'none',
    answer: indexSchema,
    handle: async () => data,
  });
  addOperations(account, document);
  addOpenApi(account, document);
  return {
    index: () => ({ data }),
    operations: () => ({ data: listOperations(document(), undefined) }),
    description: document,
  };
}

function addOperations(account: Routes, document: () => Document): void {
  account.add('GET /operations', {
    operationId: 'listOperations',
    summary: 'Every operation in a line',
    description: 'All of them in one answer. What takes and answers what is in `/v1/openapi.json?tag=…`.',
    scope: 'none',
    query: tagQuery,
    response: { 200: z.strictObject({ data: z.array(operationSchema), pagination: paginationSchema }) },
    answer({ query }) {
      const data = listOperations(document(), query.tag);
      return { data, pagination: { next_cursor: null, has_more: false, limit: data.length } };
    },
  });
}

function addOpenApi(account: Routes, document: () => Document): void {
  const served = new Map<TagName | undefined, Representation>();
  const whole = (tag: TagName | undefined) => {
    const representation = served.get(tag) ?? toRepresentation(partOfDocument(document(), { tag }));
    served.set(tag, representation);
    return representation;
  };
  account.add('GET /openapi.json', {
    operationId: 'getOpenApi',
    summary: 'This description, or the part of one tag or operation',
    description: 'A part stands by itself: it holds the components that its operations need.',
    scope: 'none',
    query: partQuery,
    response: {
      200: z.looseObject({ openapi: z.string() }).describe('An OpenAPI 3.1 document'),
      304: z.undefined().describe('The one that you have (`If-None-Match`)'),
    },
    answer({ query: { tag, operation }, request, reply }) {
      // Of one operation there are too many parts to keep them all, and each is small.
      const representation =
        operation === undefined ? whole(tag) : toRepresentation(partOfOperation(document(), operation, tag));
      reply.removeHeader('cache-control'); // its own, not that of answers
      sendRepresentation(request, reply, representation);
    },
  });
}

/** @throws DomainError `INVALID_REQUEST` where there is no such operation */
function partOfOperation(document: Document, operation: string, tag: TagName | undefined): Document {
  const part = partOfDocument(document, { operation, tag });
  if (Object.keys(part.paths).length > 0) return part;
  const near = suggest(
    operation,
    listOperations(document, tag).map(({ operation_id }) => operation_id),
  );
  const detail = `There is no operation "${operation}"${near === null ? '' : `; did you mean "${near}"`}.`;
  throw new DomainError('INVALID_REQUEST', detail, {
    hint: 'GET /v1/operations lists all of them.',
    errors: [{ parameter: 'operation', detail }],
  });
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
