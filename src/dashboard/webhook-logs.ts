import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { namesOf as leadNamesOf } from '../leads/lead-names.ts';
import { largestOf } from '../lib/lists.ts';
import { fold } from '../lib/text.ts';
import { createYielder, eachInTurns } from '../lib/yielding.ts';
import { MOST_ATTEMPTS, MOST_OUTCOMES } from '../model/constants.ts';
import { DELIVERY_STATUSES } from '../model/delivery.ts';
import { deliveryFilters } from '../model/delivery-resource.ts';
import { DomainError } from '../model/errors.ts';
import { EVENT_TYPES } from '../model/event.ts';
import { eventFilters } from '../model/event-resource.ts';
import type { Signal } from '../model/signal.ts';
import { headlineOf } from '../signals/why.ts';
import type { Store } from '../store/store.ts';
import {
  deliveryDetail,
  deliveryResource,
  endpointsOfEvents,
  eventResource,
  eventsAPage,
  replayAll,
  replayDelivery,
} from '../webhooks/deliveries.ts';
import { noEndpoint } from '../webhooks/endpoints.ts';
import {
  ERROR_WORDS,
  endpointName,
  endpointNames,
  eventLabel,
  REASON_WORDS,
  STATUS_WORDS,
  shownEndpoint,
  timingWords,
} from './delivery-words.ts';
import type { DashboardDeps } from './deps.ts';
import {
  type Form,
  filtersOf,
  formOf,
  isFiltered,
  momentOf,
  oneOf,
  queryOf,
  text,
  texts,
  ticked,
} from './forms.ts';
import { memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import type { Show } from './screens.ts';

const LOGS = '/webhook-logs';
/** The maximum number of deliveries that one form can resend. */
const MOST_REPLAYED = 100;
/** Final states of a delivery that allow a replay. */
export const REPLAYABLE = ['dead', 'discarded', 'delivered'] as const;
/** Neither control characters nor a host. */
const LISTS = /^\/dashboard\/(?:webhook-logs|dead-letters)(?:\?[\x21-\x7e]{0,2000})?$/;

/**
 * Webhook Logs: every delivery with its attempts, dead letters, and why an event was not delivered to an endpoint.
 */
export function addWebhookLogs(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  addList(app, deps, show, { path: LOGS, template: 'webhook-logs', title: 'Webhook Logs' });
  addList(app, deps, show, { path: '/dead-letters', template: 'dead-letters', title: 'Dead letters' });
  addEvents(app, deps, show);
  addOne(app, deps, show);
  addReplays(app, deps, show);
}

function addList(
  app: FastifyInstance,
  deps: DashboardDeps,
  show: Show,
  { path, template, title }: { path: string; template: string; title: string },
): void {
  app.get(path, async (request, reply) => {
    const { tenant } = memberOf(request);
    const query = queryOf(request);
    const { filters: asked, filterFaults } = filtersOf(deliveryFilters, query);
    const wanted = text(query, 'webhook_id');
    const [total, named] = await Promise.all([
      deps.store.countEndpoints(tenant.id),
      endpointsNamed(deps, tenant.id, wanted),
    ]);
    // If several have the name, or none, nothing is listed.
    const endpointId = named.length === 1 ? (named[0]?.id ?? null) : wanted || null;
    const isDead = template === 'dead-letters';
    const filters = { ...asked, endpointId, ...(isDead && { status: 'dead' as const }) };
    const { page, ...pages } = await readScreenPage(deps, request, {
      name: template,
      filters,
      read: (place) => deps.store.listDeliveries(tenant.id, { ...filters, ...place }),
    });
    const endpoints =
      total > MOST_CHOICES ? null : (await deps.store.listEndpoints(tenant.id)).map(shownEndpoint);
    const listed = page.rows.map((row) => row.endpointId);
    const subjects = await subjectsOf(deps.store, tenant.id, [
      ...page.rows.map(({ subjectId }) => subjectId),
      filters.subjectId ?? '',
    ]);
    return show(request, reply, {
      template,
      title,
      ...pages,
      filterFaults,
      query,
      isFiltered: isFiltered(query),
      subjects,
      here: placeOf(request),
      deliveries: page.rows.map(deliveryResource),
      endpoints,
      hasEndpoints: total > 0,
      named: named.slice(0, MOST_NAMED).map((one) => ({ ...one, place: placeWith(request, one.id) })),
      isNamedMore: named.length > MOST_NAMED,
      nameOf: namesOf(endpoints ?? (await endpointsOf(deps, tenant.id, listed))),
      statuses: DELIVERY_STATUSES,
      events: EVENT_TYPES,
      errorWords: ERROR_WORDS,
      statusWords: STATUS_WORDS,
    });
  });
}

function addEvents(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  app.get(`${LOGS}/events`, async (request, reply) => {
    const { tenant } = memberOf(request);
    const query = queryOf(request);
    const { filters, filterFaults } = filtersOf(eventFilters, query);
    const endpoints = await endpointsOfEvents(deps, tenant.id);
    const { page, ...pages } = await readScreenPage(deps, request, {
      name: 'events',
      filters,
      read: ({ limit, after }) =>
        deps.store.listEvents(tenant.id, {
          ...{ ...filters, after },
          limit: eventsAPage(limit, endpoints.length),
        }),
    });
    const now = deps.clock.now();
    const subjects = await subjectsOf(
      deps.store,
      tenant.id,
      page.rows.map(({ subjectId }) => subjectId),
    );
    return show(request, reply, {
      template: 'webhook-events',
      subjects,
      title: 'Events and recipients',
      ...pages,
      filterFaults,
      query,
      rows: page.rows.map((event) => eventResource(event, endpoints, now)),
      nameOf: endpointNames(endpoints),
      events: EVENT_TYPES,
      reasonWords: REASON_WORDS,
      mostOutcomes: MOST_OUTCOMES,
    });
  });
}

/**
 * Characters of headers and of a response that are shown of an attempt that is not the latest. The API returns all of them; with them and the body of each,
 * a screen of fifty attempts had 51 MB, and rendering it took 0.8 s.
 */
const MOST_SHOWN = 2_000;

function addOne(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  app.get<{ Params: { delivery: string } }>(`${LOGS}/:delivery`, async (request, reply) => {
    const { tenant } = memberOf(request);
    const { delivery: id } = request.params;
    const log = await deps.store.getDelivery(tenant.id, id);
    if (log === null) throw new DomainError('NOT_FOUND', `There is no delivery "${id}".`);
    const endpoint = await deps.store.getEndpoint(tenant.id, log.endpointId);
    const delivery = deliveryDetail(log);
    const shown = delivery.attempts.length;
    const subjects = await subjectsOf(deps.store, tenant.id, [log.subjectId]);
    return show(request, reply, {
      template: 'webhook-log',
      title: `Delivery: ${eventLabel(delivery.event)}`,
      delivery,
      subject: subjects.get(log.subjectId) ?? null,
      endpoint: endpoint === null ? null : shownEndpoint(endpoint),
      attemptsShown:
        shown === MOST_ATTEMPTS && log.attemptCount > shown
          ? `The newest ${shown} of ${log.attemptCount} attempts`
          : null,
      mostShown: MOST_SHOWN,
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

function addReplays(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  /** Asks before resending delivered deliveries: the receiver would process them a second time. */
  async function askFirst(
    request: FastifyRequest,
    reply: FastifyReply,
    asked: { ids: string[]; back: string },
  ) {
    const { ids, back } = asked;
    if (ids.length === 0 || ticked(formOf(request), 'sure')) return null;
    const { tenant } = memberOf(request);
    const found = await eachInTurns(ids, (id) => deps.store.findDelivery(tenant.id, id));
    const delivered = found.filter((each) => each?.status === 'delivered').length;
    if (delivered === 0) return null;
    const many = delivered === 1 ? 'One of them was' : `${delivered} of them were`;
    return show(request, reply, {
      template: 'confirm',
      title: ids.length === 1 ? 'Resend this delivery?' : `Resend ${ids.length} deliveries?`,
      detail: `${ids.length === 1 ? 'It was' : many} already delivered. The endpoint will receive ${ids.length === 1 ? 'it' : 'them'} again with the same webhook-id.`,
      action: request.originalUrl,
      fields: [['sure', 'on'], ['back', back], ...ids.map((id) => ['id', id])],
      button: 'Resend',
      back,
    });
  }

  app.post<{ Params: { delivery: string } }>(`${LOGS}/:delivery/replay`, async (request, reply) => {
    const { delivery } = request.params;
    const back = `/dashboard${LOGS}/${encodeURIComponent(delivery)}`;
    const asked = await askFirst(request, reply, { ids: [delivery], back });
    if (asked !== null) return asked;
    await replayDelivery(deps, memberOf(request).tenant.id, delivery);
    return reply.redirect(`${back}?done=replayed`, 303);
  });
  app.post(`${LOGS}/replay`, async (request, reply) => {
    const { tenant } = memberOf(request);
    const form = formOf(request);
    const ids = texts(form, 'id').slice(0, MOST_REPLAYED);
    const back = backOf(form);
    if (ids.length === 0) return reply.redirect(withDone(back, 'done=none-selected'), 303);
    const asked = await askFirst(request, reply, { ids, back });
    if (asked !== null) return asked;
    let count = 0;
    for (const id of ids) {
      // One delivery that can no longer be replayed does not stop the others.
      const isSent = await replayDelivery(deps, tenant.id, id).then(() => true, toFalse);
      if (isSent) count++;
    }
    return reply.redirect(withDone(back, doneReplaying(count)), 303);
  });
  app.post(`${LOGS}/replay-all`, async (request, reply) => {
    const { tenant } = memberOf(request);
    const form = formOf(request);
    const wanted = text(form, 'webhook_id');
    const endpoints =
      wanted === ''
        ? await deps.store.listEndpoints(tenant.id)
        : await endpointsNamed(deps, tenant.id, wanted);
    if (endpoints.length === 0 && wanted !== '') throw noEndpoint(wanted);
    if (endpoints.length > 1 && wanted !== '') throw severalNamed(wanted);
    const status = oneOf(form, 'status', REPLAYABLE) ?? 'dead';
    const range = { status, from: momentOf(form, 'from'), to: null };
    let count = 0;
    for (const { id } of endpoints) {
      count += await replayAll(deps, tenant.id, { endpointId: id, ...range });
    }
    return reply.redirect(withDone(backOf(form), doneReplaying(count)), 303);
  });
}

/** With more webhooks, their field is a text field: a list of ten thousand took 2.8 MB, and 90 ms of the main thread. */
const MOST_CHOICES = 100;
/** The maximum number of webhooks to choose from if several have the same part of a name. */
const MOST_NAMED = 10;

type NamedEndpoint = Pick<ReturnType<typeof shownEndpoint>, 'id' | 'label' | 'url'>;

/** The webhooks with this ID, or whose label or URL contains it; one more than are shown. */
async function endpointsNamed(
  deps: Pick<DashboardDeps, 'store' | 'clock'>,
  tenantId: string,
  wanted: string,
): Promise<NamedEndpoint[]> {
  if (wanted === '') return [];
  const [exact] = await endpointsOf(deps, tenantId, [wanted]);
  if (exact !== undefined) return [exact];
  if (wanted.startsWith('whk_')) return []; // deleted, and its deliveries are still listed
  const part = fold(wanted);
  const nextTurn = createYielder(deps.clock);
  const found: NamedEndpoint[] = [];
  for (const endpoint of await deps.store.listEndpoints(tenantId)) {
    await nextTurn();
    const { label, url = '' } = endpoint.settings;
    if (fold(`${label} ${url}`).includes(part)) found.push(shownEndpoint(endpoint));
    if (found.length > MOST_NAMED) break;
  }
  return found;
}

function severalNamed(wanted: string): DomainError {
  const detail = `Several webhooks have "${wanted}" in their label or URL. Enter a longer part, or the webhook's ID.`;
  return new DomainError('INVALID_REQUEST', detail);
}

/** Those of these webhooks that exist. */
async function endpointsOf(
  { store }: Pick<DashboardDeps, 'store'>,
  tenantId: string,
  ids: readonly string[],
) {
  const found = await eachInTurns(new Set(ids), (id) => store.getEndpoint(tenantId, id));
  return found.flatMap((endpoint) => (endpoint === null ? [] : [shownEndpoint(endpoint)]));
}

/** The same list, of the deliveries to one webhook. */
function placeWith(request: FastifyRequest, webhookId: string): string {
  const url = new URL(placeOf(request), 'http://here');
  url.searchParams.delete('cursor');
  url.searchParams.set('webhook_id', webhookId);
  return url.pathname + url.search;
}

/** The list that a form is part of, with its filters. */
function placeOf({ originalUrl }: FastifyRequest): string {
  const url = new URL(originalUrl, 'http://here');
  url.searchParams.delete('done');
  url.searchParams.delete('count');
  return url.pathname + url.search;
}

/** The list to return to from a form's hidden field, if it is a list of deliveries. */
function backOf(form: Form): string {
  const given = text(form, 'back');
  return LISTS.test(given) ? given : `/dashboard${LOGS}`;
}

function withDone(place: string, done: string): string {
  return `${place}${place.includes('?') ? '&' : '?'}${done}`;
}

/** The notice after replaying this many deliveries. */
export function doneReplaying(count: number): string {
  return count === 0 ? 'done=replayed-none' : `done=replayed&count=${count}`;
}

function toFalse(error: unknown): false {
  if (error instanceof DomainError && (error.code === 'CONFLICT' || error.code === 'NOT_FOUND')) return false;
  throw error;
}

/** Names of endpoints by ID; the name of a deleted endpoint is its ID. */
function namesOf(endpoints: { id: string; label: string; url: string }[]): (id: string) => string {
  const names = new Map(endpoints.map((endpoint) => [endpoint.id, endpointName(endpoint)]));
  return (id) => names.get(id) ?? id;
}

/** The subject of an event, as shown to people. */
export interface EventSubject {
  label: string;
  path: string;
}

/** The subjects of a page of deliveries or events by ID: existing signals, leads and campaigns. */
export async function subjectsOf(
  store: Store,
  tenantId: string,
  ids: readonly string[],
): Promise<Map<string, EventSubject>> {
  const beginning = (prefix: string) => [...new Set(ids)].filter((id) => id.startsWith(prefix));
  const [signals, leads, campaigns] = await Promise.all([
    store.findLeadSignals(tenantId, beginning('sig_')),
    eachInTurns(beginning('led_'), (id) => store.getLead(tenantId, id)),
    eachInTurns(beginning('cam_'), (id) => store.getCampaign(tenantId, id)),
  ]);
  const subjects = new Map<string, EventSubject>();
  for (const { id, wire } of signals) {
    const { excerpt } = JSON.parse(wire) as Signal;
    subjects.set(id, {
      label: excerpt === '' ? 'Erased post' : headlineOf(excerpt),
      path: `/dashboard/signals/${id}`,
    });
  }
  const found = leads.flatMap((stored) => (stored === null ? [] : [stored.lead]));
  const leadName = await leadNamesOf(store, found);
  for (const lead of found) {
    subjects.set(lead.id, { label: leadName(lead), path: `/dashboard/leads/${lead.id}` });
  }
  for (const campaign of campaigns) {
    if (campaign !== null)
      subjects.set(campaign.id, { label: campaign.name, path: `/dashboard/campaigns/${campaign.id}` });
  }
  return subjects;
}
