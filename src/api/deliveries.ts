import { z } from 'zod';
import { concatInTurns, createYielder, eachInTurns } from '../lib/yielding.ts';
import { MOST_OUTCOMES } from '../model/constants.ts';
import { deliveryDetailSchema, deliveryFilters, deliverySchema } from '../model/delivery-resource.ts';
import { DomainError } from '../model/errors.ts';
import { eventTypeSchema } from '../model/event.ts';
import { eventFilters, eventResourceSchema } from '../model/event-resource.ts';
import { idInput, timeInput } from '../model/text.ts';
import type { DeliveryLog } from '../store/delivery-store.ts';
import {
  deliveryDetail,
  deliveryResource,
  endpointsOfEvents,
  eventResource,
  eventsAPage,
  replayAll,
  replayDelivery,
  replayListed,
} from '../webhooks/deliveries.ts';
import { findEndpoint, refusePull } from '../webhooks/endpoints.ts';
import { addList } from './list.ts';
import type { ApiDeps, Routes, RoutesOf } from './routes.ts';

/** Body of a bulk replay; without one, all dead letters of the endpoint. */
const replayOrderSchema = z
  .strictObject({
    status: z
      .enum(['dead', 'discarded', 'expired', 'delivered'])
      .default('dead')
      .describe(
        'Status of the deliveries to replay. The payload of expired deliveries is deleted, so that they cannot be replayed.',
      ),
    from: timeInput.nullable().optional().describe('Only deliveries created at or after this time.'),
    to: timeInput
      .nullable()
      .optional()
      .describe('Only deliveries created before this time. Defaults to now.'),
    event_types: z
      .array(eventTypeSchema)
      .max(50)
      .optional()
      .describe('Only deliveries of these event types. Empty: all.'),
    ids: z
      .array(idInput)
      .min(1)
      .max(500)
      .optional()
      .describe('IDs of the deliveries to replay, in any status. Those that cannot be replayed are skipped.'),
  })
  .refine(
    ({ ids, ...others }) => ids === undefined || Object.keys(others).every((name) => name === 'status'),
    'must have either "ids" or a range, not both',
  )
  .nullish();

/** Continuing with `order=stored`. */
const STORED = {
  kind: 'feeds',
  read: (
    { deps: { store }, tenantId }: { deps: ApiDeps; tenantId: string },
    asked: Parameters<ApiDeps['store']['listStoredDeliveries']>[1],
  ) => store.listStoredDeliveries(tenantId, asked),
} as const;

/** `/v1/deliveries` and the deliveries of an endpoint: log and replay. */
export function addDeliveries(routesOf: RoutesOf): void {
  const deliveries = routesOf('Deliveries');
  addList(deliveries, '/deliveries', {
    operationId: 'listDeliveries',
    summary: 'List deliveries',
    description: 'Deliveries to all endpoints, newest first.',
    scope: 'webhooks:read',
    query: deliveryFilters.query.shape,
    item: deliverySchema,
    filters: ({ query }) => deliveryFilters.toFilters(query),
    read: ({ deps: { store }, tenantId }, asked) => store.listDeliveries(tenantId, asked),
    stored: STORED,
    show: ({ rows }) => rows.map(deliveryResource),
  });
  addList(deliveries, '/webhooks/:id/deliveries', {
    operationId: 'listWebhookDeliveries',
    summary: 'List deliveries to an endpoint',
    description: 'Newest first.',
    scope: 'webhooks:read',
    query: deliveryFilters.query.shape,
    item: deliverySchema,
    name: 'webhook-deliveries',
    filters: async ({ deps, tenantId, params, query }) => ({
      ...deliveryFilters.toFilters(query),
      endpointId: (await findEndpoint(deps.store, tenantId, params.id)).id,
    }),
    read: ({ deps: { store }, tenantId }, asked) => store.listDeliveries(tenantId, asked),
    stored: STORED,
    show: ({ rows }) => rows.map(deliveryResource),
  });
  deliveries.get('/deliveries/:id', {
    operationId: 'getDelivery',
    summary: 'Get a delivery',
    description: 'Returns the delivery with its payload and attempts.',
    scope: 'webhooks:read',
    answer: deliveryDetailSchema,
    handle: async ({ deps, tenantId, params }) =>
      detailBytes(await requireDelivery(deps, tenantId, params.id), deps),
  });
  addReplays(deliveries);
  addDeadLetters(deliveries);
}

function addReplays(deliveries: Routes): void {
  deliveries.post('/deliveries/:id/replay', {
    operationId: 'replayDelivery',
    summary: 'Replay a delivery',
    description:
      'Sends a finished delivery again, with the same `webhook-id` and payload and a full set of retries. Attempt numbers continue.',
    scope: 'webhooks:write',
    problems: ['CONFLICT'],
    answer: deliverySchema,
    async handle({ deps, tenantId, params: { id } }) {
      await replayDelivery(deps, tenantId, id);
      const log = await requireDelivery(deps, tenantId, id);
      const { attempts: _attempts, body: _body, ...resource } = deliveryDetail(log);
      return resource;
    },
  });
  deliveries.post('/webhooks/:id/replay', {
    operationId: 'replayWebhookDeliveries',
    summary: 'Replay deliveries of an endpoint',
    description: 'Without a body, replays all dead letters of the endpoint.',
    scope: 'webhooks:write',
    problems: ['CONFLICT'],
    body: replayOrderSchema,
    answer: z.strictObject({ replayed: z.int().describe('Number of deliveries that will be sent again.') }),
    async handle({ deps, tenantId, params, body }) {
      const endpoint = await findEndpoint(deps.store, tenantId, params.id);
      refusePull(endpoint, 'replayed');
      const { status = 'dead', from = null, to = null, event_types: eventTypes = [], ids } = body ?? {};
      const order = { endpointId: endpoint.id, status, from, to, eventTypes };
      if (ids !== undefined) return { replayed: await replayListed(deps, tenantId, { ...order, ids }) };
      return { replayed: await replayAll(deps, tenantId, order) };
    },
  });
}

