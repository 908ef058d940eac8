import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { effectivePlan, planLimits } from '../accounts/plans.ts';
import { DomainError } from '../model/errors.ts';
import { changeEndpoint, createEndpoint, noEndpoint } from '../webhooks/endpoints.ts';
import { previewFormat } from '../webhooks/test-delivery.ts';
import { EVENT_WORDS } from './delivery-words.ts';
import { type Form, faultsOf, formOf, LARGE_FORM, text } from './forms.ts';
import { memberOf } from './gate.ts';
import type { DashboardParts } from './parts.ts';
import type { Show } from './screens.ts';
import { attemptsOf, attemptWords, shownEndpoint } from './shown-endpoint.ts';
import { createdOf, emptyWebhookForm, formatOf, settingsOf, WEBHOOK_CHOICES } from './webhook-form.ts';
import { showWebhook } from './webhook-screen.ts';

export const WEBHOOKS = '/settings/integrations/webhooks';

/** Settings → Integrations → Webhooks: the list, a new one, and changing one. */
export function addWebhooks(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  addList(app, parts, show);
  addNew(app, parts, show);
  addOne(app, parts, show);
}

function addList(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  const { store, clock, sourceIps } = parts;
  app.get(WEBHOOKS, async (request, reply) => {
    const { tenant } = memberOf(request);
    const [endpoints, attempts] = await Promise.all([
      store.listEndpoints(tenant.id),
      attemptsOf(parts, tenant.id, null),
    ]);
    const limits = planLimits(effectivePlan(tenant, clock.now()));
    return show(request, reply, {
      template: 'webhooks',
      title: 'Webhooks',
      eventWords: EVENT_WORDS,
      endpoints: endpoints.map(shownEndpoint),
      attempts,
      attemptWords,
      limit: limits.endpoints,
      sourceIps: limits.sourceIps ? sourceIps : null,
    });
  });
}

function addNew(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  const path = `${WEBHOOKS}/new`;
  async function showForm(request: FastifyRequest, reply: FastifyReply, shown: object) {
    const { tenant } = memberOf(request);
    return show(request, reply, {
      template: 'webhook-new',
      title: 'New webhook',
      choices: WEBHOOK_CHOICES,
      profiles: await parts.store.listProfiles(tenant.id),
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
      return showForm(request, reply, { form, ...(await previewOf(parts, request, form)) });
    }
    try {
      const { endpoint, secret } = await createEndpoint(parts, tenant, createdOf(form));
      return await showWebhook(parts, show, { request, reply, endpoint, shown: { secret, isNew: true } });
    } catch (error) {
      return showForm(request, reply, { form, faults: faultsOf(error), status: statusOf(error) });
    }
  });
}

function addOne(app: FastifyInstance, parts: DashboardParts, show: Show): void {
  const path = `${WEBHOOKS}/:id`;
  app.get<{ Params: { id: string } }>(path, async (request, reply) => {
    const { tenant } = memberOf(request);
    const endpoint = await parts.store.getEndpoint(tenant.id, request.params.id);
    if (endpoint === null) throw noEndpoint(request.params.id);
    return showWebhook(parts, show, { request, reply, endpoint });
  });
  app.post<{ Params: { id: string } }>(path, LARGE_FORM, async (request, reply) => {
    const { tenant } = memberOf(request);
    const endpoint = await parts.store.getEndpoint(tenant.id, request.params.id);
    if (endpoint === null) throw noEndpoint(request.params.id);
    const form = formOf(request);
    if (text(form, 'act') === 'preview') {
      const shown = { form, ...(await previewOf(parts, request, form)) };
      return showWebhook(parts, show, { request, reply, endpoint, shown });
    }
    try {
      const { id } = endpoint;
      await changeEndpoint(parts, tenant, { id, patch: settingsOf(form) });
      return reply.redirect(`/dashboard${WEBHOOKS}/${id}?done=saved`, 303);
    } catch (error) {
      const shown = { form, faults: faultsOf(error), status: statusOf(error) };
      return showWebhook(parts, show, { request, reply, endpoint, shown });
    }
  });
}

async function previewOf(parts: DashboardParts, request: FastifyRequest, form: Form) {
  try {
    const wish = { format: formatOf(form), signalId: null };
    const { bodies, sample } = await previewFormat(parts, memberOf(request).tenant, wish);
    return { preview: { body: JSON.stringify(bodies[0], null, 2), sample } };
  } catch (error) {
    return { faults: faultsOf(error), status: statusOf(error) };
  }
}

function statusOf(error: unknown): number {
  return error instanceof DomainError && error.code === 'PLAN_REQUIRED' ? 403 : 400;
}
