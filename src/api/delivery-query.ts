import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { type Pagination, pagingQuery } from '../http/paging.ts';
import { queryTime } from '../http/query.ts';
import type { DeliveryStatus } from '../model/delivery.ts';
import { type DeliveryResource, deliveryStatusSchema } from '../model/delivery-resource.ts';
import { EVENT_TYPES, type EventType } from '../model/event.ts';
import { deliveryResource } from '../webhooks/delivery-resource.ts';
import { readPage } from './list.ts';
import type { ApiParts } from './parts.ts';

const EVENT_ID = /^evt_[0-9a-z]{1,60}$/;

/** Filters of every list of deliveries, but for the status. */
export const deliveryFilters = {
  event: z
    .string()
    .max(64)
    .refine(
      (text) => isEventType(text) || EVENT_ID.test(text),
      `must be the id of an event or one of ${EVENT_TYPES.join(', ')}`,
    )
    .nullable()
    .default(null)
    .describe('Type of the event, or the id of one'),
  from: queryTime.describe('Made from this time on'),
  to: queryTime.describe('Made before this time'),
};

/** Query of the delivery logs. */
export const deliveryQuerySchema = z.strictObject({
  status: deliveryStatusSchema.nullable().default(null),
  ...deliveryFilters,
  ...pagingQuery,
});

/** One list of deliveries: which route, what was asked for, and of which endpoint (null: all). */
export interface AskedDeliveries {
  route: string;
  query: {
    status: DeliveryStatus | null;
    event: string | null;
    from: number | null;
    to: number | null;
    limit: number;
    cursor?: string | undefined;
  };
  endpointId: string | null;
}

/** A page of deliveries with its pagination. */
export async function answerDeliveries(
  parts: Pick<ApiParts, 'store' | 'cursors' | 'baseUrl'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { route, query, endpointId }: AskedDeliveries,
): Promise<{ data: DeliveryResource[]; pagination: Pagination }> {
  const { tenant } = callerOf(request);
  const { limit: _limit, cursor: _cursor, event, ...rest } = query;
  const filters = {
    ...rest,
    endpointId,
    eventType: event !== null && isEventType(event) ? event : null,
    eventId: event !== null && !isEventType(event) ? event : null,
  };
  const { page, pagination } = await readPage(
    parts,
    { request, reply },
    {
      name: route,
      filters,
      query,
      read: (place) => parts.store.listDeliveries(tenant.id, { ...filters, ...place }),
    },
  );
  return { data: page.rows.map(deliveryResource), pagination };
}

function isEventType(text: string): text is EventType {
  return EVENT_TYPES.some((type) => type === text);
}
