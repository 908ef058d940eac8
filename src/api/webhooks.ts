import type { FastifyInstance } from 'fastify';
import {
  webhookInputSchema,
  webhookPatchSchema,
  webhookResourceSchema,
  webhookWithSecretSchema,
} from '../model/webhook.ts';
import { changeEndpoint } from '../webhooks/endpoint-changes.ts';
import { createEndpoint, endpointResource, findEndpoint, noEndpoint } from '../webhooks/endpoints.ts';
import { addList } from './list.ts';
import type { ApiParts } from './parts.ts';
import { routesOf } from './routes.ts';
import { addWebhookActions } from './webhook-actions.ts';
import { addWebhookTests } from './webhook-tests.ts';

/** `/v1/webhooks`: endpoints that events are delivered to. */
export function addWebhooks(app: FastifyInstance, parts: ApiParts): void {
  const { store, clock, endpointChanged } = parts;
  const webhooks = routesOf(app, parts, 'Webhooks');
  webhooks.create('/webhooks', {
    operationId: 'createWebhook',
    summary: 'Create an endpoint; answers its secret',
    scope: 'webhooks:write',
    problems: ['PLAN_REQUIRED'],
    showsSecret: true,
    body: webhookInputSchema,
    answer: webhookWithSecretSchema,
    async handle({ parts: own, caller, body }) {
      const { endpoint, secret } = await createEndpoint(own, caller.tenant, body);
      return { ...endpointResource(endpoint), secret };
    },
  });
  addList(webhooks, '/webhooks', {
    operationId: 'listWebhooks',
    summary: 'Endpoints, oldest first',
    scope: 'webhooks:read',
    item: webhookResourceSchema,
    read: ({ tenantId }, place) => store.pageEndpoints(tenantId, place),
    show: ({ rows }) => rows.map(endpointResource),
  });
  webhooks.get('/webhooks/:id', {
    operationId: 'getWebhook',
    summary: 'One endpoint',
    scope: 'webhooks:read',
    answer: webhookResourceSchema,
    handle: async ({ tenantId, params }) => endpointResource(await findEndpoint(store, tenantId, params.id)),
  });
  webhooks.patch('/webhooks/:id', {
    operationId: 'updateWebhook',
    summary: 'Change settings of an endpoint',
    description:
      'What is left out stays as it is. The next attempt goes by the new settings; bodies that were made before keep their format.',
    scope: 'webhooks:write',
    problems: ['PLAN_REQUIRED', 'CONFLICT'],
    body: webhookPatchSchema,
    answer: webhookResourceSchema,
    async handle({ caller, params, body }) {
      const endpoint = await changeEndpoint(parts, caller.tenant, { id: params.id, patch: body });
      endpointChanged(endpoint.id);
      return endpointResource(endpoint);
    },
  });
  webhooks.remove('/webhooks/:id', {
    operationId: 'deleteWebhook',
    summary: 'Delete an endpoint and discard what waits for it',
    scope: 'webhooks:write',
    gone: 'Deleted',
    async handle({ tenantId, params: { id } }) {
      if (!(await store.deleteEndpoint(tenantId, id, clock.now()))) throw noEndpoint(id);
      endpointChanged(id);
    },
  });
  addWebhookActions(webhooks);
  addWebhookTests(webhooks);
}
