import { z } from 'zod';
import { deliveryDetailSchema, deliveryFilters, deliverySchema } from '../model/delivery-resource.ts';
import { DomainError } from '../model/errors.ts';
import { eventTypeSchema } from '../model/event.ts';
import { idInput, timeInput } from '../model/text.ts';
import type { DeliveryLog } from '../store/delivery-store.ts';
import { deliveryDetail, deliveryResource } from '../webhooks/delivery-resource.ts';
import { refusePull } from '../webhooks/endpoint-changes.ts';
import { findEndpoint } from '../webhooks/endpoints.ts';
import { replayAll, replayDelivery, replayListed } from '../webhooks/replays.ts';
import { addDeadLetters } from './dead-letters.ts';
import { addList } from './list.ts';
import type { ApiParts } from './parts.ts';
import type { Routes, RoutesOf } from './routes.ts';

/** Body of a bulk replay; without one, every dead letter of the endpoint. */
const replayOrderSchema = z
  .strictObject({
    status: z
      .enum(['dead', 'discarded', 'expired', 'delivered'])
      .default('dead')
      .describe('How they ended; of expired ones the body is gone, so that none of them can be sent'),
    from: timeInput.nullable().optional().describe('Made from this time on'),
    to: timeInput.nullable().optional().describe('Made before this time; absent: now'),
    event_types: z
      .array(eventTypeSchema)
      .max(50)
      .optional()
      .describe('Only of events of these types; empty: of all'),
    ids: z
      .array(idInput)
      .min(1)
      .max(500)
      .optional()
      .describe('These deliveries alone, however they ended; those that cannot be sent again are passed by'),
  })
  .refine(
    ({ ids, ...others }) => ids === undefined || Object.keys(others).every((name) => name === 'status'),
    'takes "ids" or a range, not both',
  )
  .nullish();

/** `/v1/deliveries` and the deliveries of an endpoint: what was sent, and sending it again. */
export function addDeliveries(routesOf: RoutesOf): void {
  const deliveries = routesOf('Deliveries');
  addList(deliveries, '/deliveries', {
    operationId: 'listDeliveries',
    summary: 'Deliveries to all endpoints, newest first',
    scope: 'webhooks:read',
    query: deliveryFilters.query.shape,
    item: deliverySchema,
    filters: ({ query }) => deliveryFilters.toFilters(query),
    read: ({ parts: { store }, tenantId }, asked) => store.listDeliveries(tenantId, asked),
    show: ({ rows }) => rows.map(deliveryResource),
  });
  addList(deliveries, '/webhooks/:id/deliveries', {
    operationId: 'listWebhookDeliveries',
    summary: 'Deliveries to one endpoint, newest first',
    scope: 'webhooks:read',
    query: deliveryFilters.query.shape,
    item: deliverySchema,
    name: 'webhook-deliveries',
    filters: async ({ parts, tenantId, params, query }) => ({
      ...deliveryFilters.toFilters(query),
      endpointId: (await findEndpoint(parts.store, tenantId, params.id)).id,
    }),
    read: ({ parts: { store }, tenantId }, asked) => store.listDeliveries(tenantId, asked),
    show: ({ rows }) => rows.map(deliveryResource),
  });
  deliveries.get('/deliveries/:id', {
    operationId: 'getDelivery',
    summary: 'One delivery with its attempts',
    scope: 'webhooks:read',
    answer: deliveryDetailSchema,
    handle: async ({ parts, tenantId, params }) =>
      deliveryDetail(await requireDelivery(parts, tenantId, params.id)),
  });
  addReplays(deliveries);
  addDeadLetters(deliveries);
}

function addReplays(deliveries: Routes): void {
  deliveries.post('/deliveries/:id/replay', {
    operationId: 'replayDelivery',
    summary: 'Send a delivery again that has ended',
    description:
      'Under the same `webhook-id`, with the same body, all retries before it, and its attempts counting on.',
    scope: 'webhooks:write',
    problems: ['CONFLICT'],
    answer: deliverySchema,
    async handle({ parts, tenantId, params: { id } }) {
      await replayDelivery(parts, tenantId, id);
      const log = await requireDelivery(parts, tenantId, id);
      const { attempts: _attempts, body: _body, ...resource } = deliveryDetail(log);
      return resource;
    },
  });
  deliveries.post('/webhooks/:id/replay', {
    operationId: 'replayWebhookDeliveries',
    summary: 'Send deliveries of an endpoint again; answers how many',
    scope: 'webhooks:write',
    problems: ['CONFLICT'],
    body: replayOrderSchema,
    answer: z.strictObject({ replayed: z.int().describe('Deliveries that are due again') }),
    async handle({ parts, tenantId, params, body }) {
      const endpoint = await findEndpoint(parts.store, tenantId, params.id);
      refusePull(endpoint, 'replayed');
      const { status = 'dead', from = null, to = null, event_types: eventTypes = [], ids } = body ?? {};
      const order = { endpointId: endpoint.id, status, from, to, eventTypes };
      if (ids !== undefined) return { replayed: await replayListed(parts, tenantId, { ...order, ids }) };
      return { replayed: await replayAll(parts, tenantId, order) };
    },
  });
}

/** @throws DomainError `NOT_FOUND` */
async function requireDelivery({ store }: ApiParts, tenantId: string, id: string): Promise<DeliveryLog> {
  const log = await store.getDelivery(tenantId, id);
  if (log === null) throw new DomainError('NOT_FOUND', `There is no delivery "${id}".`);
  return log;
}
