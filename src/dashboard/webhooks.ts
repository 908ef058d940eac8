import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { effectivePlan, planLimits } from '../accounts/plans.ts';
import { check } from '../http/faults.ts';
import { refusal } from '../http/json-body.ts';
import { problemStatus } from '../http/problems.ts';
import { DAY_MS, toIso } from '../lib/clock.ts';
import { CLASSIFICATIONS } from '../model/constants.ts';
import { DomainError } from '../model/errors.ts';
import { EVENT_TYPES } from '../model/event.ts';
import { payloadFormatSchema } from '../model/payload-format.ts';
import { isPreset, PAYLOAD_FIELDS, PRESETS } from '../model/payload-shape.ts';
import { SIGNAL_TYPES } from '../model/signal.ts';
import {
  BATCHINGS,
  type Endpoint,
  newSecretSchema,
  type WebhookCreate,
  type WebhookInput,
  type WebhookPatch,
  webhookCreateSchema,
  webhookInputSchema,
} from '../model/webhook.ts';
import type { AttemptDay } from '../store/delivery-log-store.ts';
import { deliveryResource, replayAll } from '../webhooks/deliveries.ts';
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  findEndpoint,
  noEndpoint,
  pauseEndpoint,
  refusePull,
  regenerateSecret,
  resumeEndpoint,
} from '../webhooks/endpoints.ts';
import { expectedTest, previewFormat, testEndpoint, testResource } from '../webhooks/test-delivery.ts';
import { chartHtml, dayLabel, spanLabel } from './charts.ts';
import {
  attemptsOf,
  attemptWords,
  DAYS_SHOWN,
  ERROR_WORDS,
  EVENT_WORDS,
  endpointName,
  firstDay,
  PAUSE_WORDS,
  shownEndpoint,
} from './delivery-words.ts';
import type { DashboardDeps } from './deps.ts';
import {
  type Form,
  faultsOf,
  formOf,
  LARGE_FORM,
  lines,
  linesOfMembers,
  memberOfLine,
  momentOf,
  number,
  oneOf,
  text,
  texts,
  ticked,
} from './forms.ts';
import { checked, memberOf } from './gate.ts';
import { readScreenPage } from './paging.ts';
import { SIGNAL_TYPE_WORDS } from './profiles.ts';
import type { Show } from './screens.ts';
import { doneReplaying, REPLAYABLE, subjectsOf } from './webhook-logs.ts';

export const WEBHOOKS = '/settings/integrations/webhooks';

/** Settings → Integrations → Webhooks: the list, and creating and changing endpoints. */
export function addWebhooks(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  addList(app, deps, show);
  addNew(app, deps, show);
  addOne(app, deps, show);
}

function addList(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const { store, clock, sourceIps } = deps;
  app.get(WEBHOOKS, async (request, reply) => {
    const { tenant } = memberOf(request);
    const [{ page, ...pages }, total] = await Promise.all([
      readScreenPage(deps, request, {
        name: 'webhooks',
        filters: null,
        read: (place) => store.pageEndpoints(tenant.id, place),
      }),
      store.countEndpoints(tenant.id),
    ]);
    const listed = page.rows.map(({ id }) => id);
    const limits = planLimits(effectivePlan(tenant, clock.now()));
    return show(request, reply, {
      template: 'webhooks',
      title: 'Webhooks',
      eventWords: EVENT_WORDS,
      ...pages,
      isOldestFirst: true,
      endpoints: page.rows.map(shownEndpoint),
      total,
      attempts: await attemptsOf(deps, tenant.id, listed),
      attemptWords,
      limit: limits.endpoints,
      sourceIps: limits.sourceIps ? sourceIps : null,
    });
  });
}

function addNew(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const path = `${WEBHOOKS}/new`;
  async function showForm(request: FastifyRequest, reply: FastifyReply, shown: object) {
    const { tenant } = memberOf(request);
    return show(request, reply, {
      template: 'webhook-new',
      title: 'New webhook',
      choices: WEBHOOK_CHOICES,
      profiles: await deps.store.listProfiles(tenant.id),
      form: emptyWebhookForm(),
      faults: {},
      preview: null,
      ...shown,
    });
  }

  app.get(path, { config: { onlyToChange: true } }, (request, reply) =>
    showForm(request, reply, { form: { ...emptyWebhookForm(), url: '' } }),
  );
  app.post(path, { ...LARGE_FORM, config: { showsSecret: true } }, async (request, reply) => {
    const { tenant } = memberOf(request);
    const form = formOf(request);
    if (text(form, 'act') === 'preview') {
      return showForm(request, reply, { form, ...(await previewOf(deps, request, form)) });
    }
    try {
      const { endpoint, secret } = await createEndpoint(deps, tenant, createdOf(form));
      return await showWebhook(deps, show, { request, reply, endpoint, shown: { secret, isNew: true } });
    } catch (error) {
      return showForm(request, reply, { form, faults: faultsOf(error), status: statusOf(error) });
    }
  });
}

