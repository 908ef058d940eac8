import { createYielder } from '../lib/yielding.ts';
import { eventFilters, eventResourceSchema } from '../model/event-resource.ts';
import { eventResource } from '../webhooks/event-resource.ts';
import { addList } from './list.ts';
import type { RoutesOf } from './routes.ts';

/**
 * `GET /v1/events`: everything that happened, and who was told. A page of a hundred events has an outcome for each of as many
 * endpoints as there are, so that it is made in pieces, as text.
 */
export function addEvents(routesOf: RoutesOf): void {
  addList(routesOf('Events'), '/events', {
    operationId: 'listEvents',
    summary: 'List events',
    description:
      'Newest first. `deliveries` has the outcome for each endpoint: whether the event was delivered, or why it was not.',
    scope: 'webhooks:read',
    query: eventFilters.query.shape,
    item: eventResourceSchema,
    filters: ({ query }) => eventFilters.toFilters(query),
    async read({ parts: { store }, tenantId }, asked) {
      const [page, endpoints] = await Promise.all([
        store.listEvents(tenantId, asked),
        store.listEndpoints(tenantId),
      ]);
      return { ...page, endpoints };
    },
    stored: {
      kind: 'events',
      async read({ parts: { store }, tenantId }, asked) {
        const page = await store.listStoredEvents(tenantId, asked);
        return { ...page, endpoints: await store.listEndpoints(tenantId) };
      },
    },
    async show({ rows, endpoints }, { parts: { clock } }) {
      const now = clock.now();
      const nextTurn = createYielder(clock);
      const texts: string[] = [];
      for (const event of rows) {
        texts.push(JSON.stringify(eventResource(event, endpoints, now)));
        await nextTurn();
      }
      return Buffer.from(texts.join(','));
    },
  });
}
