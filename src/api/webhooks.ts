import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { runParts } from '../http/idempotency.ts';
import { pagingQuery } from '../http/paging.ts';
import { idParams, noQuery } from '../http/path.ts';
import {
  webhookInputSchema,
  webhookPatchSchema,
  webhookResourceSchema,
  webhookWithSecretSchema,
} from '../model/webhook.ts';
import { changeEndpoint } from '../webhooks/endpoint-changes.ts';
import { createEndpoint, endpointResource, findEndpoint, noEndpoint } from '../webhooks/endpoints.ts';
import { cutPage, listAnswer, readPage } from './list.ts';
import type { ApiParts } from './parts.ts';

const oneWebhook = z.strictObject({ data: webhookResourceSchema });

/** `/v1/webhooks`: endpoints that events are delivered to. */
export function addWebhooks(app: FastifyInstance, parts: ApiParts): void {
  addCreate(app, parts);
  addList(app, parts);
  addGet(app, parts);
  addPatch(app, parts);
  addDelete(app, parts);
}

function addCreate(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/webhooks',
    {
      config: { scope: 'webhooks:write', problems: ['PLAN_REQUIRED'], showsSecret: true },
      schema: {
        operationId: 'createWebhook',
        summary: 'Create an endpoint; answers its secret',
        tags: ['Webhooks'],
        querystring: noQuery,
        body: webhookInputSchema,
        response: { 201: z.strictObject({ data: webhookWithSecretSchema }) },
      },
    },
    async (request, reply) => {
      const { endpoint, secret } = await createEndpoint(
        runParts(request, parts),
        callerOf(request).tenant,
        request.body,
      );
      reply.header('location', `${parts.baseUrl}/v1/webhooks/${endpoint.id}`);
      return reply.code(201).send({ data: { ...endpointResource(endpoint), secret } });
    },
  );
}

function addList(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/webhooks',
    {
      config: { scope: 'webhooks:read' },
      schema: {
        operationId: 'listWebhooks',
        summary: 'Endpoints, oldest first',
        tags: ['Webhooks'],
        querystring: z.strictObject(pagingQuery),
        response: { 200: listAnswer(webhookResourceSchema) },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const { page, pagination } = await readPage(
        parts,
        { request, reply },
        {
          name: 'webhooks',
          filters: null,
          query: request.query,
          read: async ({ limit, after }) => {
            const found = await parts.store.pageEndpoints(tenant.id, after, limit + 1);
            return cutPage(found, limit, ({ createdAt, id }) => [createdAt, id]);
          },
        },
      );
      return { data: page.rows.map(endpointResource), pagination };
    },
  );
}

function addGet(app: FastifyInstance, { store }: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/webhooks/:id',
    {
      config: { scope: 'webhooks:read' },
      schema: {
        operationId: 'getWebhook',
        summary: 'One endpoint',
        tags: ['Webhooks'],
        params: idParams,
        querystring: noQuery,
        response: { 200: oneWebhook },
      },
    },
    async (request) => {
      const endpoint = await findEndpoint(store, callerOf(request).tenant.id, request.params.id);
      return { data: endpointResource(endpoint) };
    },
  );
}

function addPatch(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().patch(
    '/webhooks/:id',
    {
      config: { scope: 'webhooks:write', problems: ['PLAN_REQUIRED', 'CONFLICT'] },
      schema: {
        operationId: 'updateWebhook',
        summary: 'Change settings of an endpoint',
        description:
          'What is left out stays as it is. The next attempt goes by the new settings; bodies that were made before keep their format.',
        tags: ['Webhooks'],
        params: idParams,
        querystring: noQuery,
        body: webhookPatchSchema,
        response: { 200: oneWebhook },
      },
    },
    async (request) => {
      const change = { id: request.params.id, patch: request.body };
      const endpoint = await changeEndpoint(parts, callerOf(request).tenant, change);
      parts.endpointChanged(endpoint.id);
      return { data: endpointResource(endpoint) };
    },
  );
}

function addDelete(app: FastifyInstance, { store, clock, endpointChanged }: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().delete(
    '/webhooks/:id',
    {
      config: { scope: 'webhooks:write' },
      schema: {
        operationId: 'deleteWebhook',
        summary: 'Delete an endpoint and discard what waits for it',
        tags: ['Webhooks'],
        params: idParams,
        querystring: noQuery,
        response: { 204: z.undefined().describe('Deleted') },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const deleted = await store.deleteEndpoint(callerOf(request).tenant.id, id, clock.now());
      if (!deleted) throw noEndpoint(id);
      endpointChanged(id);
      return reply.code(204).send();
    },
  );
}
