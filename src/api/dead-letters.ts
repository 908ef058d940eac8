import { deliveryDetailSchema, deliveryFilters, deliverySchema } from '../model/delivery-resource.ts';
import { DomainError } from '../model/errors.ts';
import { deliveryDetail, deliveryResource } from '../webhooks/delivery-resource.ts';
import { addList } from './list.ts';
import type { Routes } from './routes.ts';

/** `/v1/dead-letters`: deliveries that have used up their retries, kept for 7 days to be sent again. */
export function addDeadLetters(deliveries: Routes): void {
  addList(deliveries, '/dead-letters', {
    operationId: 'listDeadLetters',
    summary: 'The dead-letter queue, newest first',
    scope: 'webhooks:read',
    query: deliveryFilters.query.omit({ status: true }).shape,
    item: deliverySchema,
    filters: ({ query }) => deliveryFilters.toFilters({ ...query, status: 'dead' }),
    read: ({ parts: { store }, tenantId }, asked) => store.listDeliveries(tenantId, asked),
    show: ({ rows }) => rows.map(deliveryResource),
  });
  deliveries.get('/dead-letters/:id', {
    operationId: 'getDeadLetter',
    summary: 'One dead letter with its body and attempts',
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
