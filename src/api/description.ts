import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { suggest } from '../http/faults.ts';
import type { Description } from '../http/openapi/describe-routes.ts';
import {
  type DescribedApi,
  type Document,
  type OperationObject,
  pruneComponents,
} from '../http/openapi/schemas.ts';
import { paginationSchema } from '../http/paging.ts';
import { JSON_TYPE } from '../http/problems.ts';
import { CACHE_BRIEFLY, type Representation, represent, sendRepresentation } from '../http/representation.ts';
import { DomainError } from '../model/errors.ts';
import { TAG_NAMES, type TagName } from '../model/public-api.ts';
import type { Routes, RoutesOf } from './routes.ts';

const tagQuery = { tag: z.enum(TAG_NAMES).optional().describe('Only operations with this tag.') };

const MAX_NAME_CHARS = 100;
const partQuery = {
  ...tagQuery,
  operation: z
    .string()
    .min(1)
    .max(MAX_NAME_CHARS)
    .optional()
    .describe('Only the operation with this `operationId`, such as `createSignal`.'),
};

const link = z.url();
const indexSchema = z.strictObject({
  description: z.string().describe('Description of the API.'),
  documentation: link.describe('URL of the documentation.'),
  openapi: link.describe('URL of the OpenAPI document. `?tag=` returns a part of it.'),
  operations: link.describe('URL of the list of operations.'),
});

const operationSchema = z
  .strictObject({
    method: z.string().describe('HTTP method.'),
    path: z.string().describe('Path, with parameters in braces.'),
    summary: z.string().describe('Summary of the operation.'),
    scope: z
      .string()
      .nullable()
      .describe('Scope that the key needs; `any` for any valid key, `null` if no key is needed.'),
    tag: z.enum(TAG_NAMES).describe('Tag of the operation.'),
    operation_id: z.string().describe('The `operationId` in the OpenAPI document.'),
  })
  .meta({ id: 'OperationLine', description: 'An operation of the API.' });

/** `/v1` itself, without a key. */
export function addDescription(routesOf: RoutesOf, baseUrl: string, described: Description): DescribedApi {
  const account = routesOf('Account');
  const data = {
    description: 'Buying signals in public posts: detected, scored, explained and delivered to you.',
    documentation: `${baseUrl}/developers/signal-api`,
    openapi: `${baseUrl}/v1/openapi.json`,
    operations: `${baseUrl}/v1/operations`,
  };
  account.get('', {
    operationId: 'getIndex',
    summary: 'Get the API index',
    scope: 'none',
    answer: indexSchema,
    handle: async () => data,
  });
  addOperations(account, described);
  addOpenApi(account, described);
  return {
    prepare: described.prepare,
    index: () => ({ data }),
    operations: () => ({ data: listOperations(described.document(), undefined) }),
    description: described.document,
  };
}

function addOperations(account: Routes, { prepare, document }: Description): void {
  account.add('GET /operations', {
    operationId: 'listOperations',
    summary: 'List operations',
    description:
      'Returns all operations on one page. `/v1/openapi.json?tag=…` has their parameters and schemas.',
    scope: 'none',
    query: tagQuery,
    response: {
      200: z.strictObject({
        data: z.array(operationSchema).describe('The operations.'),
        pagination: paginationSchema,
      }),
    },
    async answer({ query }) {
      await prepare();
      const data = listOperations(document(), query.tag);
      return { data, pagination: { next_cursor: null, has_more: false, limit: data.length } };
    },
  });
}

/** Parts that are kept once requested, of about 20 KB; to make one takes 8 ms. */
const KEPT_PARTS = 64;

function addOpenApi(account: Routes, { prepare, document }: Description): void {
  const served = new LRUCache<string, Representation>({ max: KEPT_PARTS });
  const partOf = ({ tag, operation }: PartFilter) => {
    const key = `${tag ?? ''} ${operation ?? ''}`;
    const make = () =>
      operation === undefined
        ? toRepresentation(partOfDocument(document(), { tag }), 'kept')
        : toRepresentation(partOfOperation(document(), operation, tag), 'once'); // more than are kept
    const representation = served.get(key) ?? make();
    served.set(key, representation);
    return representation;
  };
  account.add('GET /openapi.json', {
    operationId: 'getOpenApi',
    summary: 'Get the OpenAPI document',
    description: 'Returns the whole document, or a self-contained part of it for one tag or operation.',
    scope: 'none',
    query: partQuery,
    response: {
      200: z
        .looseObject({ openapi: z.string().describe('Version of OpenAPI.') })
        .describe('An OpenAPI 3.1 document'),
      304: z.undefined().describe('Not modified (`If-None-Match`)'),
    },
    async answer({ query, request, reply }) {
      await prepare();
      const representation = partOf(query);
      reply.removeHeader('cache-control'); // its own replaces the default of responses
      sendRepresentation(request, reply, representation);
      return reply;
    },
  });
}

/** @throws DomainError `INVALID_REQUEST` if there is no such operation */
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

function toRepresentation(document: Document, use: 'once' | 'kept'): Representation {
  return represent({
    body: JSON.stringify(document),
    contentType: JSON_TYPE,
    cacheControl: CACHE_BRIEFLY,
    lastModified: null,
    headers: { 'access-control-allow-origin': '*' },
    use,
  });
}

/** An operation as a line of the index. */
export interface OperationLine {
  method: string;
  path: string;
  summary: string;
  scope: string | null;
  tag: TagName;
  operation_id: string;
}

/** Every operation of the document, or those of one tag. */
function listOperations(document: Document, tag: TagName | undefined): OperationLine[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, operation]) => belongs(operation, tag))
      .map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        summary: operation.summary ?? '',
        scope: scopeOf(operation),
        tag: operation.tags?.[0] as TagName,
        operation_id: operation.operationId ?? '',
      })),
  );
}

/** The requested operations of the document. */
export interface PartFilter {
  tag?: TagName | undefined;
  operation?: string | undefined;
}

/** The requested part of the document with the components it needs; the whole document by default. */
function partOfDocument(document: Document, { tag, operation }: PartFilter): Document {
  if (tag === undefined && operation === undefined) return document;
  const isAsked = (one: OperationObject) =>
    belongs(one, tag) && (operation === undefined || one.operationId === operation);
  const paths = operationsWhere(document.paths, isAsked);
  const named = Object.values(paths).flatMap((item) => Object.values(item).flatMap(({ tags }) => tags ?? []));
  const part = {
    ...document,
    tags: document.tags.filter(({ name }) => (operation === undefined ? name === tag : named.includes(name))),
    paths,
    webhooks: operationsWhere(document.webhooks ?? {}, isAsked),
    components: Object.fromEntries(
      Object.entries(document.components).map(([kind, entries]) => [kind, { ...entries }]),
    ),
  };
  pruneComponents(part);
  return part;
}

function operationsWhere<T extends Record<string, OperationObject>>(
  paths: Record<string, T>,
  isAsked: (operation: OperationObject) => boolean,
): Record<string, T> {
  return Object.fromEntries(
    Object.entries(paths).flatMap(([path, item]) => {
      const kept = Object.entries(item).filter(([, operation]) => isAsked(operation));
      return kept.length === 0 ? [] : [[path, Object.fromEntries(kept) as T]];
    }),
  );
}

function belongs({ tags }: OperationObject, tag: TagName | undefined): boolean {
  return tag === undefined || tags?.includes(tag) === true;
}

function scopeOf(operation: OperationObject): string | null {
  if (operation.security?.length === 0) return null;
  return operation['x-required-scope'] ?? 'any';
}