function addOne(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const path = `${WEBHOOKS}/:id`;
  app.get<{ Params: { id: string } }>(path, async (request, reply) => {
    const { tenant } = memberOf(request);
    const endpoint = await deps.store.getEndpoint(tenant.id, request.params.id);
    if (endpoint === null) throw noEndpoint(request.params.id);
    return showWebhook(deps, show, { request, reply, endpoint });
  });
  app.post<{ Params: { id: string } }>(path, LARGE_FORM, async (request, reply) => {
    const { tenant } = memberOf(request);
    const endpoint = await deps.store.getEndpoint(tenant.id, request.params.id);
    if (endpoint === null) throw noEndpoint(request.params.id);
    const form = formOf(request);
    if (text(form, 'act') === 'preview') {
      const shown = { form, ...(await previewOf(deps, request, form)) };
      return showWebhook(deps, show, { request, reply, endpoint, shown });
    }
    try {
      const { id } = endpoint;
      await changeEndpoint(deps, tenant, { id, patch: settingsOf(form) });
      return reply.redirect(`/dashboard${WEBHOOKS}/${id}?done=saved`, 303);
    } catch (error) {
      const shown = { form, faults: faultsOf(error), status: statusOf(error) };
      return showWebhook(deps, show, { request, reply, endpoint, shown });
    }
  });
}

async function previewOf(deps: DashboardDeps, request: FastifyRequest, form: Form) {
  try {
    const wish = { format: formatOf(form), signalId: null };
    const { bodies, sample } = await previewFormat(deps, memberOf(request).tenant, wish);
    return { preview: { body: JSON.stringify(bodies[0], null, 2), sample } };
  } catch (error) {
    return { faults: faultsOf(error), status: statusOf(error) };
  }
}

function statusOf(error: unknown): number {
  return error instanceof DomainError && error.code === 'PLAN_REQUIRED' ? 403 : 400;
}

const RECENT = 5;
const MOST_COUNTED = 1_000;

/** The screen of one endpoint; `shown` is the result of a submitted form. */
export async function showWebhook(
  deps: DashboardDeps,
  show: Show,
  {
    request,
    reply,
    endpoint,
    shown = {},
  }: { request: FastifyRequest; reply: FastifyReply; endpoint: Endpoint; shown?: Record<string, unknown> },
): Promise<FastifyReply> {
  const { tenant } = memberOf(request);
  const base = { eventType: null, eventId: null, from: null, to: null, after: null };
  const ofEndpoint = { ...base, endpointId: endpoint.id };
  const now = deps.clock.now();
  const [attempts, days, profiles, recent, held] = await Promise.all([
    attemptsOf(deps, tenant.id, [endpoint.id]),
    deps.store.tallyAttemptDays(tenant.id, { endpointId: endpoint.id, since: firstDay(now) }),
    deps.store.listProfiles(tenant.id),
    deps.store.listDeliveries(tenant.id, { ...ofEndpoint, status: null, limit: RECENT }),
    endpoint.status === 'paused' ? deps.store.countWaiting(endpoint.id, MOST_COUNTED + 1) : 0,
  ]);
  const subjects = await subjectsOf(
    deps.store,
    tenant.id,
    recent.rows.map(({ subjectId }) => subjectId),
  );
  const resource = shownEndpoint(endpoint);
  return show(request, reply, {
    template: 'webhook',
    title: endpointName(resource),
    endpoint: resource,
    pauseWords: endpoint.pausedReason === null ? '' : PAUSE_WORDS[endpoint.pausedReason],
    held: { count: Math.min(held, MOST_COUNTED), isMore: held > MOST_COUNTED },
    attempts: attempts.get(endpoint.id) ?? null,
    attemptWords,
    attemptsHtml: days.length === 0 ? '' : attemptsChart(days, now),
    subjects,
    recent: recent.rows.map(deliveryResource),
    expected: expectedTest(deps, endpoint),
    choices: WEBHOOK_CHOICES,
    profiles,
    form: formOfSettings(endpoint.settings, endpoint),
    faults: {},
    preview: null,
    secret: null,
    isNew: false,
    test: null,
    fault: null,
    ...shown,
  });
}