/** @throws DomainError `NOT_FOUND` */
async function requireDelivery({ store }: ApiDeps, tenantId: string, id: string): Promise<DeliveryLog> {
  const log = await store.getDelivery(tenantId, id);
  if (log === null) throw new DomainError('NOT_FOUND', `There is no delivery "${id}".`);
  return log;
}

/** `/v1/dead-letters`: deliveries that ran out of retries, kept for 7 days to be replayed. */
function addDeadLetters(deliveries: Routes): void {
  addList(deliveries, '/dead-letters', {
    operationId: 'listDeadLetters',
    summary: 'List dead letters',
    description: 'Deliveries that ran out of retries, newest first. They are kept for 7 days.',
    scope: 'webhooks:read',
    query: deliveryFilters.query.omit({ status: true }).shape,
    item: deliverySchema,
    filters: ({ query }) => deliveryFilters.toFilters({ ...query, status: 'dead' }),
    read: ({ deps: { store }, tenantId }, asked) => store.listDeliveries(tenantId, asked),
    stored: { ...STORED, kind: 'dead_letters' },
    show: ({ rows }) => rows.map(deliveryResource),
  });
  deliveries.get('/dead-letters/:id', {
    operationId: 'getDeadLetter',
    summary: 'Get a dead letter',
    description: 'Returns the delivery with its payload and attempts.',
    scope: 'webhooks:read',
    answer: deliveryDetailSchema,
    async handle({ deps, tenantId, params: { id } }) {
      const log = await deps.store.getDelivery(tenantId, id);
      if (log?.status !== 'dead') {
        throw new DomainError('NOT_FOUND', `There is no dead letter "${id}".`, {
          hint: `See /v1/deliveries/${encodeURIComponent(id)} for what became of a delivery.`,
        });
      }
      return detailBytes(log, deps);
    },
  });
}

/**
 * The response with a delivery, serialized an attempt at a time, between which other tasks run: fifty attempts each have the body of up to 256 KB, and 26 MB took
 * 0.28 s in one piece.
 */
async function detailBytes(log: DeliveryLog, { clock }: Pick<ApiDeps, 'clock'>): Promise<Buffer> {
  const { attempts, ...delivery } = deliveryDetail(log);
  const pieces = await eachInTurns(attempts.entries(), async ([place, attempt]) =>
    Buffer.from(`${place === 0 ? '' : ','}${JSON.stringify(attempt)}`),
  );
  const head = Buffer.from(`{"data":${JSON.stringify(delivery).slice(0, -1)},"attempts":[`);
  return concatInTurns([head, ...pieces, Buffer.from(']}}')], clock);
}

/**
 * `GET /v1/events`: all events, with the outcome for each endpoint. A page of a hundred events has an outcome for
 * each event and endpoint, so it is generated in pieces, as text.
 */
export function addEvents(routesOf: RoutesOf): void {
  addList(routesOf('Events'), '/events', {
    operationId: 'listEvents',
    summary: 'List events',
    description:
      'Newest first. `deliveries` has the outcome for each endpoint: whether the event was delivered, or why it was not. ' +
      'With more than 100 endpoints, a page may have fewer events than `limit`. ' +
      `With more than ${MOST_OUTCOMES.toLocaleString('en')}, \`GET /v1/deliveries?event_id=\` lists all deliveries of an event.`,
    scope: 'webhooks:read',
    query: eventFilters.query.shape,
    item: eventResourceSchema,
    filters: ({ query }) => eventFilters.toFilters(query),
    async read({ deps: { store }, tenantId }, asked) {
      const endpoints = await endpointsOfEvents({ store }, tenantId);
      const limit = eventsAPage(asked.limit, endpoints.length);
      return { ...(await store.listEvents(tenantId, { ...asked, limit })), endpoints };
    },
    stored: {
      kind: 'events',
      async read({ deps: { store }, tenantId }, asked) {
        const endpoints = await endpointsOfEvents({ store }, tenantId);
        const limit = eventsAPage(asked.limit, endpoints.length);
        return { ...(await store.listStoredEvents(tenantId, { ...asked, limit })), endpoints };
      },
    },
    async show({ rows, endpoints }, { deps: { clock } }) {
      const now = clock.now();
      const nextTurn = createYielder(clock);
      const json: Buffer[] = [];
      for (const event of rows) {
        json.push(Buffer.from(JSON.stringify(eventResource(event, endpoints, now))));
        await nextTurn();
      }
      return { json };
    },
  });
}
