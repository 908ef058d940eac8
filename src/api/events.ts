import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { cursorScope, paginate, paginationSchema, pagingQuery, readCursor } from '../http/paging.ts';
import { listOf, queryTime } from '../http/query.ts';
import { eventTypeSchema } from '../model/event.ts';
import { eventResourceSchema } from '../model/event-resource.ts';
import { eventResource } from '../webhooks/event-resource.ts';
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
  { store, cursors, baseUrl, clock }: Pick<ApiParts, 'store' | 'cursors' | 'baseUrl' | 'clock'>,
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
        response: {
          200: z.strictObject({ data: z.array(eventResourceSchema), pagination: paginationSchema }),
        },
      },
    },
    async (request, reply) => {
      const { tenant } = callerOf(request);
      const { type: types, from, to, limit, cursor } = request.query;
      const scope = cursorScope('events', tenant.id, { types, from, to });
      const after = readCursor(cursors, scope, cursor);
      const [page, endpoints] = await Promise.all([
        store.listEvents(tenant.id, { types, from, to, limit, after }),
        store.listEndpoints(tenant.id),
      ]);
      const nextCursor = page.last === null ? null : cursors.encode(scope, page.last);
      const now = clock.now();
      return {
        data: page.rows.map((event) => eventResource(event, endpoints, now)),
        pagination: paginate(request, reply, { baseUrl, nextCursor, limit }),
      };
    },
  );
}
