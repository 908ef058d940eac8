import {
  webhookCreateSchema,
  webhookPatchSchema,
  webhookResourceSchema,
  webhookWithSecretSchema,
} from '../model/webhook.ts';
import { changeEndpoint, deleteEndpoint } from '../webhooks/endpoint-changes.ts';
import { createEndpoint, endpointResource, findEndpoint } from '../webhooks/endpoints.ts';
import { addList } from './list.ts';
import type { RoutesOf } from './routes.ts';
import { addWebhookActions } from './webhook-actions.ts';
import { addWebhookFeed } from './webhook-feed.ts';
import { addWebhookTests } from './webhook-tests.ts';

/** `/v1/webhooks`: endpoints that events are delivered to. */
export function addWebhooks(routesOf: RoutesOf): void {
  const webhooks = routesOf('Webhooks');
  webhooks.create('/webhooks', {
    operationId: 'createWebhook',
    summary: 'Create an endpoint',
    description: 'Returns the endpoint with its signing secret, which is shown only once.',
    scope: 'webhooks:write',
    versioned: true,
    problems: ['PLAN_REQUIRED'],
    showsSecret: true,
    body: webhookCreateSchema,
    answer: webhookWithSecretSchema,
    async handle({ parts, caller, body, tag }) {
      const { endpoint, secret } = await createEndpoint(parts, caller.tenant, body);
      return { ...tag(endpoint, endpointResource(endpoint)), secret };
    },
  });
  addList(webhooks, '/webhooks', {
    operationId: 'listWebhooks',
    summary: 'List endpoints',
    description: 'Oldest first.',
    scope: 'webhooks:read',
    item: webhookResourceSchema,
    read: ({ parts: { store }, tenantId }, place) => store.pageEndpoints(tenantId, place),
    show: ({ rows }) => rows.map(endpointResource),
  });
  webhooks.get('/webhooks/:id', {
    operationId: 'getWebhook',
    summary: 'Get an endpoint',
    scope: 'webhooks:read',
    versioned: true,
    answer: webhookResourceSchema,
    async handle({ parts, tenantId, params, tag }) {
      const endpoint = await findEndpoint(parts.store, tenantId, params.id);
      return tag(endpoint, endpointResource(endpoint));
    },
  });
  webhooks.patch('/webhooks/:id', {
    operationId: 'updateWebhook',
    summary: 'Update an endpoint',
    description:
      'Omitted members stay as they are. The new settings apply from the next attempt; existing payloads keep their format.',
    scope: 'webhooks:write',
    versioned: true,
    problems: ['PLAN_REQUIRED', 'CONFLICT'],
    body: webhookPatchSchema,
    answer: webhookResourceSchema,
    async handle({ parts, caller, params, body, when, tag }) {
      const endpoint = await changeEndpoint(parts, caller.tenant, { id: params.id, patch: body, when });
      return tag(endpoint, endpointResource(endpoint));
    },
  });
  webhooks.remove('/webhooks/:id', {
    operationId: 'deleteWebhook',
    summary: 'Delete an endpoint',
    description: 'Pending deliveries to the endpoint are discarded.',
    scope: 'webhooks:write',
    versioned: true,
    gone: 'Deleted',
    async handle({ parts, tenantId, params: { id }, when }) {
      await deleteEndpoint(parts, tenantId, id, when);
    },
  });
  addWebhookFeed(webhooks);
  addWebhookActions(webhooks);
  addWebhookTests(webhooks);
}
