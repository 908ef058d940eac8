import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { pagingQuery } from '../http/paging.ts';
import { idParams, noQuery } from '../http/path.ts';
import { deliveryDetailSchema, deliverySchema } from '../model/delivery-resource.ts';
import { DomainError } from '../model/errors.ts';
import { deliveryDetail } from '../webhooks/delivery-resource.ts';
import { answerDeliveries, deliveryFilters } from './delivery-query.ts';
import { listAnswer } from './list.ts';
import type { ApiParts } from './parts.ts';

/** `/v1/dead-letters`: deliveries that have used up their retries, kept for 7 days to be sent again. */
export function addDeadLetters(app: FastifyInstance, parts: ApiParts): void {
  addList(app, parts);
  addGet(app, parts);
}

function addList(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/dead-letters',
    {
      config: { scope: 'webhooks:read' },
      schema: {
        operationId: 'listDeadLetters',
        summary: 'The dead-letter queue, newest first',
        tags: ['Deliveries'],
        querystring: z.strictObject({ ...deliveryFilters, ...pagingQuery }),
        response: { 200: listAnswer(deliverySchema) },
      },
    },
    (request, reply) =>
      answerDeliveries(parts, request, reply, {
        route: 'dead-letters',
        query: { status: 'dead', ...request.query },
        endpointId: null,
      }),
  );
}

function addGet(app: FastifyInstance, { store }: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/dead-letters/:id',
    {
      config: { scope: 'webhooks:read' },
      schema: {
        operationId: 'getDeadLetter',
        summary: 'One dead letter with its body and attempts',
        tags: ['Deliveries'],
        params: idParams,
        querystring: noQuery,
        response: { 200: z.strictObject({ data: deliveryDetailSchema }) },
      },
    },
    async (request) => {
      const { id } = request.params;
      const log = await store.getDelivery(callerOf(request).tenant.id, id);
      if (log?.status !== 'dead') {
        throw new DomainError('NOT_FOUND', `There is no dead letter "${id}".`, {
          hint: `See /v1/deliveries/${encodeURIComponent(id)} for what became of a delivery.`,
        });
      }
      return { data: deliveryDetail(log) };
    },
  );
}
