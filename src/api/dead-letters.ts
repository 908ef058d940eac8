import { deliveryDetailSchema, deliveryFilters, deliverySchema } from '../model/delivery-resource.ts';
import { DomainError } from '../model/errors.ts';
import { deliveryDetail, deliveryResource } from '../webhooks/delivery-resource.ts';
import { addList } from './list.ts';
import type { Routes } from './routes.ts';

/** `/v1/dead-letters`: deliveries that ran out of retries, kept for 7 days to be replayed. */
export function addDeadLetters(deliveries: Routes): void {
  addList(deliveries, '/dead-letters', {
    operationId: 'listDeadLetters',
    summary: 'List dead letters',
    description: 'Deliveries that ran out of retries, newest first. They are kept for 7 days.',
    scope: 'webhooks:read',
    query: deliveryFilters.query.omit({ status: true }).shape,
    item: deliverySchema,
    filters: ({ query }) => deliveryFilters.toFilters({ ...query, status: 'dead' }),
    read: ({ parts: { store }, tenantId }, asked) => store.listDeliveries(tenantId, asked),
    show: ({ rows }) => rows.map(deliveryResource),
  });
  deliveries.get('/dead-letters/:id', {
    operationId: 'getDeadLetter',
    summary: 'Get a dead letter',
    description: 'Returns the delivery with its payload and attempts.',
    scope: 'webhooks:read',
    answer: deliveryDetailSchema,
    async handle({ parts: { store }, tenantId, params: { id } }) {
      const log = await store.getDelivery(tenantId, id);
      if (log?.status !== 'dead') {
        throw new DomainError('NOT_FOUND', `There is no dead letter "${id}".`, {
          hint: `See /v1/deliveries/${encodeURIComponent(id)} for what became of a delivery.`,
        });
      }
      return deliveryDetail(log);
    },
  });
}
