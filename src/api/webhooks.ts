import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { cursorScope, paginate, paginationSchema, pagingQuery, readCursor } from '../http/paging.ts';
import { DomainError } from '../model/errors.ts';
import { webhookInputSchema, webhookResourceSchema } from '../model/webhook.ts';
import { createEndpoint, endpointResource } from '../webhooks/endpoints.ts';
import type { ApiParts } from './parts.ts';

const idParams = z.strictObject({ id: z.string() });
const noQuery = z.strictObject({});

/** `/v1/webhooks`: endpoints that events are delivered to. */
export function addWebhooks(app: FastifyInstance, parts: ApiParts): void {
  addCreate(app, parts);
  addList(app, parts);
  addGet(app, parts);
  addDelete(app, parts);
}

function addCreate(app: FastifyInstance, parts: ApiParts): void {
  const created = webhookResourceSchema.extend({ secret: z.string().describe('Shown here and never again') });
  app.withTypeProvider<ZodTypeProvider>().post(
    '/webhooks',
    {
      config: { scope: 'webhooks:write' },
      schema: {
        operationId: 'createWebhook',
        summary: 'Create an endpoint; answers its secret',
        tags: ['Webhooks'],
        querystring: noQuery,
        body: webhookInputSchema,
        response: { 201: z.strictObject({ data: created }) },
      },
    },
    async (request, reply) => {
      const { endpoint, secret } = await createEndpoint(parts, callerOf(request).tenant, request.body);
      reply.header('location', `${parts.baseUrl}/v1/webhooks/${endpoint.id}`);
      return reply.code(201).send({ data: { ...endpointResource(endpoint), secret } });
    },
  );
}

function addList(app: FastifyInstance, { store, cursors, baseUrl }: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/webhooks',
    {
      config: { scope: 'webhooks:read' },
      schema: {
        operationId: 'listWebhooks',
        summary: 'Endpoints, oldest first',
        tags: ['Webhooks'],
        querystring: z.strictObject(pagingQuery),
        response: {
          200: z.strictObject({ data: z.array(webhookResourceSchema), pagination: paginationSchema }),
        },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const { limit, cursor } = request.query;
      const scope = cursorScope('webhooks', tenant.id, null);
      const after = String(readCursor(cursors, scope, cursor)?.[0] ?? '');
      // Ids sort by the time they were made in. A tenant has few endpoints: the page is cut here, not in the store.
      const rest = (await store.listEndpoints(tenant.id))
        .filter(({ id }) => id > after)
        .sort((a, b) => (a.id < b.id ? -1 : 1));
      const page = rest.slice(0, limit);
      const last = rest.length > limit ? page.at(-1) : undefined;
      const nextCursor = last === undefined ? null : cursors.encode(scope, [last.id]);
      return {
        data: page.map(endpointResource),
        pagination: paginate(request, reply, { baseUrl, nextCursor, limit }),
      };
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
        response: { 200: z.strictObject({ data: webhookResourceSchema }) },
      },
    },
    async (request) => {
      const endpoint = await store.getEndpoint(callerOf(request).tenant.id, request.params.id);
      if (endpoint === null) throw noEndpoint(request.params.id);
      return { data: endpointResource(endpoint) };
    },
  );
}

function addDelete(app: FastifyInstance, { store, clock }: ApiParts): void {
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
      return reply.code(204).send();
    },
  );
}

function noEndpoint(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no webhook endpoint "${id}".`);
}
