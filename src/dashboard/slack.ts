import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../model/errors.ts';
import { webhookInputSchema } from '../model/webhook.ts';
import { createEndpoint } from '../webhooks/endpoints.ts';
import { testEndpoint, testResource } from '../webhooks/test-delivery.ts';
import { ERROR_WORDS } from './delivery-words.ts';
import type { DashboardDeps } from './deps.ts';
import { type Form, faultsOf, formOf, text, ticked } from './forms.ts';
import { checked, memberOf } from './gate.ts';
import type { Show } from './screens.ts';
import { showWebhook } from './webhooks.ts';

const PATH = '/settings/integrations/slack';

/** Slack in two fields: a URL, and which signals to send. It is an ordinary endpoint, and is tested at once. */
export function addSlack(app: FastifyInstance, deps: DashboardDeps, show: Show): void {
  const screen = (request: FastifyRequest, reply: FastifyReply, shown: object = {}) =>
    show(request, reply, {
      template: 'slack',
      title: 'Connect Slack',
      form: { url: '', hot_only: 'on' },
      faults: {},
      ...shown,
    });
  app.get(PATH, { config: { onlyToChange: true } }, (request, reply) => screen(request, reply));
  app.post(PATH, { config: { showsSecret: true } }, async (request, reply) => {
    const { tenant } = memberOf(request);
    const form = formOf(request);
    try {
      const input = checked(webhookInputSchema, wishOf(form));
      const { endpoint } = await createEndpoint(deps, tenant, input);
      const shown = { isNew: true, ...(await testOf(deps, endpoint)) };
      return await showWebhook(deps, show, { request, reply, endpoint, shown });
    } catch (error) {
      const status = error instanceof DomainError && error.code === 'PLAN_REQUIRED' ? 403 : 400;
      return screen(request, reply, { form, faults: faultsOf(error), status });
    }
  });
}

function wishOf(form: Form): unknown {
  return {
    url: text(form, 'url').trim(),
    label: 'Slack',
    event_types: ['signal.detected'],
    classifications: ticked(form, 'hot_only') ? ['hot'] : ['hot', 'warm'],
    payload_format: { preset: 'slack' },
  };
}

/** Sends the test delivery. A failed test does not delete the endpoint. */
async function testOf(deps: DashboardDeps, endpoint: Parameters<typeof testEndpoint>[1]) {
  try {
    const result = testResource(await testEndpoint(deps, endpoint));
    const code = result.error?.code ?? '';
    const words = Object.hasOwn(ERROR_WORDS, code) ? ERROR_WORDS[code as keyof typeof ERROR_WORDS] : '';
    return { test: { ...result, words } };
  } catch (error) {
    if (error instanceof DomainError) return { fault: error.message };
    throw error;
  }
}
