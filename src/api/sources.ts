import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { runParts } from '../http/idempotency.ts';
import { pagingQuery } from '../http/paging.ts';
import { idParams, noQuery } from '../http/path.ts';
import { sourceInputSchema, sourcePatchSchema, sourceResource, sourceSchema } from '../model/source.ts';
import { changeSource, createSource, deleteSource, findSource } from '../signals/sources.ts';
import { listAnswer, readPage } from './list.ts';
import type { ApiParts } from './parts.ts';

type SourceRouteParts = Pick<
  ApiParts,
  | 'store'
  | 'clock'
  | 'newId'
  | 'seededRandom'
  | 'cursors'
  | 'baseUrl'
  | 'allowTargets'
  | 'secretBox'
  | 'refusalOf'
  | 'sourcesChanged'
>;

const oneSource = z.strictObject({ data: sourceSchema });

/** `/v1/sources`: where posts are detected. What makes a source run or rest is in `source-actions.ts`. */
export function addSources(app: FastifyInstance, parts: SourceRouteParts): void {
  addCreate(app, parts);
  addList(app, parts);
  addGet(app, parts);
  addPatch(app, parts);
  addDelete(app, parts);
}

function addCreate(app: FastifyInstance, parts: SourceRouteParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/sources',
    {
      config: { scope: 'sources:write', problems: ['CONFLICT', 'PLAN_REQUIRED'] },
      schema: {
        operationId: 'createSource',
        summary: 'Create a source',
        description: [
          'Its posts are matched with the profiles it names, or with all that are active; a post that matches none makes no',
          'signal. It is read at once, and then every `interval_seconds`. Each kind takes its own settings: `rss` a `url`;',
          '`hackernews` and `hackernews_hiring` a `query`; `stackexchange` a `site` with `tagged`, `query` or both, and a `key`;',
          'job boards a `board`; `sec_form_d` a `query` or nothing; `discourse` and `lemmy` a `url`, with a `query` or without;',
          '`mastodon` a `url` and a `tag`; `lobsters` a `tag` or nothing; `github` a `query`, and a `token`; `bluesky` a `query`;',
          '`reddit` a `subreddit`, `client_id` and `client_secret`, with a `query` or without. What is asked must be on the public',
          'internet. The robots.txt of a feed is obeyed: one that it keeps from programs is refused here, with what there is instead.',
        ].join(' '),
        tags: ['Sources'],
        querystring: noQuery,
        body: sourceInputSchema,
        response: { 201: oneSource },
      },
    },
    async (request, reply) => {
      const source = await createSource(runParts(request, parts), callerOf(request).tenant, request.body);
      parts.sourcesChanged?.();
      reply.header('location', `${parts.baseUrl}/v1/sources/${source.id}`);
      return reply.code(201).send({ data: sourceResource(source) });
    },
  );
}

function addList(app: FastifyInstance, parts: SourceRouteParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/sources',
    {
      config: { scope: 'sources:read' },
      schema: {
        operationId: 'listSources',
        summary: 'Sources, oldest first',
        tags: ['Sources'],
        querystring: z.strictObject(pagingQuery),
        response: { 200: listAnswer(sourceSchema) },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const { page, pagination } = await readPage(
        parts,
        { request, reply },
        {
          name: 'sources',
          filters: null,
          query: request.query,
          read: (place) => parts.store.pageSources(tenant.id, place),
        },
      );
      return { data: page.rows.map(sourceResource), pagination };
    },
  );
}

function addGet(app: FastifyInstance, { store }: SourceRouteParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/sources/:id',
    {
      config: { scope: 'sources:read' },
      schema: {
        operationId: 'getSource',
        summary: 'One source, and how it is doing',
        tags: ['Sources'],
        params: idParams,
        querystring: noQuery,
        response: { 200: oneSource },
      },
    },
    async (request) => ({
      data: sourceResource(await findSource(store, callerOf(request).tenant.id, request.params.id)),
    }),
  );
}

function addPatch(app: FastifyInstance, parts: SourceRouteParts): void {
  app.withTypeProvider<ZodTypeProvider>().patch(
    '/sources/:id',
    {
      config: { scope: 'sources:write', problems: ['CONFLICT'] },
      schema: {
        operationId: 'updateSource',
        summary: 'Change a source',
        description:
          'What is left out stays as it is; the kind cannot be changed. With another `url`, `query` or whatever else its kind reads by, it is read from the start, at once.',
        tags: ['Sources'],
        params: idParams,
        querystring: noQuery,
        body: sourcePatchSchema,
        response: { 200: oneSource },
      },
    },
    async (request) => {
      const change = { id: request.params.id, patch: request.body };
      const source = await changeSource(parts, callerOf(request).tenant.id, change);
      parts.sourcesChanged?.();
      return { data: sourceResource(source) };
    },
  );
}

function addDelete(app: FastifyInstance, { store }: SourceRouteParts): void {
  app.withTypeProvider<ZodTypeProvider>().delete(
    '/sources/:id',
    {
      config: { scope: 'sources:write' },
      schema: {
        operationId: 'deleteSource',
        summary: 'Delete a source',
        description: 'The signals it made stay.',
        tags: ['Sources'],
        params: idParams,
        querystring: noQuery,
        response: { 204: z.undefined().describe('Deleted') },
      },
    },
    async (request, reply) => {
      await deleteSource(store, callerOf(request).tenant.id, request.params.id);
      return reply.code(204).send();
    },
  );
}
