import type { FastifyInstance } from 'fastify';
import { listOf, queryTime } from '../http/query.ts';
import { eventTypeSchema } from '../model/event.ts';
import { eventResourceSchema } from '../model/event-resource.ts';
import { eventResource } from '../webhooks/event-resource.ts';
import { addList } from './list.ts';
import type { ApiParts } from './parts.ts';
import { routesOf } from './routes.ts';

/** `GET /v1/events`: everything that happened, and who was told. */
export function addEvents(app: FastifyInstance, parts: ApiParts): void {
  const { store, clock } = parts;
  addList(routesOf(app, parts, 'Events'), '/events', {
    operationId: 'listEvents',
    summary: 'Everything that happened, newest first, and who was told of it',
    description:
      'For each event and each endpoint, `deliveries` tells whether it was delivered, and why not where it was not.',
    scope: 'webhooks:read',
    query: {
      type: listOf(eventTypeSchema).describe('Only events of these types'),
      from: queryTime.describe('From this time on'),
      to: queryTime.describe('Before this time'),
    },
    item: eventResourceSchema,
    filters: ({ query: { type: types, from, to } }) => ({ types, from, to }),
    async read({ tenantId }, asked) {
      const [page, endpoints] = await Promise.all([
        store.listEvents(tenantId, asked),
        store.listEndpoints(tenantId),
      ]);
      return { ...page, endpoints };
    },
    show: ({ rows, endpoints }) => {
      const now = clock.now();
      return rows.map((event) => eventResource(event, endpoints, now));
    },
  });
}
