import { z } from 'zod';
import { deliverySchema, deliveryStatusSchema } from '../../model/delivery-resource.ts';
import { eventTypeSchema } from '../../model/event.ts';
import { idInput } from '../../model/text.ts';
import type { ListedDelivery } from '../../store/delivery-log-store.ts';
import { deliveryResource, replayDelivery } from '../../webhooks/deliveries.ts';
import { defineTool, listedInput, listedOutput, listRows } from '../tool.ts';

const shownDeliverySchema = z.object({
  ...deliverySchema.pick({
    id: true,
    webhook_id: true,
    event: true,
    subject_id: true,
    status: true,
    attempt_count: true,
  }).shape,
  created_at: z.string(),
  next_attempt_at: z.string().nullable(),
  last_response_status: z.int().nullable(),
  last_error_code: z.string().nullable(),
});

/** `list_deliveries` */
export const listDeliveries = defineTool({
  name: 'list_deliveries',
  title: 'List deliveries',
  description: 'Webhook deliveries, newest first; status "dead" lists those that failed for good.',
  scope: 'webhooks:read',
  input: z.strictObject({
    status: deliveryStatusSchema.optional(),
    event: eventTypeSchema.optional(),
    webhook_id: idInput.optional(),
    ...listedInput,
  }),
  output: z.object({ deliveries: z.array(shownDeliverySchema), ...listedOutput }),
  async handle(call, { limit, cursor, ...filters }) {
    const { rows, ...rest } = await listRows(call, {
      ...{ name: 'deliveries', bound: filters, limit, cursor },
      async read(place) {
        const page = await call.deps.store.listDeliveries(call.tenantId, {
          ...place,
          ...{ status: filters.status ?? null, endpointId: filters.webhook_id ?? null },
          ...{ eventType: filters.event ?? null, eventId: null, from: null, to: null },
        });
        return { rows: page.rows.map(shownDelivery), last: page.last };
      },
    });
    return { deliveries: rows, ...rest };
  },
});

function shownDelivery(delivery: ListedDelivery): z.output<typeof shownDeliverySchema> {
  const shown = deliveryResource(delivery);
  const { id, webhook_id, event, subject_id, status, attempt_count, created_at, next_attempt_at } = shown;
  return {
    ...{ id, webhook_id, event, subject_id, status, attempt_count, created_at, next_attempt_at },
    last_response_status: shown.last_attempt?.response_status ?? null,
    last_error_code: shown.last_attempt?.error_code ?? null,
  };
}

/** `resend_delivery` */
export const resendDelivery = defineTool({
  name: 'resend_delivery',
  title: 'Resend a delivery',
  description:
    'Sends a finished delivery again, with the same webhook-id. Only on behalf of a person who asked for it.',
  scope: 'webhooks:write',
  writes: { again: false },
  input: z.strictObject({ delivery_id: idInput }),
  output: z.object({ delivery_id: z.string(), status: z.literal('pending') }),
  async handle({ deps, tenantId }, { delivery_id: id }) {
    await replayDelivery(deps, tenantId, id);
    return { delivery_id: id, status: 'pending' as const };
  },
});
