import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { pagingQuery } from '../http/paging.ts';
import { listOf, queryTime } from '../http/query.ts';
import { eventTypeSchema } from '../model/event.ts';
import { eventResourceSchema } from '../model/event-resource.ts';
import { eventResource } from '../webhooks/event-resource.ts';
import { listAnswer, type Place, readPage } from './list.ts';
import type { ApiParts } from './parts.ts';

const eventQuerySchema = z.strictObject({
  type: listOf(eventTypeSchema).describe('Only events of these types'),
  from: queryTime.describe('From this time on'),
  to: queryTime.describe('Before this time'),
  ...pagingQuery,
});

/** `GET /v1/events`: everything that happened, and who was told. */
export function addEvents(
  app: FastifyInstance,
  parts: Pick<ApiParts, 'store' | 'cursors' | 'baseUrl' | 'clock'>,
): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/events',
    {
      config: { scope: 'webhooks:read' },
      schema: {
        operationId: 'listEvents',
        summary: 'Everything that happened, newest first, and who was told of it',
        description:
          'For each event and each endpoint, `deliveries` tells whether it was delivered, and why not where it was not.',
        tags: ['Events'],
        querystring: eventQuerySchema,
        response: { 200: listAnswer(eventResourceSchema) },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const { type: types, from, to } = request.query;
      const filters = { types, from, to };
      const list = {
        name: 'events',
        filters,
        query: request.query,
        read: (place: Place) => parts.store.listEvents(tenant.id, { ...filters, ...place }),
      };
      const [{ page, pagination }, endpoints] = await Promise.all([
        readPage(parts, { request, reply }, list),
        parts.store.listEndpoints(tenant.id),
      ]);
      const now = parts.clock.now();
      return { data: page.rows.map((event) => eventResource(event, endpoints, now)), pagination };
    },
  );
}
