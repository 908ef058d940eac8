import type { FastifyInstance } from 'fastify';
import { largestOf } from '../lib/lists.ts';
import { DELIVERY_STATUSES } from '../model/delivery.ts';
import { DomainError } from '../model/errors.ts';
import { EVENT_TYPES } from '../model/event.ts';
import { deliveryDetail, deliveryResource } from '../webhooks/delivery-resource.ts';
import { noEndpoint } from '../webhooks/endpoints.ts';
import { eventResource } from '../webhooks/event-resource.ts';
import { replayAll, replayDelivery } from '../webhooks/replays.ts';
import { ERROR_WORDS, REASON_WORDS, STATUS_WORDS, timingWords } from './delivery-words.ts';
import { isFiltered, momentOf, oneOf } from './filters.ts';
import { type Form, formOf, queryOf, text, texts } from './forms.ts';
import { memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';
import { shownEndpoint } from './shown-endpoint.ts';

const LOGS = '/webhook-logs';
/** Deliveries that are sent again by one form. */
const MOST_REPLAYED = 100;
/** What a delivery can have ended as and be sent again all the same. */
export const REPLAYABLE = ['dead', 'discarded', 'delivered'] as const;
const EVENT_ID = /^evt_[0-9a-z]{1,60}$/;

/** Webhook Logs: every delivery with its attempts, dead letters, and why an event did not go to an endpoint. */
export function addWebhookLogs(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  addList(app, parts, show, { path: LOGS, template: 'webhook-logs', title: 'Webhook Logs' });
  addList(app, parts, show, { path: '/dead-letters', template: 'dead-letters', title: 'Dead letters' });
  addEvents(app, parts, show);
  addOne(app, parts, show);
  addReplays(app, parts);
}

function filtersOf(query: Form) {
  const event = text(query, 'event');
  return {
    endpointId: text(query, 'webhook_id') || null,
    status: oneOf(query, 'status', DELIVERY_STATUSES),
    eventType: oneOf(query, 'event', EVENT_TYPES),
    eventId: EVENT_ID.test(event) ? event : null,
    from: momentOf(query, 'from'),
    to: momentOf(query, 'to'),
  };
}

function addList(
  app: FastifyInstance,
  parts: DashboardParts,
  show: Show,
  { path, template, title }: { path: string; template: string; title: string },
): void {
  app.get(path, async (request, reply) => {
    const { tenant } = memberOf(request);
    const query = queryOf(request);
    const asked = filtersOf(query);
    const filters = template === 'dead-letters' ? { ...asked, status: 'dead' as const } : asked;
    const [{ page, ...pages }, endpoints] = await Promise.all([
      readScreenPage(parts, request, {
        name: template,
        filters,
        read: (place) => parts.store.listDeliveries(tenant.id, { ...filters, ...place }),
      }),
      parts.store.listEndpoints(tenant.id),
    ]);
    return show(request, reply, {
      template,
      title,
      ...pages,
      query,
      isFiltered: isFiltered(query),
      deliveries: page.rows.map(deliveryResource),
      endpoints: endpoints.map(shownEndpoint),
      nameOf: namesOf(endpoints.map(shownEndpoint)),
      statuses: DELIVERY_STATUSES,
      events: EVENT_TYPES,
      errorWords: ERROR_WORDS,
      statusWords: STATUS_WORDS,
    });
  });
}

function addEvents(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  app.get(`${LOGS}/events`, async (request, reply) => {
    const { tenant } = memberOf(request);
    const query = queryOf(request);
    const type = oneOf(query, 'type', EVENT_TYPES);
    const filters = {
      types: type === null ? [] : [type],
      from: momentOf(query, 'from'),
      to: momentOf(query, 'to'),
    };
    const [{ page, ...pages }, endpoints] = await Promise.all([
      readScreenPage(parts, request, {
        name: 'events',
        filters,
        read: (place) => parts.store.listEvents(tenant.id, { ...filters, ...place }),
      }),
      parts.store.listEndpoints(tenant.id),
    ]);
    const now = parts.clock.now();
    return show(request, reply, {
      template: 'webhook-events',
      title: 'Events and who was told',
      ...pages,
      query,
      rows: page.rows.map((event) => eventResource(event, endpoints, now)),
      nameOf: namesOf(endpoints.map(shownEndpoint)),
      events: EVENT_TYPES,
      reasonWords: REASON_WORDS,
    });
  });
}

function addOne(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  app.get<{ Params: { delivery: string } }>(`${LOGS}/:delivery`, async (request, reply) => {
    const { tenant } = memberOf(request);
    const { delivery: id } = request.params;
    const log = await parts.store.getDelivery(tenant.id, id);
    if (log === null) throw new DomainError('NOT_FOUND', `There is no delivery "${id}".`);
    const endpoint = await parts.store.getEndpoint(tenant.id, log.endpointId);
    const delivery = deliveryDetail(log);
    return show(request, reply, {
      template: 'webhook-log',
      title: `Delivery of ${delivery.event}`,
      delivery,
      endpoint: endpoint === null ? null : shownEndpoint(endpoint),
      longestMs: largestOf(
        delivery.attempts.map(({ duration_ms }) => duration_ms),
        1,
      ),
      timingWords,
      errorWords: ERROR_WORDS,
      statusWords: STATUS_WORDS,
    });
  });
}

function addReplays(app: FastifyInstance, parts: DashboardParts): void {
  app.post<{ Params: { delivery: string } }>(`${LOGS}/:delivery/replay`, async (request, reply) => {
    const { delivery } = request.params;
    await replayDelivery(parts, memberOf(request).tenant.id, delivery);
    return reply.redirect(`/dashboard${LOGS}/${delivery}?done=replayed`, 303);
  });
  app.post(`${LOGS}/replay`, async (request, reply) => {
    const { tenant } = memberOf(request);
    let count = 0;
    for (const id of texts(formOf(request), 'id').slice(0, MOST_REPLAYED)) {
      // One that cannot be sent again any more does not keep the others from it.
      const isSent = await replayDelivery(parts, tenant.id, id).then(() => true, toFalse);
      if (isSent) count++;
    }
    return reply.redirect(`/dashboard${LOGS}?${doneReplaying(count)}`, 303);
  });
  app.post(`${LOGS}/replay-all`, async (request, reply) => {
    const { tenant } = memberOf(request);
    const form = formOf(request);
    const wanted = text(form, 'webhook_id');
    const endpoints = (await parts.store.listEndpoints(tenant.id)).filter(
      ({ id }) => wanted === '' || id === wanted,
    );
    if (endpoints.length === 0 && wanted !== '') throw noEndpoint(wanted);
    const status = oneOf(form, 'status', REPLAYABLE) ?? 'dead';
    const range = { status, from: momentOf(form, 'from'), to: null };
    let count = 0;
    for (const { id } of endpoints) {
      count += await replayAll(parts, tenant.id, { endpointId: id, ...range });
    }
    return reply.redirect(`/dashboard${LOGS}?${doneReplaying(count)}`, 303);
  });
}

/** What a screen says after a replay of so many. */
export function doneReplaying(count: number): string {
  return count === 0 ? 'done=replayed-none' : `done=replayed&count=${count}`;
}

function toFalse(error: unknown): false {
  if (error instanceof DomainError && (error.code === 'CONFLICT' || error.code === 'NOT_FOUND')) return false;
  throw error;
}

/** What an endpoint is called on a screen: its label, else its host; a deleted one by its id. */
function namesOf(endpoints: { id: string; label: string; url: string }[]): (id: string) => string {
  const names = new Map(endpoints.map(({ id, label, url }) => [id, label || new URL(url).host]));
  return (id) => names.get(id) ?? id;
}
