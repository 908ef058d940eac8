import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { callerOf } from '../http/auth.ts';
import { runParts } from '../http/idempotency.ts';
import { idParams, noQuery } from '../http/path.ts';
import { webhookResourceSchema, webhookWithSecretSchema } from '../model/webhook.ts';
import { pauseEndpoint, regenerateSecret, resumeEndpoint } from '../webhooks/endpoint-changes.ts';
import { endpointResource } from '../webhooks/endpoints.ts';
import type { ApiParts } from './parts.ts';

const oneWebhook = z.strictObject({ data: webhookResourceSchema });

/** What is done to an endpoint besides changing its settings: a new secret, pause, resume. */
export function addWebhookActions(app: FastifyInstance, parts: ApiParts): void {
  addSecret(app, parts);
  addPause(app, parts);
  addResume(app, parts);
}

function addSecret(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/webhooks/:id/secret',
    {
      config: { scope: 'webhooks:write', problems: ['CONFLICT'], showsSecret: true },
      schema: {
        operationId: 'regenerateWebhookSecret',
        summary: 'Give an endpoint a new secret; answers it',
        description:
          'Every later attempt is signed with the new secret only, retries of earlier deliveries included.',
        tags: ['Webhooks'],
        params: idParams,
        querystring: noQuery,
        response: { 200: z.strictObject({ data: webhookWithSecretSchema }) },
      },
    },
    async (request) => {
      const { endpoint, secret } = await regenerateSecret(
        runParts(request, parts),
        callerOf(request).tenant,
        request.params.id,
      );
      parts.endpointChanged(endpoint.id);
      return { data: { ...endpointResource(endpoint), secret } };
    },
  );
}

function addPause(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/webhooks/:id/pause',
    {
      config: { scope: 'webhooks:write' },
      schema: {
        operationId: 'pauseWebhook',
        summary: 'Pause an endpoint',
        description: [
          'No attempt is started until it is resumed by hand. What is in flight lands and is recorded; what waits and what',
          'comes is held for up to 7 days, then it goes to the dead letters, or is discarded where `dead_letter` is off.',
        ].join(' '),
        tags: ['Webhooks'],
        params: idParams,
        querystring: noQuery,
        response: { 200: oneWebhook },
      },
    },
    async (request) => {
      const endpoint = await pauseEndpoint(
        runParts(request, parts),
        callerOf(request).tenant,
        request.params.id,
      );
      parts.endpointChanged(endpoint.id);
      return { data: endpointResource(endpoint) };
    },
  );
}

function addResume(app: FastifyInstance, parts: ApiParts): void {
  app.withTypeProvider<ZodTypeProvider>().post(
    '/webhooks/:id/resume',
    {
      config: { scope: 'webhooks:write', problems: ['PLAN_REQUIRED'] },
      schema: {
        operationId: 'resumeWebhook',
        summary: 'Resume a paused endpoint',
        description:
          'Sets its failure count to zero and makes all that was held due at once, at the pace of its throttle.',
        tags: ['Webhooks'],
        params: idParams,
        querystring: noQuery,
        response: { 200: oneWebhook },
      },
    },
    async (request) => {
      const endpoint = await resumeEndpoint(
        runParts(request, parts),
        callerOf(request).tenant,
        request.params.id,
      );
      parts.endpointChanged(endpoint.id);
      parts.nudge([{ endpointId: endpoint.id, tenantId: endpoint.tenantId }]);
      return { data: endpointResource(endpoint) };
    },
  );
}