function attemptsChart(tally: readonly AttemptDay[], now: number): string {
  const days = Array.from({ length: DAYS_SHOWN }, (_, i) => toIso(firstDay(now) + i * DAY_MS).slice(0, 10));
  const byDay = new Map(tally.map((each) => [each.day, each]));
  return chartHtml({
    title: 'Attempts',
    unit: `Attempts per day, ${spanLabel(days[0] ?? '', days.at(-1) ?? '')}, UTC`,
    along: 'Day',
    labels: days.map(dayLabel),
    series: [
      { name: 'Succeeded', look: 'good', values: days.map((day) => byDay.get(day)?.succeeded ?? 0) },
      { name: 'Failed', look: 'bad', values: days.map((day) => byDay.get(day)?.failed ?? 0) },
    ],
    kind: 'bars',
  });
}

const BATCHING_WORDS: Record<(typeof BATCHINGS)[number], string> = {
  instant: 'Instant: one message per signal',
  hourly: 'Hourly: one message per hour',
  daily: 'Daily: one message, at the time of the digest',
};

/** The options in the form of an endpoint. */
const WEBHOOK_CHOICES = {
  events: EVENT_TYPES.map((name) => ({ name, ...EVENT_WORDS[name] })),
  signalTypes: SIGNAL_TYPES,
  signalTypeWords: SIGNAL_TYPE_WORDS,
  classifications: CLASSIFICATIONS,
  fields: PAYLOAD_FIELDS,
  presets: PRESETS,
  batchings: BATCHINGS.map((name) => ({ name, words: BATCHING_WORDS[name] })),
};

/** The form of an endpoint as its template shows it; submitted values are kept, valid or not. */
function formOfSettings(settings: WebhookInput, { ordered = false } = {}): Form {
  const format = settings.payload_format;
  const custom = format !== null && !isPreset(format) ? format : null;
  const shown = custom?.include ?? PAYLOAD_FIELDS.filter((field) => !custom?.exclude?.includes(field));
  return {
    mode: 'push',
    backfill_days: '0',
    ordered: ordered ? 'on' : '',
    headers: '',
    url: settings.url,
    label: settings.label,
    event_types: settings.event_types,
    signal_types: settings.signal_types,
    classifications: settings.classifications,
    icp_profile_ids: settings.icp_profile_ids,
    min_score: String(settings.min_score),
    max_retries: String(settings.max_retries),
    retry_interval_seconds:
      settings.retry_interval_seconds === null ? '' : String(settings.retry_interval_seconds),
    backoff: settings.backoff,
    timeout_seconds: String(settings.timeout_seconds),
    rate_limit_per_minute: String(settings.rate_limit_per_minute),
    dead_letter: settings.dead_letter ? 'on' : '',
    auto_resume: settings.auto_resume ? 'on' : '',
    format: format === null ? 'standard' : isPreset(format) ? format.preset : 'custom',
    batching: settings.batching,
    topic: format !== null && isPreset(format) ? (format.topic ?? '') : '',
    fields: shown,
    flatten: custom?.flatten ? 'on' : '',
    custom: linesOfMembers(custom?.custom ?? {}),
  };
}

/** The form of a new endpoint. */
function emptyWebhookForm(): Form {
  return formOfSettings(webhookInputSchema.parse({ url: '-' }));
}

/** Parses the form of a new endpoint. @throws DomainError `INVALID_REQUEST` with a fault for each field */
function createdOf(form: Form): WebhookCreate {
  const mode = text(form, 'mode') || undefined;
  return held(webhookCreateSchema, {
    ...membersOf(form),
    ...(mode === 'pull' && { url: undefined }),
    mode,
    headers: headersOf(form),
    backfill_days: number(form, 'backfill_days') ?? undefined,
  });
}

/**
 * Parses all settings from a form. Headers are never shown again, so an empty field keeps the stored ones.
 * @throws DomainError `INVALID_REQUEST` with a fault for each field
 */
function settingsOf(form: Form): WebhookPatch {
  const given = headersOf(form);
  const headers = ticked(form, 'no_headers') ? {} : given;
  const settings = held(webhookInputSchema.extend({ ordered: webhookCreateSchema.shape.ordered }), {
    ...membersOf(form),
  });
  if (headers === undefined) return settings;
  return { ...settings, ...held(webhookCreateSchema.pick({ headers: true }), { headers }) };
}

function membersOf(form: Form) {
  return {
    url: text(form, 'url'),
    label: text(form, 'label'),
    event_types: texts(form, 'event_types'),
    signal_types: texts(form, 'signal_types'),
    classifications: texts(form, 'classifications'),
    icp_profile_ids: texts(form, 'icp_profile_ids'),
    min_score: number(form, 'min_score') ?? 0,
    max_retries: number(form, 'max_retries') ?? undefined,
    retry_interval_seconds: number(form, 'retry_interval_seconds'),
    backoff: text(form, 'backoff') || undefined,
    timeout_seconds: number(form, 'timeout_seconds') ?? undefined,
    rate_limit_per_minute: number(form, 'rate_limit_per_minute') ?? undefined,
    dead_letter: ticked(form, 'dead_letter'),
    auto_resume: ticked(form, 'auto_resume'),
    ordered: ticked(form, 'ordered'),
    payload_format: wishedFormat(form),
    batching: text(form, 'batching') || undefined,
  };
}

