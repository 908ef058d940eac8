import { newSecretSchema, webhookResourceSchema, webhookWithSecretSchema } from '../model/webhook.ts';
import { pauseEndpoint, regenerateSecret, resumeEndpoint } from '../webhooks/endpoint-changes.ts';
import { endpointResource } from '../webhooks/endpoints.ts';
import type { Routes } from './routes.ts';

/** What is done to an endpoint besides changing its settings: a new secret, pause, resume. */
export function addWebhookActions(webhooks: Routes): void {
  webhooks.post('/webhooks/:id/secret', {
    operationId: 'regenerateWebhookSecret',
    summary: 'Give an endpoint a new secret; answers it',
    description:
      'Every later attempt is signed with the new secret, retries of earlier deliveries included: with it alone, or, for the hours of a grace, in `webhook-signature` also with the one before.',
    scope: 'webhooks:write',
    versioned: true,
    problems: ['CONFLICT'],
    showsSecret: true,
    body: newSecretSchema,
    answer: webhookWithSecretSchema,
    async handle({ parts, caller, params: { id }, body, tag }) {
      const order = { id, graceHours: body?.grace_hours ?? 0 };
      const { endpoint, secret } = await regenerateSecret(parts, caller.tenant, order);
      parts.endpointChanged(endpoint.id);
      return { ...tag(endpoint, endpointResource(endpoint)), secret };
    },
  });
  webhooks.post('/webhooks/:id/pause', {
    operationId: 'pauseWebhook',
    summary: 'Pause an endpoint',
    description: [
      'No attempt is started until it is resumed by hand. What is in flight lands and is recorded; what waits and what',
      'comes is held for up to 7 days, then it goes to the dead letters, or is discarded where `dead_letter` is off.',
    ].join(' '),
    scope: 'webhooks:write',
    versioned: true,
    problems: ['CONFLICT'],
    answer: webhookResourceSchema,
    async handle({ parts, caller, params, tag }) {
      const endpoint = await pauseEndpoint(parts, caller.tenant, params.id);
      parts.endpointChanged(endpoint.id);
      return tag(endpoint, endpointResource(endpoint));
    },
  });
  webhooks.post('/webhooks/:id/resume', {
    operationId: 'resumeWebhook',
    summary: 'Resume a paused endpoint',
    description:
      'Sets its failure count to zero and makes all that was held due at once, at the pace of its throttle.',
    scope: 'webhooks:write',
    versioned: true,
    problems: ['PLAN_REQUIRED'],
    answer: webhookResourceSchema,
    async handle({ parts, caller, params, tag }) {
      const endpoint = await resumeEndpoint(parts, caller.tenant, params.id);
      parts.endpointChanged(endpoint.id);
      parts.nudge([{ endpointId: endpoint.id, tenantId: endpoint.tenantId }]);
      return tag(endpoint, endpointResource(endpoint));
    },
  });
}
