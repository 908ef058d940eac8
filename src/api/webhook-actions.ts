import { newSecretSchema, webhookResourceSchema, webhookWithSecretSchema } from '../model/webhook.ts';
import { pauseEndpoint, regenerateSecret, resumeEndpoint } from '../webhooks/endpoint-changes.ts';
import { endpointResource } from '../webhooks/endpoints.ts';
import type { Routes } from './routes.ts';

/** Actions on an endpoint: new secret, pause, resume. */
export function addWebhookActions(webhooks: Routes): void {
  webhooks.post('/webhooks/:id/secret', {
    operationId: 'regenerateWebhookSecret',
    summary: 'Regenerate the secret of an endpoint',
    description:
      'Returns the new signing secret, which is shown only once. All later attempts are signed with it, including retries of earlier ' +
      'deliveries. During a grace period, `webhook-signature` also has a signature with the previous secret.',
    scope: 'webhooks:write',
    versioned: true,
    problems: ['CONFLICT'],
    showsSecret: true,
    body: newSecretSchema,
    answer: webhookWithSecretSchema,
    async handle({ parts, caller, params: { id }, body, tag }) {
      const order = { id, graceHours: body?.grace_hours ?? 0 };
      const { endpoint, secret } = await regenerateSecret(parts, caller.tenant, order);
      return { ...tag(endpoint, endpointResource(endpoint)), secret };
    },
  });
  webhooks.post('/webhooks/:id/pause', {
    operationId: 'pauseWebhook',
    summary: 'Pause an endpoint',
    description: [
      'No attempt is made until the endpoint is resumed manually. Attempts in progress are completed and recorded. Deliveries are held',
      'for up to 7 days, then moved to the dead-letter queue, or discarded if `dead_letter` is `false`.',
    ].join(' '),
    scope: 'webhooks:write',
    versioned: true,
    problems: ['CONFLICT'],
    answer: webhookResourceSchema,
    async handle({ parts, caller, params, tag }) {
      const endpoint = await pauseEndpoint(parts, caller.tenant, params.id);
      return tag(endpoint, endpointResource(endpoint));
    },
  });
  webhooks.post('/webhooks/:id/resume', {
    operationId: 'resumeWebhook',
    summary: 'Resume an endpoint',
    description:
      'Resets the failure count and sends all held deliveries, within the rate limit of the endpoint.',
    scope: 'webhooks:write',
    versioned: true,
    problems: ['PLAN_REQUIRED'],
    answer: webhookResourceSchema,
    async handle({ parts, caller, params, tag }) {
      const endpoint = await resumeEndpoint(parts, caller.tenant, params.id);
      return tag(endpoint, endpointResource(endpoint));
    },
  });
}