/** `Name: value`, one per line; undefined if there are none. */
function headersOf(form: Form): Record<string, string> | undefined {
  const given = lines(form, 'headers');
  if (given.length === 0) return undefined;
  const members = given.map((line) => {
    const at = line.indexOf(':');
    return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return Object.fromEntries(members);
}

function held<S extends z.ZodType>(schema: S, data: unknown): z.output<S> {
  const checked = check(schema, data, 'body');
  if (!checked.ok) throw refusal(checked, 'body');
  return checked.value;
}

/** The payload format that a form selects. @throws DomainError `INVALID_REQUEST` */
function formatOf(form: Form) {
  const checked = check(payloadFormatSchema.nullable(), wishedFormat(form), 'body', '/payload_format');
  if (!checked.ok) throw refusal(checked, 'body');
  return checked.value;
}

function wishedFormat(form: Form): unknown {
  const kind = text(form, 'format');
  if (kind === '' || kind === 'standard') return null;
  if (kind !== 'custom') {
    const topic = text(form, 'topic').trim();
    return kind === 'ntfy' && topic !== '' ? { preset: kind, topic } : { preset: kind };
  }
  const fields = texts(form, 'fields');
  const isAll = PAYLOAD_FIELDS.every((field) => fields.includes(field));
  return {
    ...(isAll ? {} : { include: fields }),
    flatten: ticked(form, 'flatten'),
    custom: Object.fromEntries(lines(form, 'custom').map(memberOfLine)),
  };
}

type EndpointAction = (
  request: FastifyRequest,
  reply: FastifyReply,
  endpoint: Endpoint,
) => Promise<FastifyReply>;

/** Actions on an endpoint other than changing its settings. A refusal is shown on its screen. */
export function addWebhookActs(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const back = (reply: FastifyReply, { id }: Endpoint, done: string) =>
    reply.redirect(`/dashboard${WEBHOOKS}/${id}?${done}`, 303);

  function add(name: string, act: EndpointAction): void {
    const options = { config: { showsSecret: true } } as const;
    app.post<{ Params: { id: string } }>(`${WEBHOOKS}/:id/${name}`, options, async (request, reply) => {
      const endpoint = await findEndpoint(deps.store, memberOf(request).tenant.id, request.params.id);
      try {
        return await act(request, reply, endpoint);
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        const seconds = error.extra.retryAfterSeconds;
        if (seconds !== undefined) reply.header('retry-after', String(seconds));
        const shown = { fault: error.message, status: problemStatus(error.code) };
        return showWebhook(deps, show, { request, reply, endpoint, shown });
      }
    });
  }

  add('pause', async (request, reply, endpoint) => {
    await pauseEndpoint(deps, memberOf(request).tenant, endpoint.id);
    return back(reply, endpoint, 'done=paused');
  });
  add('resume', async (request, reply, endpoint) => {
    await resumeEndpoint(deps, memberOf(request).tenant, endpoint.id);
    return back(reply, endpoint, 'done=resumed');
  });
  add('secret', async (request, reply, { id }) => {
    const { grace_hours: graceHours } = checked(newSecretSchema.unwrap().unwrap(), {
      grace_hours: Number(text(formOf(request), 'grace_hours')),
    });
    const { endpoint, secret } = await regenerateSecret(deps, memberOf(request).tenant, { id, graceHours });
    return showWebhook(deps, show, { request, reply, endpoint, shown: { secret } });
  });
  add('test', async (request, reply, endpoint) => {
    const result = testResource(await testEndpoint(deps, endpoint));
    const words = result.error === null ? '' : wordsOf(result.error.code);
    return showWebhook(deps, show, { request, reply, endpoint, shown: { test: { ...result, words } } });
  });
  add('replay', async (request, reply, endpoint) => {
    refusePull(endpoint, 'replayed');
    const form = formOf(request);
    const order = {
      endpointId: endpoint.id,
      status: oneOf(form, 'status', REPLAYABLE) ?? 'dead',
      from: momentOf(form, 'from'),
      to: momentOf(form, 'to'),
    };
    const count = await replayAll(deps, endpoint.tenantId, order);
    return back(reply, endpoint, doneReplaying(count));
  });
  add('delete', async (_request, reply, { id, tenantId }) => {
    await deleteEndpoint(deps, tenantId, id);
    return reply.redirect(`/dashboard${WEBHOOKS}?done=deleted`, 303);
  });
}

function wordsOf(code: string): string {
  return Object.hasOwn(ERROR_WORDS, code) ? ERROR_WORDS[code as keyof typeof ERROR_WORDS] : '';
}
