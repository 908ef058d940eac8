import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { runParts } from '../http/idempotency.ts';
import { idParams, noQuery } from '../http/path.ts';
import { deliveryDetailSchema, deliverySchema } from '../model/delivery-resource.ts';
import { DomainError } from '../model/errors.ts';
import { deliveryDetail } from '../webhooks/delivery-resource.ts';
import { findEndpoint } from '../webhooks/endpoints.ts';
import { replayAll, replayDelivery } from '../webhooks/replays.ts';
import { answerDeliveries, deliveryQuerySchema } from './delivery-query.ts';
import { listAnswer } from './list.ts';
import type { ApiParts } from './parts.ts';
import { replayOrderSchema } from './replay-order.ts';

const manyDeliveries = listAnswer(deliverySchema);

/** `/v1/deliveries` and the deliveries of an endpoint: what was sent, and sending it again. */
export function addDeliveries(app: FastifyInstance, parts: ApiParts): void {
  addList(app, parts);
  addListOfEndpoint(app, parts);
  addGet(app, parts);
  addReplay(app, parts);
  addReplayAll(app, parts);
}

function addList(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/deliveries',
    {
      config: { scope: 'webhooks:read' },
      schema: {
        operationId: 'listDeliveries',
        summary: 'Deliveries to all endpoints, newest first',
        tags: ['Deliveries'],
        querystring: deliveryQuerySchema,
        response: { 200: manyDeliveries },
      },
    },
    (request, reply) =>
      answerDeliveries(parts, request, reply, {
        route: 'deliveries',
        query: request.query,
        endpointId: null,
      }),
  );
}

function addListOfEndpoint(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/webhooks/:id/deliveries',
    {
      config: { scope: 'webhooks:read' },
      schema: {
        operationId: 'listWebhookDeliveries',
        summary: 'Deliveries to one endpoint, newest first',
        tags: ['Deliveries'],
        params: idParams,
        querystring: deliveryQuerySchema,
        response: { 200: manyDeliveries },
      },
    },
    async (request, reply) => {
      const endpoint = await findEndpoint(parts.store, callerOf(request).tenant.id, request.params.id);
      return answerDeliveries(parts, request, reply, {
        route: 'webhook-deliveries',
        query: request.query,
        endpointId: endpoint.id,
      });
    },
  );
}

function addGet(app: FastifyInstance, { store }: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/deliveries/:id',
    {
      config: { scope: 'webhooks:read' },
      schema: {
        operationId: 'getDelivery',
        summary: 'One delivery with its attempts',
        tags: ['Deliveries'],
        params: idParams,
        querystring: noQuery,
        response: { 200: z.strictObject({ data: deliveryDetailSchema }) },
      },
    },
    async (request) => {
      const log = await store.getDelivery(callerOf(request).tenant.id, request.params.id);
      if (log === null) throw noDelivery(request.params.id);
      return { data: deliveryDetail(log) };
    },
  );
}

function addReplay(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/deliveries/:id/replay',
    {
      config: { scope: 'webhooks:write', problems: ['CONFLICT'] },
      schema: {
        operationId: 'replayDelivery',
        summary: 'Send a delivery again that has ended',
        description:
          'Under the same `webhook-id`, with the same body, all retries before it, and its attempts counting on.',
        tags: ['Deliveries'],
        params: idParams,
        querystring: noQuery,
        response: { 200: z.strictObject({ data: deliverySchema }) },
      },
    },
    async (request) => {
      const { tenant } = callerOf(request);
      await replayDelivery(runParts(request, parts), tenant.id, request.params.id);
      const log = await parts.store.getDelivery(tenant.id, request.params.id);
      if (log === null) throw noDelivery(request.params.id);
      const { attempts: _attempts, body: _body, ...resource } = deliveryDetail(log);
      return { data: resource };
    },
  );
}

function addReplayAll(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/webhooks/:id/replay',
    {
      config: { scope: 'webhooks:write' },
      schema: {
        operationId: 'replayWebhookDeliveries',
        summary: 'Send deliveries of an endpoint again; answers how many',
        tags: ['Deliveries'],
        params: idParams,
        querystring: noQuery,
        body: replayOrderSchema,
        response: {
          200: z.strictObject({
            data: z.strictObject({ replayed: z.int().describe('Deliveries that are due again') }),
          }),
        },
      },
    },
    async (request) => {
      const { tenant } = callerOf(request);
      const endpoint = await findEndpoint(parts.store, tenant.id, request.params.id);
      const { status = 'dead', from = null, to = null } = request.body ?? {};
      const order = { endpointId: endpoint.id, status, from, to };
      return { data: { replayed: await replayAll(runParts(request, parts), tenant.id, order) } };
    },
  );
}

function noDelivery(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no delivery "${id}".`);
}
